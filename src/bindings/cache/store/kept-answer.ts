/** The answer that an entry gives to a request. */
import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { cancelBody } from '../../bodies/cancel-body.js';
import type { ServiceBody } from '../../service.js';
import type { ByteSpan } from '../byte-ranges.js';
import type { Outcome } from '../conditional.js';
import type { CacheHit } from '../engine.js';
import { headerOf } from '../header-values.js';
import type { EntryHead, StoredCacheEntry } from './entry-codec.js';
import { entryContent } from './entry-content.js';

/** A hit, before it has its epoch. */
export type KeptAnswer = Omit<CacheHit, 'epoch'> & { epoch: number };

/** Undefined when the entry was replaced or removed after it had been read from `key`. */
export async function answerOf(
  storage: StorageContext,
  key: string,
  entry: StoredCacheEntry,
  outcome: Outcome,
  nowMs: number,
  work: CallWork,
): Promise<KeptAnswer | undefined> {
  const { head } = entry;
  const { size } = head;
  const open = (span: ByteSpan): Promise<ServiceBody | undefined> => entryContent(storage, key, entry, span, work);
  const answer = (status: number, headers: readonly string[], body: ServiceBody | null, bytes: number): KeptAnswer =>
    new Hit(head, nowMs, status, STATUS_CODES[status] ?? '', headers, body, bytes);
  if (outcome.kind === 'not modified') return answer(304, head.headers, null, 0);
  if (outcome.kind === 'unsatisfiable') return answer(416, ['content-range', `bytes */${size}`], null, 0);
  if (outcome.kind === 'whole') {
    if (isBodyless(head.status)) return new Hit(head, nowMs, head.status, head.statusText, head.headers, null, 0);
    const body = await open({ offset: 0, length: size });
    if (body === undefined) return undefined;
    return new Hit(head, nowMs, head.status, head.statusText, entry.wholeHeaders, body, size);
  }
  const [first] = outcome.spans;
  if (first !== undefined && outcome.spans.length === 1) {
    const body = await open(first);
    if (body === undefined) return undefined;
    const range = ['content-range', rangeText(first, size), 'content-length', String(first.length)];
    return answer(206, [...head.headers, ...range], body, first.length);
  }
  const boundary = randomBytes(16).toString('hex');
  const parts = await openParts(outcome.spans, size, boundary, headerOf(head.headers, 'content-type'), open);
  if (parts === undefined) return undefined;
  const headers = head.headers.filter((_, at) => head.headers[at & ~1] !== 'content-type');
  const form = ['content-type', `multipart/byteranges; boundary=${boundary}`, 'content-length', String(parts.size)];
  return answer(206, [...headers, ...form], parts, parts.size);
}

/**
 * The whole of an entry whose body came with its record, without a promise; undefined when the body is elsewhere, or missing.
 *
 * @param isShared the reader of the body does not transfer its buffer, which holds memory of the database
 */
export function embeddedAnswer(entry: StoredCacheEntry, nowMs: number, isShared: boolean): KeptAnswer | undefined {
  const { head, bytes, wholeHeaders } = entry;
  if (head.blob !== undefined || isBodyless(head.status)) return undefined;
  const body = isShared ? bytes : new Uint8Array(bytes);
  return new Hit(head, nowMs, head.status, head.statusText, wholeHeaders, body, head.size);
}

/** A class: hits are many, and V8 makes such objects fastest. */
class Hit implements KeptAnswer {
  readonly kind = 'hit';
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
  readonly body: ServiceBody | null;
  readonly size: number;
  readonly ageSeconds: number;
  readonly isStale: boolean;
  readonly ttlSeconds: number;
  epoch = 0;

  constructor(
    head: EntryHead,
    nowMs: number,
    status: number,
    statusText: string,
    headers: readonly string[],
    body: ServiceBody | null,
    size: number,
  ) {
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
    this.body = body;
    this.size = size;
    this.ageSeconds = head.ageSeconds + Math.max(0, Math.floor((nowMs - head.storedAt) / 1000));
    this.isStale = nowMs >= head.freshUntil;
    this.ttlSeconds = Math.ceil((head.freshUntil - nowMs) / 1000);
  }
}

/** Statuses whose response has no body. */
function isBodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

function rangeText({ offset, length }: ByteSpan, size: number): string {
  return `bytes ${offset}-${offset + length - 1}/${size}`;
}

async function openParts(
  spans: readonly ByteSpan[],
  size: number,
  boundary: string,
  type: string | undefined,
  open: (span: ByteSpan) => Promise<ServiceBody | undefined>,
): Promise<Parts | undefined> {
  const pieces: ServiceBody[] = [];
  let total = 0;
  const add = (text: string): void => {
    const bytes = Buffer.from(text, 'latin1');
    pieces.push(bytes);
    total += bytes.length;
  };
  let isWhole = false;
  try {
    for (const [index, span] of spans.entries()) {
      const typeLine = type === undefined ? '' : `Content-Type: ${type}\r\n`;
      add(`${index === 0 ? '' : '\r\n'}--${boundary}\r\n${typeLine}Content-Range: ${rangeText(span, size)}\r\n\r\n`);
      const body = await open(span);
      if (body === undefined) return undefined;
      pieces.push(body);
      total += span.length;
    }
    isWhole = true;
  } finally {
    if (!isWhole) for (const piece of pieces) cancelBody(piece);
  }
  add(`\r\n--${boundary}--\r\n`);
  return new Parts(pieces, total);
}

/** Bodies one after the other. No generator, which would not give up bodies that were never asked for. */
class Parts implements AsyncIterableIterator<Uint8Array> {
  readonly size: number;
  readonly #pieces: ServiceBody[];
  #current: AsyncIterator<Uint8Array> | undefined;

  constructor(pieces: ServiceBody[], size: number) {
    this.#pieces = pieces;
    this.size = size;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const result = await this.#current?.next();
      if (result !== undefined && result.done !== true) return { done: false, value: result.value };
      this.#current = undefined;
      const piece = this.#pieces.shift();
      if (piece === undefined) return { done: true, value: undefined };
      if (piece instanceof Uint8Array) return { done: false, value: piece };
      this.#current = piece[Symbol.asyncIterator]();
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (const piece of this.#pieces.splice(0)) cancelBody(piece);
    await this.#current?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
