/** Patterns of routes: `host/path`, each of which may begin or end with `*`. */
import { normalName } from './host-names.js';

/** The host of a route's pattern. */
export interface RouteHost {
  readonly pattern: string;
  /** `exact`; `below`, from `*.example.com`; `ending`, from `*example.com`, also of other names that end so; `any`. */
  readonly hostKind: 'exact' | 'below' | 'ending' | 'any';
  /** Without `*`, the dot after it and the port; empty for `any`. */
  readonly name: string;
}

export interface Pattern extends RouteHost {
  /** `:8080` where the pattern is for that port alone. */
  readonly port: string;
  readonly path: string;
  readonly pathKind: 'exact' | 'prefix';
}

/**
 * Names are as the URL parser writes them, so that they are compared as text.
 *
 * @throws TypeError when the pattern is not `host/path`, has a host that no request can name, or a `*` elsewhere than at the host's
 *   start or the path's end
 */
export function compilePattern(pattern: string): Pattern {
  const bare = pattern.replace(/^https?:\/\//, '');
  const slash = bare.indexOf('/');
  const host = slash < 0 ? bare : bare.slice(0, slash);
  const path = slash < 0 ? '/*' : bare.slice(slash);
  const [, stars = '', text = '', port = ''] = /^(\*?\.?)(.*?)(:\d+)?$/s.exec(host) ?? [];
  const isPrefix = path.endsWith('*');
  const pathText = isPrefix ? path.slice(0, -1) : path;
  const isAny = stars === '*' && text === '';
  if (text.includes('*') || stars === '.' || pathText.includes('*') || /[?#\s]/.test(bare)) {
    throw new TypeError(
      `Route pattern "${pattern}" is not host/path with "*" at the start of the host or the end of the path only`,
    );
  }
  const name = isAny ? '' : normalName(text);
  const portNumber = Number(port.slice(1));
  if (name === undefined || portNumber > 65_535) {
    throw new TypeError(`Route pattern "${pattern}" does not begin with a host name, and a port up to 65535`);
  }
  return {
    pattern,
    name,
    port: port === '' ? '' : `:${portNumber}`,
    hostKind: isAny ? 'any' : stars === '*.' ? 'below' : stars === '*' ? 'ending' : 'exact',
    path: pathText,
    pathKind: isPrefix ? 'prefix' : 'exact',
  };
}

/** The zone of a pattern that names none: the last two labels of its host. */
export function zoneOf(pattern: string): string {
  return compilePattern(pattern).name.split('.').slice(-2).join('.');
}
