/** The entries of one option `hosts`, by name. */
import { isIP } from 'node:net';
import { type Destination, type HostEntry, isAmbiguous } from './host-entry.js';

/** Headers by which servers take another method, or another path, than the request has. */
const METHOD_HEADERS: ReadonlySet<string> = new Set(['x-http-method', 'x-http-method-override', 'x-method-override']);
const PATH_HEADERS: ReadonlySet<string> = new Set(['x-original-url', 'x-rewrite-url']);
const NONE: readonly HostEntry[] = [];

export class HostList {
  readonly #entries = new Map<string, HostEntry[]>();

  constructor(entries: readonly HostEntry[]) {
    for (const entry of entries) {
      const same = this.#entries.get(entry.host);
      if (same === undefined) this.#entries.set(entry.host, [entry]);
      else same.push(entry);
    }
  }

  /** @param headers names in lower case and values in turn */
  allows(destination: Destination, headers: readonly string[]): boolean {
    return this.entriesFor(destination.host).some(entry => entryAllows(entry, destination, headers));
  }

  /** The entries whose host it is. */
  entriesFor(host: string): readonly HostEntry[] {
    const exact = this.#entries.get(host) ?? NONE;
    const any = this.#entries.get('*') ?? NONE;
    if (isIP(host) !== 0) return any.length === 0 ? exact : [...exact, ...any];
    const above = this.#entriesAbove(host);
    return above.length + any.length === 0 ? exact : [...exact, ...above, ...any];
  }

  #entriesAbove(host: string): HostEntry[] {
    const entries: HostEntry[] = [];
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1))
      entries.push(...(this.#entries.get(`*${host.slice(dot)}`) ?? NONE));
    return entries;
  }
}

function entryAllows(
  { ports, paths, methods }: HostEntry,
  { port, method, path }: Destination,
  headers: readonly string[],
): boolean {
  if (ports !== undefined && !ports.includes(port)) return false;
  if (methods !== undefined && !(method !== undefined && methods.includes(method.toUpperCase()))) return false;
  if (methods !== undefined && hasAny(headers, METHOD_HEADERS)) return false;
  if (paths === undefined) return true;
  if (path === undefined || isAmbiguous(path) || hasAny(headers, PATH_HEADERS)) return false;
  return paths.some(allowed => (allowed.endsWith('*') ? path.startsWith(allowed.slice(0, -1)) : path === allowed));
}

function hasAny(headers: readonly string[], names: ReadonlySet<string>): boolean {
  for (let at = 0; at < headers.length; at += 2) if (names.has(headers[at] ?? '')) return true;
  return false;
}
