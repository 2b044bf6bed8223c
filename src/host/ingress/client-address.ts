/** The client of a request: the address of its connection, or the one that proxies report. */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/**
 * Whether X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host are believed. `true`: the first value of each, for proxies that set them
 * in place of what the client sent. A number: that many proxies stand before the server, and each appends to what it received. The value
 * that the outermost of them has appended counts, and what the client wrote before it does not.
 */
export type TrustProxy = boolean | number;

/** A value of a list that proxies write. */
export function forwardedValue(header: string | string[] | undefined, trust: TrustProxy): string | undefined {
  if (trust === false || trust === 0) return undefined;
  const text = Array.isArray(header) ? header.join(',') : header;
  if (text === undefined) return undefined;
  if (trust === true) return text.split(',', 1)[0]?.trim();
  const values = text.split(',');
  return values[Math.max(0, values.length - trust)]?.trim();
}

/** @param peer the address of the connection; undefined when it is gone already */
export function clientAddress(
  request: IncomingMessage,
  trust: TrustProxy,
  peer: string | undefined,
): string | undefined {
  const forwarded = forwardedValue(request.headers['x-forwarded-for'], trust);
  return (forwarded === undefined ? undefined : addressIn(forwarded)) ?? peer;
}

/** Some proxies write the port too. Undefined for a text that is not an address: `unknown`, or a name of a proxy's own. */
function addressIn(text: string): string | undefined {
  if (isIP(text) !== 0) return text;
  const [, address] =
    /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::\d{1,5})?$/i.exec(text)?.filter(part => part !== undefined) ?? [];
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}

/** Whether the connection comes from a proxy that the options do not mention. */
export function comesOverUnknownProxy({ headers }: IncomingMessage): boolean {
  return headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
}
