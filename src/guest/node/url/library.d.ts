/** The libraries have no types. */
declare module 'punycode/punycode.es6.js' {
  const punycode: {
    readonly toASCII: (domain: string) => string;
    readonly toUnicode: (domain: string) => string;
    readonly [name: string]: unknown;
  };
  export default punycode;
}
declare module 'url/url.js' {
  export interface LegacyUrl {
    auth: string | null;
    hash: string | null;
    host: string | null;
    hostname: string | null;
    href: string;
    path: string | null;
    pathname: string | null;
    port: string | null;
    protocol: string | null;
    query: unknown;
    search: string | null;
    slashes: boolean | null;
    parse(url: string, parseQuery?: boolean, slashesDenoteHost?: boolean): LegacyUrl;
    format(): string;
    resolve(target: string): string;
    resolveObject(target: unknown): LegacyUrl;
  }
  export const Url: new () => LegacyUrl;
}
