/**
 * Routes: which function of the host answers a URL. The most specific pattern of the account that owns the host name wins, independent of the order of loading;
 * a name without an owner is answered by routes of any host.
 */
import { LRUCache } from 'lru-cache';
import type { ServedNamesList } from '../../backend/wire/served-names.js';
import { nameOfHost, namesAbove } from '../../hostnames/host-names.js';
import type { NameOwners } from '../../hostnames/name-owners.js';
import { compilePattern, type Pattern } from '../../hostnames/route-pattern.js';
import { EdgeError } from '../../quotas/errors.js';

export interface Route<T> {
  readonly pattern: string;
  readonly mode: 'fail-open' | 'fail-closed';
  readonly zone: string;
  readonly customDomain: boolean;
  readonly account: string;
  /** Names it for messages. */
  readonly functionName: string;
  readonly target: T;
}

export type Compiled<T> = Route<T> & Pattern;

/** Hosts whose routes are kept at hand; a host that is asked for again costs one look-up. */
const HOSTS_KEPT = 1000;
/** The URL parser leaves them out. */
const DEFAULT_PORTS: ReadonlySet<string> = new Set([':80', ':443']);

export class Router<T> {
  readonly #owners: NameOwners;
  readonly #byHost = new Map<string, Compiled<T>[]>();
  readonly #byHostAbove = new Map<string, Compiled<T>[]>();
  /** Routes of any host, and of names that end in a text. */
  #others: Compiled<T>[] = [];
  readonly #kept = new LRUCache<string, readonly Compiled<T>[]>({ max: HOSTS_KEPT });

  readonly #onChange: () => void;

  /** @param onChange the host names that have routes may have changed */
  constructor(owners: NameOwners, onChange: () => void = () => {}) {
    this.#owners = owners;
    this.#onChange = onChange;
  }

  /**
   * Whether a function of the account may have these routes.
   *
   * @throws EdgeError EDGE_NAME_TAKEN, EDGE_NAME_DENIED, EDGE_ROUTE_TAKEN
   */
  check(account: string, functionName: string, patterns: readonly string[]): void {
    const seen = new Map<string, string>();
    for (const pattern of patterns) {
      const act = `Cannot give function "${functionName}" of account "${account}" the route "${pattern}"`;
      const compiled = compilePattern(pattern);
      const refusal = this.#owners.routeRefusal(account, compiled);
      if (refusal !== undefined) {
        const code = refusal.kind === 'taken' ? 'EDGE_NAME_TAKEN' : 'EDGE_NAME_DENIED';
        throw new EdgeError(code, `${act}: ${refusal.message}`);
      }
      const key = keyOf(compiled);
      const twin = seen.get(key);
      if (twin !== undefined) throw new EdgeError('EDGE_ROUTE_TAKEN', `${act}: its route "${twin}" is the same`);
      seen.set(key, pattern);
      const other = this.#twinOf(compiled, account, functionName);
      if (other === undefined) continue;
      // The account and the name of the other function are for the owner of the host alone: the management API shows a tenant only its own functions.
      throw new EdgeError(
        other.account === account ? 'EDGE_ROUTE_TAKEN' : 'EDGE_NAME_TAKEN',
        `${act}: function "${other.functionName}" of account "${other.account}" has the same, "${other.pattern}"`,
      );
    }
  }

  /** `check` has been asked. */
  add(route: Route<T>): void {
    const compiled = { ...route, ...compilePattern(route.pattern) };
    this.#listOf(compiled).push(compiled);
    this.#owners.addRoute(route.account, route.functionName, compiled);
    this.#kept.clear();
    this.#onChange();
  }

