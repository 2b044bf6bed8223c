/**
 * Heads on the isolate channel: "METHOD\nURL\nname\nvalue..." there, "statusText\nname\nvalue..." back. Names and values are byte
 * strings without line feeds, so a line feed parts them.
 */
import { MAX_REPLY_HEADERS } from '../../isolate/ops/table.js';
import { isClientHeader, withoutClientHeaders } from './client-headers.js';

export interface ResponseHead {
  readonly statusText: string;
  /** name, value, name, value... */
  readonly headers: readonly string[];
}

/** From the raw header list of node:http. `client` are lines that the listener adds (client-headers.ts). */
export function headOfRaw(method: string, url: string, rawHeaders: readonly string[], client = ''): string {
  const own = withoutClientHeaders(rawHeaders);
  return own.length === 0 ? `${method}\n${url}${client}` : `${method}\n${url}\n${own.join('\n')}${client}`;
}

/** Without the fragment, which clients do not send, and without the headers that only the listener may set. */
export function headOfRequest(request: Request): string {
  let head = `${request.method}\n${withoutFragment(request.url)}`;
  for (const [name, value] of request.headers) {
    if (!isClientHeader(name)) head += `\n${name}\n${value}`;
  }
  return head;
}

export function withoutFragment(url: string): string {
  const at = url.indexOf('#');
  return at < 0 ? url : url.slice(0, at);
}

/** Headers that belong to one connection and are never the function's to set. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The function wrote it: names and values are checked where they are used. Hop-by-hop headers are left out.
 *
 * @throws RangeError for more headers than an isolate sends
 */
export function parseResponseHead(head: string): ResponseHead {
  const parts = head.split('\n');
  if (parts.length > 1 + 2 * MAX_REPLY_HEADERS) throw new RangeError(`it has more than ${MAX_REPLY_HEADERS} headers`);
  const headers: string[] = [];
  for (let at = 1; at + 1 < parts.length; at += 2) {
    const name = parts[at] ?? '';
    if (!HOP_BY_HOP.has(name.toLowerCase())) headers.push(name, parts[at + 1] ?? '');
  }
  return { statusText: parts[0] ?? '', headers };
}

/** Names and values in turn, as the pairs that a Response takes. */
export function pairsOf(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < list.length; at += 2) pairs.push([list[at] ?? '', list[at + 1] ?? '']);
  return pairs;
}

/** Statuses whose response has no body. */
export function isNullBodyStatus(status: number): boolean {
  return status === 101 || status === 204 || status === 205 || status === 304;
}
