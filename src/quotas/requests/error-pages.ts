/**
 * The response to visitors and programs when a request ends with an error: an HTML page with the code, or JSON. It explains the code and
 * reveals nothing about the cause inside the host.
 */

import { EDGE_ERRORS, type EdgeErrorCode } from '../errors.js';

/** The numbers that visitors know. 1015 and 1027 are the specification's; codes without a number show their name. */
export const PAGE_NUMBERS: Partial<Record<EdgeErrorCode, number>> = Object.freeze({
  EDGE_RATE_LIMITED: 1015,
  EDGE_DAILY_LIMIT: 1027,
  EDGE_HANDLER_THREW: 1101,
  EDGE_NO_RESPONSE: 1101,
  EDGE_HANDLER_STALLED: 1101,
  EDGE_CPU_LIMIT: 1102,
  EDGE_MEMORY_LIMIT: 1102,
  EDGE_WALL_TIME_LIMIT: 1102,
});

export interface ErrorPageOptions {
  readonly code: EdgeErrorCode;
  /** The Accept header of the request: JSON when it wants that rather than HTML. */
  readonly accept?: string | null | undefined;
  /** Shown, so that a visitor can name it: the invocation's id. */
  readonly id?: string;
  /** Sent to the client as Retry-After, rounded up to seconds. */
  readonly retryAfterMs?: number;
}

export interface ErrorPage {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: string;
}

/** The answer to a request that ended with an error. */
export function errorPage({ code, accept, id, retryAfterMs }: ErrorPageOptions): ErrorPage {
  const { status, text } = EDGE_ERRORS[code];
  const number = PAGE_NUMBERS[code];
  const isJson = prefersJson(accept ?? '');
  const body = isJson
    ? `${JSON.stringify({ error: { code, number, status, message: text, id } })}\n`
    : htmlPage({ shown: number === undefined ? code : `Error ${number}`, text: sentence(text), id });
  const headers = [
    'content-type',
    isJson ? 'application/json; charset=utf-8' : 'text/html; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
    'cache-control',
    'no-store',
    'vary',
    'accept',
    'x-content-type-options',
    'nosniff',
  ];
  if (!isJson) headers.push('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
  if (retryAfterMs !== undefined) headers.push('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
  return { status, headers, body };
}

/** Whether an Accept header wants JSON more than HTML (RFC 9110, 12.5.1). A wildcard wants HTML. */
export function prefersJson(accept: string): boolean {
  let json = 0;
  let html = 0;
  for (const range of accept.slice(0, MAX_ACCEPT).toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim());
    const weight = parameters.find(parameter => parameter.startsWith('q='));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    if (type === 'application/json' || type.endsWith('+json')) json = Math.max(json, quality);
    else if (type === 'text/html' || type === 'application/xhtml+xml') html = Math.max(html, quality);
  }
  return json > html;
}

function htmlPage({ shown, text, id }: { shown: string; text: string; id: string | undefined }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(shown)}: ${escaped(text)}</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 36rem; margin: 15vh auto; padding: 0 1.5rem }
h1 { font-size: 1.25rem; font-weight: 600; margin: 0 }
p { margin: .5rem 0 }
small { color: #666 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } small { color: #999 } }
</style>
</head>
<body>
<main>
<h1>${escaped(shown)}</h1>
<p>${escaped(text)}</p>
${id === undefined ? '' : `<p><small>${escaped(id)}</small></p>\n`}</main>
</body>
</html>
`;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}

/** More of an Accept header than this is not looked at. */
const MAX_ACCEPT = 1024;