  /** Takes away all routes of a target. */
  remove(target: T): void {
    const gone = [];
    for (const [key, list] of this.#byHost) gone.push(...take(this.#byHost, key, list, target));
    for (const [key, list] of this.#byHostAbove) gone.push(...take(this.#byHostAbove, key, list, target));
    gone.push(...this.#others.filter(route => route.target === target));
    this.#others = this.#others.filter(route => route.target !== target);
    for (const route of gone) this.#owners.removeRoute(route);
    this.#kept.clear();
    if (gone.length > 0) this.#onChange();
  }

  /** The host names that have routes. */
  get served(): ServedNamesList {
    const endings = this.#others.filter(({ hostKind }) => hostKind === 'ending').map(({ name }) => name);
    return { exact: [...this.#byHost.keys()], below: [...this.#byHostAbove.keys()], endings };
  }

  /** Called when names have changed hands. */
  forget(): void {
    this.#kept.clear();
  }

  /** `host` may have a port, which a pattern without one ignores; `path` is without query. Both are as the URL parser writes them. */
  find(host: string, path: string): Compiled<T> | undefined {
    let routes = this.#kept.get(host);
    if (routes === undefined) {
      routes = this.#routesOf(host);
      this.#kept.set(host, routes);
    }
    for (const route of routes) {
      if (route.pathKind === 'exact' ? path === route.path : path.startsWith(route.path)) return route;
    }
    return undefined;
  }

  /** The routes that answer for a host, the most specific first. */
  #routesOf(host: string): Compiled<T>[] {
    const name = nameOfHost(host);
    const port = /:\d+$/.exec(host)?.[0] ?? '';
    const owner = this.#owners.ownerOf(name);
    const found = [...(this.#byHost.get(name) ?? [])];
    for (const above of namesAbove(name)) found.push(...(this.#byHostAbove.get(above) ?? []));
    found.push(...this.#others.filter(route => route.hostKind === 'any' || name.endsWith(route.name)));
    return found
      .filter(route => owner === undefined || owner === route.account)
      .filter(route => route.port === '' || route.port === port || (port === '' && DEFAULT_PORTS.has(route.port)))
      .sort(bySpecificity);
  }

  /** The same route of another function. */
  #twinOf(pattern: Pattern, account: string, functionName: string): Compiled<T> | undefined {
    const key = keyOf(pattern);
    return this.#known(pattern).find(
      route => keyOf(route) === key && (route.account !== account || route.functionName !== functionName),
    );
  }

  #known({ hostKind, name }: Pattern): readonly Compiled<T>[] {
    if (hostKind === 'any' || hostKind === 'ending') return this.#others;
    return (hostKind === 'exact' ? this.#byHost : this.#byHostAbove).get(name) ?? [];
  }

  #listOf({ hostKind, name }: Compiled<T>): Compiled<T>[] {
    if (hostKind === 'any' || hostKind === 'ending') return this.#others;
    const lists = hostKind === 'exact' ? this.#byHost : this.#byHostAbove;
    const list = lists.get(name) ?? [];
    lists.set(name, list);
    return list;
  }
}

/** Patterns with the same key match the same URLs. */
function keyOf({ hostKind, name, port, path, pathKind }: Pattern): string {
  return `${hostKind} ${name}${port} ${path} ${pathKind}`;
}

function take<T>(lists: Map<string, Compiled<T>[]>, key: string, list: Compiled<T>[], target: T): Compiled<T>[] {
  const gone = list.filter(route => route.target === target);
  if (gone.length === 0) return gone;
  if (gone.length === list.length) lists.delete(key);
  else
    lists.set(
      key,
      list.filter(route => route.target !== target),
    );
  return gone;
}

const HOST_ORDER = { exact: 0, below: 1, ending: 1, any: 2 } as const;

function bySpecificity(a: Pattern, b: Pattern): number {
  return (
    HOST_ORDER[a.hostKind] - HOST_ORDER[b.hostKind] ||
    hostLength(b) - hostLength(a) ||
    (a.pathKind === b.pathKind ? 0 : a.pathKind === 'exact' ? -1 : 1) ||
    b.path.length - a.path.length
  );
}

/** With the dot of `*.example.com`, which is longer than `*example.com`, and with the port. */
function hostLength({ hostKind, name, port }: Pattern): number {
  return name.length + port.length + (hostKind === 'below' ? 1 : 0);
}
