/**
 * How listeners compress answers in the zones of the management API: the setting `brotli`, and the compression rules of Enterprise zones, which override it.
 */
import { nameOfHost, namesAbove } from './host-names.js';
import { compilePattern, type Pattern } from './route-pattern.js';

/** Names of content codings, as the management API has them. */
export const ALGORITHMS = ['brotli', 'zstd', 'gzip'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** The first is taken where the client prefers none. Without any, answers stay as they are. */
export type Algorithms = readonly Algorithm[];

export interface CompressionRule {
  /** A pattern in the form of a route, such as `example.com/api/*`. */
  readonly pattern: string;
  readonly algorithms: Algorithms;
}

interface Setting {
  readonly account: string;
  /** Undefined: nothing of the setting applies. */
  readonly algorithmsOf: (name: string, port: string, path: string) => Algorithms | undefined;
  /** A setting ends by the schedule, and rules end with the plan. */
  readonly isInForce: () => boolean;
}

type Settings = Map<string, Setting>;

const WITHOUT_BROTLI: Algorithms = ALGORITHMS.filter(algorithm => algorithm !== 'brotli');
/** The URL parser leaves them out. */
const DEFAULT_PORTS: ReadonlySet<string> = new Set([':80', ':443']);

export class ZoneCompression {
  /** By zone. Another account may have stored the same zone, which then has no effect. */
  readonly #brotli: Settings = new Map();
  readonly #rules: Settings = new Map();
  readonly #ownerOf: (name: string) => string | undefined;

  constructor(ownerOf: (name: string) => string | undefined) {
    this.#ownerOf = ownerOf;
  }

  setBrotli(account: string, zone: string, isOn: boolean, isInForce: () => boolean): void {
    this.#brotli.set(zone, { account, algorithmsOf: () => (isOn ? ALGORITHMS : WITHOUT_BROTLI), isInForce });
  }

  /** The first rule that matches applies. */
  setRules(account: string, zone: string, rules: readonly CompressionRule[], isInForce: () => boolean): void {
    const compiled = rules.map(({ pattern, algorithms }) => ({ ...compilePattern(pattern), algorithms }));
    const algorithmsOf: Setting['algorithmsOf'] = (name, port, path) =>
      compiled.find(rule => matches(rule, name, port, path))?.algorithms;
    this.#rules.set(zone, { account, algorithmsOf, isInForce });
  }

  /** The setting has its default again. */
  deleteBrotli(account: string, zone: string): void {
    remove(this.#brotli, account, zone);
  }

  deleteRules(account: string, zone: string): void {
    remove(this.#rules, account, zone);
  }

  deleteAccount(account: string): void {
    for (const settings of [this.#brotli, this.#rules])
      for (const zone of settings.keys()) remove(settings, account, zone);
  }

  /**
   * The algorithms for answers under a URL; undefined when all codings may be used. The nearest zone that says something decides. `host` may have
   * a port, and `path` is without query.
   */
  algorithmsOf(host: string, path: string): Algorithms | undefined {
    if (this.#rules.size === 0 && this.#brotli.size === 0) return undefined;
    const name = nameOfHost(host);
    const port = /:\d+$/.exec(host)?.[0] ?? '';
    return this.#ask(this.#rules, name, port, path) ?? this.#ask(this.#brotli, name, port, path);
  }

  #ask(settings: Settings, name: string, port: string, path: string): Algorithms | undefined {
    if (settings.size === 0) return undefined;
    const own = this.#allowed(settings.get(name), name)?.algorithmsOf(name, port, path);
    if (own !== undefined) return own;
    for (const above of namesAbove(name)) {
      const found = this.#allowed(settings.get(above), name)?.algorithmsOf(name, port, path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #allowed(setting: Setting | undefined, name: string): Setting | undefined {
    return setting?.isInForce() && this.#ownerOf(name) === setting.account ? setting : undefined;
  }
}

function remove(settings: Settings, account: string, zone: string): void {
  if (settings.get(zone)?.account === account) settings.delete(zone);
}

function matches(pattern: Pattern, name: string, port: string, path: string): boolean {
  const isHost = pattern.hostKind === 'exact' ? name === pattern.name : name.endsWith(`.${pattern.name}`);
  if (!isHost) return false;
  if (pattern.port !== '' && pattern.port !== port && !(port === '' && DEFAULT_PORTS.has(pattern.port))) return false;
  return pattern.pathKind === 'exact' ? path === pattern.path : path.startsWith(pattern.path);
}
