/** URLs, their parameters and patterns. */

interface URL {
  hash: string;
  host: string;
  hostname: string;
  href: string;
  readonly origin: string;
  password: string;
  pathname: string;
  port: string;
  protocol: string;
  search: string;
  readonly searchParams: URLSearchParams;
  username: string;
  toJSON(): string;
  toString(): string;
}
declare var URL: {
  prototype: URL;
  new (url: string | URL, base?: string | URL): URL;
  canParse(url: string | URL, base?: string | URL): boolean;
  parse(url: string | URL, base?: string | URL): URL | null;
};

interface URLSearchParams {
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  toString(): string;
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, thisArg?: unknown): void;
  entries(): IteratorObject<[string, string], BuiltinIteratorReturn>;
  keys(): IteratorObject<string, BuiltinIteratorReturn>;
  values(): IteratorObject<string, BuiltinIteratorReturn>;
  [Symbol.iterator](): IteratorObject<[string, string], BuiltinIteratorReturn>;
}
declare var URLSearchParams: {
  prototype: URLSearchParams;
  new (init?: Iterable<readonly [string, string]> | Record<string, string> | URLSearchParams | string): URLSearchParams;
};

interface URLPatternInit {
  baseURL?: string;
  hash?: string;
  hostname?: string;
  password?: string;
  pathname?: string;
  port?: string;
  protocol?: string;
  search?: string;
  username?: string;
}

type URLPatternInput = string | URLPatternInit;

interface URLPatternOptions {
  ignoreCase?: boolean;
}

interface URLPatternComponentResult {
  input: string;
  groups: Record<string, string | undefined>;
}

interface URLPatternResult {
  inputs: URLPatternInput[];
  hash: URLPatternComponentResult;
  hostname: URLPatternComponentResult;
  password: URLPatternComponentResult;
  pathname: URLPatternComponentResult;
  port: URLPatternComponentResult;
  protocol: URLPatternComponentResult;
  search: URLPatternComponentResult;
  username: URLPatternComponentResult;
}

interface URLPattern {
  readonly hasRegExpGroups: boolean;
  readonly hash: string;
  readonly hostname: string;
  readonly password: string;
  readonly pathname: string;
  readonly port: string;
  readonly protocol: string;
  readonly search: string;
  readonly username: string;
  exec(input?: URLPatternInput, baseURL?: string | URL): URLPatternResult | null;
  test(input?: URLPatternInput, baseURL?: string | URL): boolean;
}
declare var URLPattern: {
  prototype: URLPattern;
  new (input: URLPatternInput, baseURL: string | URL, options?: URLPatternOptions): URLPattern;
  new (input?: URLPatternInput, options?: URLPatternOptions): URLPattern;
};
