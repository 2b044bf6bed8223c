/**
 * Decides about the requests and sockets of one version of a function by the rules of its option `egress`, and puts secrets in the place of their
 * placeholders. It stands where requests are made: in the application, or in its backend process.
 */

import { EdgeError } from '../../../quotas/errors.js';
import type { CallOrigin } from '../../service.js';
import type { CompiledRules, CompiledSecret, OwnedHosts } from './compiled-rules.js';
import type { EgressHost, EgressSecretPlace } from './egress-rules.js';
import { comparedName, type Destination, isAmbiguous } from './host-entry.js';
import { HostList } from './host-list.js';
import { hasPlaceholder, type Occurrence, replacePlaceholders, withoutPlaceholders } from './placeholders.js';
import { type EgressRefusal, type RefusalListener, RefusalReports } from './refusals.js';
import { SubstitutedRequest } from './substituted-request.js';

/** The parts of a request that rules are about. */
export interface CheckedRequest {
  readonly method: string;
  readonly url: URL;
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
}

interface OwnSecret extends CompiledSecret {
  readonly list: HostList;
}

const PATH_SHOWN = 256;

export class EgressPolicy {
  readonly #lists: readonly (Pick<OwnedHosts, 'option' | 'closed'> & { readonly list: HostList })[];
  /** By placeholder. */
  readonly #secrets: ReadonlyMap<string, OwnSecret>;
  readonly #reports: RefusalReports;

  constructor({ lists, secrets }: CompiledRules, listener: RefusalListener) {
    this.#lists = lists.map(({ option, hosts, closed }) => ({
      option,
      list: new HostList(hosts),
      ...(closed !== undefined && { closed }),
    }));
    this.#secrets = new Map(
      secrets.map(secret => [secret.placeholder, { ...secret, list: new HostList(secret.hosts) }]),
    );
    this.#reports = new RefusalReports(listener);
  }

  /**
   * Before each hop of a fetch, and before a WebSocket is opened.
   * @throws EdgeError EDGE_EGRESS_DENIED, which names what would allow it
   */
  checkRequest({ method, url, headers }: CheckedRequest, origin: CallOrigin | undefined): void {
    this.#check(destinationOf(method, url), headers, origin);
  }

  /** Before a socket is opened, and before its host is looked up. @throws EdgeError EDGE_EGRESS_DENIED */
  checkSocket(hostname: string, port: number, origin: CallOrigin | undefined): void {
    this.#check({ protocol: 'tcp', host: comparedName(hostname), port }, [], origin);
  }

  /** The address policy of the host has refused a destination that the rules allow. */
  refusedAddress({ method, url }: Pick<CheckedRequest, 'method' | 'url'>, origin: CallOrigin | undefined): void {
    this.#reportAddress(destinationOf(method, url), origin);
  }

  /** As `refusedAddress`. */
  refusedSocketAddress(hostname: string, port: number, origin: CallOrigin | undefined): void {
    this.#reportAddress({ protocol: 'tcp', host: comparedName(hostname), port }, origin);
  }

  /**
   * The request with secrets in the place of their placeholders, for the network alone; undefined when it has none.
   *
   * @throws EdgeError EDGE_EGRESS_DENIED for a secret of another host, over `http:`, or in a part of the request that its owner has not allowed
   * @throws TypeError when the request would be too large
   */
  substitute(request: CheckedRequest, origin: CallOrigin | undefined): SubstitutedRequest | undefined {
    if (this.#secrets.size === 0 || !hasPlaceholder(request)) return undefined;
    const { method, url } = request;
    const found = replacePlaceholders(request, ({ placeholder, place }: Occurrence) => {
      const secret = this.#secrets.get(placeholder);
      if (secret !== undefined) this.#admit(secret, place, destinationOf(method, url), origin);
      return secret?.value;
    });
    return found && new SubstitutedRequest(found);
  }

  /** The headers of a redirect to another origin: those with a secret stay behind. */
  withoutSecrets(headers: readonly string[]): readonly string[] {
    return this.#secrets.size === 0
      ? headers
      : withoutPlaceholders(headers, placeholder => this.#secrets.has(placeholder));
  }

  #check(destination: Destination, headers: readonly string[], origin: CallOrigin | undefined): void {
    for (const { option, list, closed } of this.#lists) {
      if (list.allows(destination, headers)) continue;
      if (closed !== undefined) throw this.#refuse(destination, origin, { reason: 'host', ...closed });
      const entry = allowingEntry(destination, headers, list);
      const remedy = `${JSON.stringify(entry)} in option ${option} would allow it`;
      throw this.#refuse(destination, origin, {
        reason: 'host',
        entry,
        remedy,
        why: `no entry of option ${option} allows it`,
      });
    }
  }

  #admit(
    secret: CompiledSecret & { readonly list: HostList },
    place: EgressSecretPlace,
    destination: Destination,
    origin: CallOrigin | undefined,
  ): void {
    const { name, option, hosts, places, allowHttp, list } = secret;
    const refuse = (why: string, remedy: string): never => {
      throw this.#refuse(destination, origin, { reason: 'secret', secret: name, why, remedy });
    };
    if (!list.allows(destination, [])) {
      const named = hosts.map(({ host, ports }) => (ports === undefined ? host : `${host}:${ports.join()}`)).join(', ');
      refuse(`the secret ${name} belongs to ${named}`, `the host in \`hosts\` of option ${option} would allow it`);
    }
    if (destination.protocol === 'http' && !allowHttp)
      refuse(`the secret ${name} is sent over https: only`, `allowHttp: true in option ${option} would allow it`);
    if (!places.includes(place)) {
      const part = place === 'url' ? 'the URL' : 'a header';
      refuse(`the secret ${name} may not stand in ${part}`, `'${place}' in \`in\` of option ${option} would allow it`);
    }
  }

  #refuse(
    destination: Destination,
    origin: CallOrigin | undefined,
    { why, ...said }: Pick<EgressRefusal, 'reason' | 'remedy' | 'entry' | 'secret'> & { readonly why: string },
  ): EdgeError {
    const message = `${actOf(destination)}: ${why} (${said.remedy})`;
    this.#reports.add({ ...shown(destination), ...said, message }, origin);
    return new EdgeError('EDGE_EGRESS_DENIED', message);
  }

  #reportAddress(destination: Destination, origin: CallOrigin | undefined): void {
    const remedy = 'its addresses in option egress.allow of new EdgeHost() would allow it';
    const message = `${actOf(destination)}: it has no address that the egress policy of the host allows`;
    this.#reports.add({ ...shown(destination), reason: 'address', remedy, message }, origin);
  }
}

