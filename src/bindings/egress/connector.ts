/**
 * Opens the sockets of outgoing requests. The address policy stands here and nowhere earlier: what a name resolves to is
 * judged and connected to in one step, so a name that changes its address between a check and the connection (DNS
 * rebinding) changes nothing.
 */

import { Resolver } from 'node:dns/promises';
import { isIP, isIPv4, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';

import { EdgeError, errorCode } from '../../quotas/errors.js';
import type { AddressPolicy } from './address-policy.js';

/** The addresses of a host name. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

export interface ConnectorOptions {
  readonly policy: AddressPolicy;
  readonly resolve: ResolveHost;
  readonly connectTimeoutMs: number;
  /** Certificates to trust instead of the usual ones, PEM. */
  readonly ca?: string | readonly string[] | undefined;
}

/** How undici opens a socket. */
export function createConnector({ policy, resolve, connectTimeoutMs, ca }: ConnectorOptions): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    lookup: policedLookup(policy, resolve),
    ...(ca === undefined ? {} : { ca: [ca].flat() }),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    // An address written into the URL is connected to without a lookup.
    if (isIP(host) !== 0 && !policy.allows(host)) {
      callback(deniedError(host), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      const address = socket.remoteAddress;
      if (address !== undefined && policy.allows(address)) return callback(null, socket);
      socket.destroy();
      callback(deniedError(host), null);
    });
  };
}

/**
 * Resolves names over DNS, without the operating system's resolver: that one takes a thread of the pool that also reads
 * and writes files, and four slow names would stop every bucket. Names of /etc/hosts are therefore not found; localhost is.
 */
export function createResolver(): ResolveHost {
  const resolver = new Resolver({ timeout: 2500, tries: 3 });
  return async name => {
    const hostname = name.replace(/\.$/, '');
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = results.flatMap(result => (result.status === 'fulfilled' ? result.value : []));
    if (addresses.length === 0 && results[0].status === 'rejected') throw results[0].reason;
    return addresses;
  };
}

/** The codes of resolvers for a name that does not exist or has no address. */
const NO_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'ENONAME', 'EAI_NONAME', 'EAI_NODATA']);

function policedLookup(policy: AddressPolicy, resolve: ResolveHost): LookupFunction {
  return (hostname, options, callback) => {
    const fail = (error: Error): void => callback(error, options.all === true ? [] : '');
    resolve(hostname).then(
      addresses => {
        const found = addresses
          .filter(address => policy.allows(address))
          .map(address => ({ address, family: isIPv4(address) ? 4 : 6 }));
        const [first] = found;
        if (first === undefined) return fail(deniedError(hostname));
        if (options.all === true) callback(null, found);
        else callback(null, first.address, first.family);
      },
      error => {
        if (NO_ADDRESS.has(errorCode(error) ?? '')) fail(deniedError(hostname));
        else fail(new EdgeError('EDGE_EGRESS_FAILED', `Cannot resolve ${hostname}`, { cause: error }));
      },
    );
  };
}

/**
 * One error for a name without an address and for one whose addresses are not allowed: else a function could find out which names exist
 * inside.
 */
function deniedError(host: string): EdgeError {
  return new EdgeError(
    'EDGE_EGRESS_DENIED',
    `Cannot connect to ${host}: it has no address that the egress policy allows (option egress.allow)`,
  );
}
