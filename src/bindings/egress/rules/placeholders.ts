/**
 * Finds placeholders in what a function sends. Credentials of HTTP's Basic scheme are base64, so they are decoded: a function writes
 * `btoa('user:' + env.KEY)`, and the secret must be inside.
 */

import type { EgressSecretPlace } from './egress-rules.js';

export interface Occurrence {
  readonly placeholder: string;
  readonly place: EgressSecretPlace;
}

interface SearchedRequest {
  readonly url: URL;
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
}

/** A request with the secrets in it. */
export interface FoundSecrets {
  readonly urlWithSecrets: URL;
  readonly headersWithSecrets: readonly string[];
  /** Texts that were put in, each with the text that the function has in its place. */
  readonly hidden: ReadonlyMap<string, string>;
}

/** The same bounds hold for the headers and the URL that a function sends itself. */
const MAX_HEADERS_BYTES = 128 * 1024;
const MAX_URL_LENGTH = 64 * 1024;

/** Every placeholder begins with it. It is in lower case and has no character that URLs escape. */
export const PLACEHOLDER_START = 'edgesecret-';
/** Random bytes, which follow in hexadecimal digits. */
export const PLACEHOLDER_BYTES = 24;
const PLACEHOLDER = new RegExp(`${PLACEHOLDER_START}[0-9a-f]{${PLACEHOLDER_BYTES * 2}}`, 'g');
const BASIC = /^(basic +)([A-Za-z0-9+/]+={0,2}) *$/i;

/** Whether there may be any. Most requests of a function have none. */
export function hasPlaceholder({ url, headers }: SearchedRequest): boolean {
  if (url.href.includes(PLACEHOLDER_START)) return true;
  for (let at = 1; at < headers.length; at += 2) if (isCandidate(headers[at] ?? '')) return true;
  return false;
}

/**
 * Undefined when no placeholder has a value.
 *
 * @param valueFor the value of a placeholder; what it throws is passed on
 * @throws TypeError when the request would be too large
 */
export function replacePlaceholders(
  { url, headers }: SearchedRequest,
  valueFor: (occurrence: Occurrence) => string | undefined,
): FoundSecrets | undefined {
  const hidden = new Map<string, string>();
  let addedBytes = 0;
  const replaced = (text: string, place: EgressSecretPlace, maxBytes: number): string =>
    text.replace(PLACEHOLDER, placeholder => {
      const value = valueFor({ placeholder, place });
      if (value === undefined) return placeholder;
      const written = place === 'url' ? encodeURIComponent(value) : value;
      for (const form of formsOf(value)) hidden.set(form, placeholder);
      addedBytes += written.length;
      if (addedBytes > maxBytes)
        throw new TypeError(
          'Cannot fetch: the request is too long with its secrets in the place of their placeholders',
        );
      return written;
    });
  // The origin has no secret: it is what the rules have judged.
  const rest = replaced(url.href.slice(url.origin.length), 'url', MAX_URL_LENGTH);
  addedBytes = 0;
  const all = headers.map((text, at) => {
    if (at % 2 === 0) return text;
    const [, scheme = '', credentials] = BASIC.exec(text) ?? [];
    if (credentials === undefined) return replaced(text, 'header', MAX_HEADERS_BYTES);
    const plain = fromBase64(credentials);
    const revealed = replaced(plain, 'header', MAX_HEADERS_BYTES);
    if (revealed === plain) return text;
    const encoded = Buffer.from(revealed, 'latin1').toString('base64');
    hidden.set(encoded, credentials);
    return `${scheme}${encoded}`;
  });
  if (hidden.size === 0) return undefined;
  return { urlWithSecrets: new URL(url.origin + rest), headersWithSecrets: all, hidden };
}

/** Leaves out the headers that have one of the placeholders. */
export function withoutPlaceholders(headers: readonly string[], isKnown: (placeholder: string) => boolean): string[] {
  const hasKnown = (text: string): boolean => (text.match(PLACEHOLDER) ?? []).some(isKnown);
  return headers.filter((_, at) => {
    const value = headers[at - (at % 2) + 1] ?? '';
    if (!isCandidate(value)) return true;
    const credentials = BASIC.exec(value)?.[2];
    return !hasKnown(value) && !(credentials !== undefined && hasKnown(fromBase64(credentials)));
  });
}

function isCandidate(value: string): boolean {
  return value.includes(PLACEHOLDER_START) || (BASIC_START.test(value) && BASIC.test(value));
}

const BASIC_START = /^basic /i;

/** A server may repeat a value as it is, or escaped for URLs. */
function formsOf(value: string): string[] {
  const escaped = encodeURIComponent(value);
  return [value, escaped, escaped.replace(/%[0-9A-F]{2}/g, byte => byte.toLowerCase())];
}

function fromBase64(credentials: string): string {
  return Buffer.from(credentials, 'base64').toString('latin1');
}