function destinationOf(method: string, url: URL): Destination {
  const protocol = url.protocol === 'https:' ? 'https' : 'http';
  const port = Number(url.port) || (protocol === 'https' ? 443 : 80);
  return { protocol, host: comparedName(url.hostname.replace(/^\[|\]$/g, '')), port, method, path: url.pathname };
}

/** The narrowest entry that allows it, as far as the entries of this host are narrowed. */
function allowingEntry(destination: Destination, headers: readonly string[], list: HostList): EgressHost {
  const { host, port, method, path } = destination;
  const narrowed = list.entriesFor(host);
  const candidates: EgressHost[] = [
    {
      host,
      ports: [port],
      ...(method !== undefined && narrowed.some(({ methods }) => methods !== undefined) && { methods: [method] }),
      ...(path !== undefined &&
        path.length <= PATH_SHOWN &&
        !isAmbiguous(path) &&
        !path.includes('*') &&
        narrowed.some(({ paths }) => paths !== undefined) && { paths: [path] }),
    },
    { host, ports: [port] },
  ];
  const allowing = candidates.find(entry => new HostList([entry]).allows(destination, headers));
  return allowing ?? { host };
}

function actOf({ protocol, host, port, method }: Destination): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return protocol === 'tcp'
    ? `Cannot connect to ${name}:${port}`
    : `Cannot fetch ${protocol}://${name}:${port} (${method})`;
}

function shown({ protocol, host, port, method, path }: Destination): Destination {
  return {
    protocol,
    host: host.slice(0, PATH_SHOWN),
    port,
    ...(method !== undefined && { method }),
    ...(path !== undefined && { path: path.slice(0, PATH_SHOWN) }),
  };
}
