/** The envelope that every answer of the API is written in, and the error that becomes one. */

import type { ValueOf } from '../schemas.js';
import { API_CODES, type ApiCode } from './codes.js';

export interface ErrorItem {
  readonly code: number;
  readonly message: string;
  readonly error_chain?: readonly ErrorItem[];
}

export interface PageInfo {
  readonly page: number;
  readonly per_page: number;
  /** Items on this page. */
  readonly count: number;
  readonly total_count: number;
  readonly total_pages: number;
}

/** Describes a page of a list that only grows: it has no total, and the next page begins at `cursor` (absent on the last page). */
export interface CursorInfo {
  readonly per_page: number;
  readonly count: number;
  readonly cursor?: string;
}

export interface Envelope {
  readonly result: unknown;
  readonly success: boolean;
  readonly errors: readonly ErrorItem[];
  readonly messages: readonly ErrorItem[];
  readonly result_info?: PageInfo | CursorInfo;
}

/** The result of a handler; the pipeline writes the envelope around it. */
export interface Reply<Result = unknown> {
  readonly result: Result;
  readonly resultInfo?: PageInfo | CursorInfo;
  /** The ETag of the stored record, without quotes. */
  readonly etag?: string;
  /** In place of the envelope: a body of its own media type. */
  readonly raw?: string | FormData | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** The media type of `raw` as text, bytes or stream. @default JSON */
  readonly mediaType?: string;
}

/** The reply with one value of the schema. */
export type OneReply<S> = Reply<ValueOf<S>>;
/** The reply with a list of values of the schema. */
export type ListReply<S> = Reply<readonly ValueOf<S>[]>;
/** The reply with a body of its own media type. */
export type RawReply = Reply<null>;

/** The answer for an error of a call whose arguments came from the request; other errors stay what they are. */
export function refusalOf(error: unknown, code: ApiCode, prefix = ''): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  return new ApiError(code, prefix + error.message, { cause: error });
}

/** An answer with `success: false`. */
export class ApiError extends Error {
  readonly code: ApiCode;
  readonly status: number;
  readonly errors: readonly ErrorItem[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ApiCode,
    message: string = API_CODES[code].text,
    options: {
      readonly cause?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      /** In place of the one entry made of code and message. */
      readonly errors?: readonly ErrorItem[];
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = API_CODES[code].status;
    this.errors = options.errors ?? [errorItem(code, message)];
    this.headers = options.headers ?? {};
  }
}

export function errorItem(code: ApiCode, message: string): ErrorItem {
  return { code: API_CODES[code].code, message };
}

export function failure(errors: readonly ErrorItem[]): Envelope {
  return { result: null, success: false, errors, messages: [] };
}

export function success(reply: Reply, messages: readonly ErrorItem[]): Envelope {
  const envelope = { result: reply.result, success: true, errors: [], messages };
  return reply.resultInfo === undefined ? envelope : { ...envelope, result_info: reply.resultInfo };
}

export function envelopeResponse(envelope: Envelope, status: number, headers: Headers): Response {
  headers.set('content-type', 'application/json; charset=utf-8');
  headers.set('cache-control', 'no-store');
  headers.set('x-content-type-options', 'nosniff');
  return new Response(JSON.stringify(envelope), { status, headers });
}
