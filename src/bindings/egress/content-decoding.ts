/**
 * Takes the content codings off a response body, as fetch does, never holding more than a few chunks of it.
 *
 * Decoders work on the threads that files and the database need too, and a few bytes can become gigabytes, or take long and become nothing. So a decoder does
 * nothing by itself: each step is requested, waits for the account's turn, takes a place in the queue of the threads, and is charged by its output.
 */

import { finished } from 'node:stream';
import * as zlib from 'node:zlib';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { threadQueue } from '../../quotas/host/threads.js';

/** More codings than this on one body serve to exhaust the receiver (as GHSA-gm62-xv2j-4w53). */
const MAX_CODINGS = 5;

/** The most bytes that one step returns. */
const STEP_BYTES = 64 * 1024;
const STEP_MS = costOf(STEP_BYTES, HOST_COSTS.decodedMbMs);

/**
 * The decoded body, or undefined when the body is to be handed on as it is: no coding, or one that is not known. Ending the returned body ends `body`; an error
 * in either ends both.
 *
 * @param toError turns an error into the one that the reader gets; given one that it made it gives it back
 * @throws EdgeError EDGE_EGRESS_FAILED for more than five codings
 */
export function decodedBody(
  body: AsyncIterable<Uint8Array>,
  contentEncoding: string | undefined,
  work: CallWork,
  toError: (error: unknown) => Error,
): AsyncIterable<Uint8Array> | undefined {
  const codings = (contentEncoding ?? '').toLowerCase().split(',');
  const named = codings.map(coding => coding.trim()).filter(coding => coding !== '' && coding !== 'identity');
  if (named.length === 0) return undefined;
  if (named.length > MAX_CODINGS) {
    const message = `the response has ${named.length} content codings, at most ${MAX_CODINGS} are allowed`;
    throw new EdgeError('EDGE_EGRESS_FAILED', message);
  }
  if (!named.every(isKnown)) return undefined;

  let decoded = body[Symbol.asyncIterator]();
  for (const coding of named.reverse()) decoded = new Decoding(coding, decoded, work, toError);
  return { [Symbol.asyncIterator]: () => decoded };
}

/** The codings offered to servers when the function names none. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';

type Coding = 'gzip' | 'x-gzip' | 'deflate' | 'br' | 'zstd';

function isKnown(coding: string): coding is Coding {
  if (coding === 'zstd') return 'createZstdDecompress' in zlib;
  return coding === 'gzip' || coding === 'x-gzip' || coding === 'deflate' || coding === 'br';
}

/** The part of zlib's streams that is used. */
type Decoder = zlib.Gunzip | zlib.BrotliDecompress;

class Decoding implements AsyncIterator<Uint8Array> {
  readonly #coding: Coding;
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #work: CallWork;
  readonly #toError: (error: unknown) => Error;
  #decoder: Decoder | undefined;
  /** The decoder has input that it has not taken in as a whole. */
  #isBusy = false;
  #isFinished = false;
  #isCanceled = false;
  #error: Error | undefined;
  #moved: (() => void) | undefined;

  constructor(coding: Coding, source: AsyncIterator<Uint8Array>, work: CallWork, toError: (error: unknown) => Error) {
    this.#coding = coding;
    this.#source = source;
    this.#work = work;
    this.#toError = toError;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      for (;;) {
        const chunk = await this.#advance();
        if (this.#isCanceled) break;
        if (chunk !== undefined) return { done: false, value: chunk };
        if (this.#isFinished) break;
      }
    } catch (error) {
      this.#end();
      throw this.#toError(error);
    }
    // Bytes behind the end of the coded data are ignored.
    this.#end();
    return DONE;
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#isCanceled = true;
    this.#end();
    this.#moved?.();
    return DONE;
  }

  /** One step of the decoder: with its pending input, or else with the next chunk of its source. Returns the output so far. */
  async #advance(): Promise<Uint8Array | undefined> {
    let decoder = this.#decoder;
    let input: Uint8Array | undefined;
    if (decoder === undefined || (!this.#isBusy && decoder.readableLength === 0)) {
      const { done, value } = await this.#source.next();
      if (this.#isCanceled) return undefined;
      if (done !== true) {
        if (value.byteLength === 0) return undefined;
        input = value;
      }
      decoder ??= this.#start(value?.[0]);
    }
    const turn = this.#work.turn();
    if (turn !== undefined) await turn;
    const { owner } = this.#work;
    const wait = threadQueue.enter(owner, STEP_MS);
    if (wait !== undefined) await wait;
    try {
      return this.#isCanceled ? undefined : await this.#step(decoder, input);
    } finally {
      threadQueue.leave(owner);
    }
  }

  async #step(decoder: Decoder, input: Uint8Array | undefined): Promise<Uint8Array | undefined> {
    let chunk: unknown = null;
    if (decoder.readableLength > 0) {
      // Taking a chunk out is what makes it decode the next one.
      chunk = decoder.read();
    } else if (input !== undefined) {
      this.#isBusy = true;
      decoder.write(input, error => {
        this.#isBusy = false;
        this.#error ??= error ?? undefined;
        this.#moved?.();
      });
    } else if (!this.#isBusy) {
      this.#isBusy = true;
      decoder.end();
    }
    while (!this.#isCanceled && !this.#isFinished && this.#isBusy && decoder.readableLength === 0) {
      await new Promise<void>(resolve => {
        this.#moved = resolve;
        // At the end of its data a stream says so when it is read.
        if (decoder.writableEnded) decoder.read(0);
      });
    }
    if (this.#error !== undefined) throw this.#error;
    if (!(chunk instanceof Uint8Array)) return undefined;
    this.#work.charge(costOf(chunk.byteLength, HOST_COSTS.decodedMbMs));
    return chunk;
  }

  #start(first: number | undefined): Decoder {
    const decoder = createDecoder(this.#coding, first);
    this.#decoder = decoder;
    decoder.on(
      'readable',
      guarded(() => this.#moved?.()),
    );
    finished(decoder, { writable: false }, error => {
      this.#isFinished = true;
      this.#error ??= error ?? undefined;
      this.#moved?.();
    });
    return decoder;
  }

  #end(): void {
    this.#decoder?.destroy();
    this.#source.return?.().catch(() => {});
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** @param first the first byte of the body; undefined when it is empty */
function createDecoder(coding: Coding, first: number | undefined): Decoder {
  // A step at a time: the stream is full with the first byte in it.
  const steps = { chunkSize: STEP_BYTES, readableHighWaterMark: 1 };
  // Flushing at each write hands on everything decoded so far; not insisting on a proper end accepts what browsers accept.
  const lenient = { ...steps, flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  const { BROTLI_OPERATION_FLUSH: flush } = zlib.constants;
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip(lenient);
    case 'deflate':
      // The standard means the zlib format, but some servers send raw deflate: the first byte distinguishes them.
      return first === undefined || (first & 0x0f) === 8 ? zlib.createInflate(lenient) : zlib.createInflateRaw(lenient);
    case 'br':
      return zlib.createBrotliDecompress({ ...steps, flush, finishFlush: flush });
    case 'zstd':
      return createZstd(steps);
  }
}

function createZstd(steps: object): Decoder {
  // Node 22.15 and later, so it is not in the types of Node 20. isKnown() has made sure that it is there.
  const create: unknown = Reflect.get(zlib, 'createZstdDecompress');
  if (typeof create !== 'function') throw new TypeError('zlib.createZstdDecompress() is unavailable');
  return create(steps);
}
