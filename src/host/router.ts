/** Routes: which function of the host answers a URL. The most specific pattern wins, whatever the order of loading. */

export interface Route<T> {
  readonly pattern: string;
  readonly mode: 'fail-open' | 'fail-closed';
  readonly zone: string;
  readonly customDomain: boolean;
  readonly target: T;
}

interface Compiled<T> extends Route<T> {
  readonly host: string;
  readonly hostKind: 'exact' | 'suffix' | 'any';
  readonly path: string;
  readonly pathKind: 'exact' | 'prefix';
}

/** @throws TypeError when the pattern is not `host/path`, or has a `*` elsewhere than at the host's start or the path's end */
export function compilePattern(pattern: string): Omit<Compiled<never>, keyof Omit<Route<never>, 'pattern'>> {
  const bare = pattern.replace(/^https?:\/\//, '');
  const slash = bare.indexOf('/');
  const host = (slash < 0 ? bare : bare.slice(0, slash)).toLowerCase();
  const path = slash < 0 ? '/*' : bare.slice(slash);
  const isAnyHost = host === '*';
  const isSuffix = !isAnyHost && host.startsWith('*');
  const hostText = isAnyHost ? '' : isSuffix ? host.slice(1) : host;
  const isPrefix = path.endsWith('*');
  const pathText = isPrefix ? path.slice(0, -1) : path;
  if ((hostText === '' && !isAnyHost) || hostText.includes('*') || pathText.includes('*') || /[?#\s]/.test(bare)) {
    throw new TypeError(
      `Route pattern "${pattern}" is not host/path with "*" at the start of the host or the end of the path only`,
    );
  }
  return {
    pattern,
    host: hostText,
    hostKind: isAnyHost ? 'any' : isSuffix ? 'suffix' : 'exact',
    path: pathText,
    pathKind: isPrefix ? 'prefix' : 'exact',
  };
}

/** The zone of a pattern that names none: the last two labels of its host. */
export function zoneOf(pattern: string): string {
  return compilePattern(pattern).host.replace(/^\./, '').replace(/:\d+$/, '').split('.').slice(-2).join('.');
}

export class Router<T> {
  #routes: Compiled<T>[] = [];

  add(route: Route<T>): void {
    this.#routes.push({ ...route, ...compilePattern(route.pattern) });
    this.#routes.sort(bySpecificity);
  }

  /** Takes away all routes of a target. */
  remove(target: T): void {
    this.#routes = this.#routes.filter(route => route.target !== target);
  }

  /** `host` may have a port, which a pattern without one ignores; `path` is without query. */
  find(host: string, path: string): Route<T> | undefined {
    const lower = host.toLowerCase();
    const bare = lower.replace(/:\d+$/, '');
    return this.#routes.find(route => matchesHost(route, lower, bare) && matchesPath(route, path));
  }
}

function matchesHost(route: Compiled<unknown>, host: string, bare: string): boolean {
  if (route.hostKind === 'any') return true;
  if (route.hostKind === 'exact') return route.host === host || route.host === bare;
  return bare.endsWith(route.host) || host.endsWith(route.host);
}

function matchesPath(route: Compiled<unknown>, path: string): boolean {
  return route.pathKind === 'exact' ? path === route.path : path.startsWith(route.path);
}

const HOST_ORDER = { exact: 0, suffix: 1, any: 2 } as const;

function bySpecificity(a: Compiled<unknown>, b: Compiled<unknown>): number {
  return (
    HOST_ORDER[a.hostKind] - HOST_ORDER[b.hostKind] ||
    b.host.length - a.host.length ||
    (a.pathKind === b.pathKind ? 0 : a.pathKind === 'exact' ? -1 : 1) ||
    b.path.length - a.path.length
  );
}
