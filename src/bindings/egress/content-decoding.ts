/** Takes the content codings off a response body, as fetch does, never holding more than a few chunks of it. */

import { Duplex, pipeline, type Readable } from 'node:stream';
import * as zlib from 'node:zlib';

import { EdgeError } from '../../quotas/errors.js';

/** More codings than this on one body serve to exhaust the receiver (as GHSA-gm62-xv2j-4w53). */
const MAX_CODINGS = 5;

/**
 * The decoded body, or undefined when the body is to be handed on as it is: no coding, or one that is not known.
 * Destroying what is returned destroys `body`; an error in either ends both.
 *
 * @throws EdgeError EDGE_EGRESS_FAILED for more than five codings
 */
export function decodedBody(body: Readable, contentEncoding: string | undefined): Readable | undefined {
  const codings = (contentEncoding ?? '').toLowerCase().split(',');
  const named = codings.map(coding => coding.trim()).filter(coding => coding !== '' && coding !== 'identity');
  if (named.length === 0) return undefined;
  if (named.length > MAX_CODINGS) {
    const message = `the response has ${named.length} content codings, at most ${MAX_CODINGS} are allowed`;
    throw new EdgeError('EDGE_EGRESS_FAILED', message);
  }
  if (!named.every(isKnown)) return undefined;

  let decoded: Readable = body;
  for (const coding of named.reverse()) {
    // The callback is what makes pipeline() report to the stream alone, and not throw.
    decoded = pipeline(decoded, decoder(coding), () => {});
  }
  return decoded;
}

/** The codings offered to servers when the function names none. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';

type Coding = 'gzip' | 'x-gzip' | 'deflate' | 'br' | 'zstd';

function isKnown(coding: string): coding is Coding {
  if (coding === 'zstd') return 'createZstdDecompress' in zlib;
  return coding === 'gzip' || coding === 'x-gzip' || coding === 'deflate' || coding === 'br';
}

function decoder(coding: Coding): Duplex {
  // Flushing at each write hands on what came so far; not insisting on a proper end accepts what browsers accept.
  const lenient = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return zlib.createGunzip(lenient);
    case 'deflate':
      return new AnyInflate(lenient);
    case 'br':
      return zlib.createBrotliDecompress({
        flush: zlib.constants.BROTLI_OPERATION_FLUSH,
        finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
      });
    case 'zstd':
      return createZstd();
  }
}

function createZstd(): Duplex {
  // Node 22.15 and later, so it is not in the types of Node 20. isKnown() has made sure that it is there.
  const create: unknown = Reflect.get(zlib, 'createZstdDecompress');
  const stream: unknown = typeof create === 'function' ? create() : undefined;
  if (stream instanceof Duplex) return stream;
  throw new TypeError('zlib.createZstdDecompress() made no stream');
}

/** "deflate" is the zlib format, but servers send raw deflate too: the first byte tells. */
class AnyInflate extends Duplex {
  readonly #options: zlib.ZlibOptions;
  #inflate: zlib.Inflate | zlib.InflateRaw | undefined;

  constructor(options: zlib.ZlibOptions) {
    super();
    this.#options = options;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (chunk.length > 0) this.#inflate ??= this.#start(chunk);
    if (this.#inflate === undefined) callback();
    else this.#inflate.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#inflate === undefined) this.push(null);
    this.#inflate?.end();
    callback();
  }

  override _read(): void {
    this.#inflate?.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#inflate?.destroy();
    callback(error);
  }

  #start(first: Buffer): zlib.Inflate | zlib.InflateRaw {
    const isZlib = ((first[0] ?? 0) & 0x0f) === 8;
    const inflate = isZlib ? zlib.createInflate(this.#options) : zlib.createInflateRaw(this.#options);
    inflate
      .on('data', chunk => {
        if (!this.push(chunk)) inflate.pause();
      })
      .on('end', () => this.push(null))
      .on('error', error => this.destroy(error));
    return inflate;
  }
}
