/** Entries of `hosts`, in the one form in which names are compared: lower case, ASCII, without a final dot, addresses in their shortest form. */
import { isIP } from 'node:net';

/** An entry in this form. It crosses to the backend process as JSON. */
export interface HostEntry {
  /** A name or an address, `*.` and a name, or `*`. */
  readonly host: string;
  readonly ports?: readonly number[];
  readonly paths?: readonly string[];
  /** In upper case. */
  readonly methods?: readonly string[];
}

/** A destination that a function has asked for. Sockets have no method and no path. */
export interface Destination {
  readonly protocol: 'http' | 'https' | 'tcp';
  /** In the form of entries. */
  readonly host: string;
  readonly port: number;
  readonly method?: string;
  readonly path?: string;
}

/** The host of a URL or of `connect()` in the form of entries. A text that is no host name for URLs has no entry that allows it. */
export function comparedName(hostname: string): string {
  if (isIP(hostname) === 6) return shortAddress(hostname);
  // A text such as 127.1 stays as it is: sockets look it up as a name.
  const name = hostname.toLowerCase();
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** The part of a path that servers may decode before they look for `..`, or leave out. The URL parser has resolved plain dot segments. */
export function isAmbiguous(path: string): boolean {
  return AMBIGUOUS.test(path);
}

const AMBIGUOUS = /%(?:25)*(?:2f|5c|00)|%25(?:25)*2e|(?:^|[/\\])(?:\.|%2e){1,2}(?:;|%3b)|\\|\/\//i;

/** An address with a zone is no host of URLs, and stays as it is. */
function shortAddress(address: string): string {
  const url = `http://[${address}]/`;
  return URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : address;
}
