/** Checks an incoming request before a function sees it (specification: Limits, rules 8 and 9; Errors). */

import { EdgeError } from '../errors.js';
import { limitError } from '../limit-error.js';
import type { ResolvedLimits } from '../resolve-limits.js';

export interface RequestHeadToCheck {
  readonly method: string;
  /** The target as received: absolute, or the path with the query. */
  readonly url: string;
  /** Names and values in turn (`rawHeaders` of `node:http`), or pairs (a `Headers` object). */
  readonly headers: readonly string[] | Iterable<readonly [string, string]>;
}

/** The limits that a request head is checked against. */
export type RequestLimits = Pick<
  ResolvedLimits,
  'plan' | 'zonePlan' | 'urlBytes' | 'headersBytes' | 'headerBytes' | 'bodyBytes'
>;

/** The results of checking the head of a request. */
export interface CheckedRequestHead {
  /** The body's length in bytes, when the head says it. */
  readonly contentLength: number | undefined;
}

/**
 * Checks the head of a request. The size of a header counts its name and its value.
 *
 * @throws EdgeError EDGE_URL_TOO_LONG, EDGE_HEADERS_TOO_LARGE, EDGE_BODY_TOO_LARGE when Content-Length says so already,
 *   EDGE_REQUEST_MALFORMED for Transfer-Encoding with Content-Length or an invalid Content-Length
 */
export function checkRequestHead(head: RequestHeadToCheck, limits: RequestLimits): CheckedRequestHead {
  const subject = `serve the ${head.method} request`;
  // A request over HTTP has one character for each byte, in the URL and in the headers.
  const urlBytes = head.url.length;
  if (urlBytes > limits.urlBytes) {
    throw limitError('EDGE_URL_TOO_LONG', {
      limit: 'urlBytes',
      subject,
      actual: urlBytes,
      allowed: limits.urlBytes,
      plan: limits.plan,
    });
  }

  let headersBytes = 0;
  let contentLength: string | undefined;
  let hasTransferEncoding = false;
  const headers = flat(head.headers);
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? '';
    const value = headers[i + 1] ?? '';
    const bytes = name.length + value.length;
    headersBytes += bytes;
    if (bytes > limits.headerBytes) {
      throw limitError('EDGE_HEADERS_TOO_LARGE', {
        limit: 'headerBytes',
        subject,
        measured: `the header ${shown(name)}`,
        actual: bytes,
        allowed: limits.headerBytes,
        plan: limits.plan,
      });
    }
    // Names are compared only where they can match: this runs for every header of every request.
    if (name.length === 14 && name.toLowerCase() === 'content-length') {
      if (contentLength !== undefined && contentLength !== value)
        throw malformed(subject, 'it has two Content-Lengths');
      contentLength = value;
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      hasTransferEncoding = true;
    }
  }
  if (headersBytes > limits.headersBytes) {
    throw limitError('EDGE_HEADERS_TOO_LARGE', {
      limit: 'headersBytes',
      subject,
      actual: headersBytes,
      allowed: limits.headersBytes,
      plan: limits.plan,
    });
  }
  if (contentLength === undefined) return { contentLength: undefined };
  if (hasTransferEncoding) throw malformed(subject, 'it has both Transfer-Encoding and Content-Length');
  const length = /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : undefined;
  if (length === undefined) throw malformed(subject, `its Content-Length is ${shown(contentLength)}`);
  if (length > limits.bodyBytes) throw bodyTooLarge(subject, length, limits);
  return { contentLength: length };
}

/** Counts the bytes of a request body as they pass: for bodies whose length the head does not give, or gives wrongly. Nothing is kept. */
export class BodyCounter {
  readonly #limits: RequestLimits;
  readonly #declaredBytes: number | undefined;
  #bytes = 0;

  /** @param declaredBytes what its Content-Length says, where nothing else keeps a body to that */
  constructor(limits: RequestLimits, declaredBytes?: number) {
    this.#limits = limits;
    this.#declaredBytes = declaredBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws EdgeError EDGE_BODY_TOO_LARGE when the body is now longer than allowed: do not pass the chunk on */
  add(byteLength: number): void {
    this.#bytes += byteLength;
    if (this.#bytes > this.#limits.bodyBytes) throw bodyTooLarge('serve the request', this.#bytes, this.#limits);
  }

  /** All of the body has passed. @throws EdgeError EDGE_REQUEST_MALFORMED when its length differs from the declaration */
  end(): void {
    const declared = this.#declaredBytes;
    if (declared !== undefined && declared !== this.#bytes) throw wrongLength(declared, this.#bytes);
  }
}

function wrongLength(declared: number, bytes: number): EdgeError {
  return malformed('serve the request', `its Content-Length is ${declared}, and its body has ${bytes} bytes`);
}

function bodyTooLarge(subject: string, actual: number, limits: RequestLimits): EdgeError {
  const { bodyBytes: allowed, zonePlan: plan } = limits;
  return limitError('EDGE_BODY_TOO_LARGE', { limit: 'bodyBytes', subject, actual, allowed, plan });
}

function malformed(subject: string, why: string): EdgeError {
  return new EdgeError('EDGE_REQUEST_MALFORMED', `Cannot ${subject}: ${why}`);
}

function flat(headers: RequestHeadToCheck['headers']): readonly string[] {
  return isFlat(headers) ? headers : [...headers].flat();
}

function isFlat(headers: RequestHeadToCheck['headers']): headers is readonly string[] {
  return Array.isArray(headers) && typeof headers[0] !== 'object';
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
