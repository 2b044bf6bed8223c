/** The stream classes of node:zlib. @see https://nodejs.org/api/zlib.html#class-zlibzlibbase */

import { isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { Buffer } from '../buffer/buffer.ts';
import { checkInteger, codeError, invalidArgType } from '../errors.ts';
import stream from '../stream/stream.ts';
import { GuestCodec } from './codec.ts';
import { type FormatName, flushKinds, ZlibFormat } from './formats.ts';
import { type CheckedOptions, checkOptions } from './zlib-options.ts';

type Done = (error?: unknown) => void;

/** The members of Transform that are used here. */
interface TransformMembers {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  push(chunk: unknown): boolean;
  write(chunk: unknown, callback?: Done): boolean;
  once(event: string, listener: () => void): unknown;
  destroy(error?: unknown): unknown;
  emit(event: string, ...args: unknown[]): boolean;
}
const Transform = stream.Transform as unknown as new (options?: unknown) => TransformMembers; // a function of old style

/** Chunks without bytes that stand for a flush, by the chunk. */
const flushes = new WeakMap<object, number>();

export class ZlibBase extends Transform {
  readonly #format: ZlibFormat;
  readonly #options: CheckedOptions;
  #codec: GuestCodec;
  #writtenBefore = 0;
  #outputBytes = 0;

  constructor(format: ZlibFormat, options: unknown) {
    const checked = checkOptions(format, options);
    const codec = new GuestCodec(format, checked);
    super({ autoDestroy: true, ...Object(options), objectMode: false, encoding: null });
    this.#format = format;
    this.#options = checked;
    this.#codec = codec;
  }

  get bytesWritten(): number {
    this.#writtenBefore = this.#codec.bytesWritten ?? this.#writtenBefore;
    return this.#writtenBefore;
  }

  get _closed(): boolean {
    return this.#codec.isClosed;
  }

  flush(kind?: unknown, callback?: Done): void {
    const [given, done] =
      typeof kind === 'function' || kind === undefined
        ? [undefined, (kind as Done | undefined) ?? callback]
        : [kind, callback];
    if (given !== undefined) checkInteger(given, 'kind', 0, 6);
    if (this.writableFinished) {
      if (done !== undefined) queueMicrotask(done);
      return;
    }
    if (this.writableEnded) {
      if (done !== undefined) this.once('end', done);
      return;
    }
    const marker = Buffer.alloc(0);
    flushes.set(marker, (given as number | undefined) ?? flushKinds(this.#format).full); // as checked
    this.write(marker, done);
  }

  /** Ends the stream without its output. */
  close(callback?: Done): void {
    if (callback !== undefined) {
      if (this.destroyed) queueMicrotask(callback);
      else this.once('close', callback);
    }
    this.destroy();
  }

  reset(): void {
    if (this.#codec.isClosed) throw codeError(Error, 'ERR_INTERNAL_ASSERTION', 'zlib binding closed');
    this.#codec.reset();
  }

  params(level: unknown, strategy: unknown, callback?: Done): void {
    checkInteger(level, 'level', -1, 9);
    checkInteger(strategy, 'strategy', 0, 4);
    this.flush(2, () => {
      this.#codec.params(level, strategy).then(
        () => callback?.(null),
        error => callback?.(error),
      );
    });
  }

  _transform(chunk: unknown, _encoding: unknown, callback: Done): void {
    if (!isBufferSource(chunk)) {
      callback(invalidArgType('chunk', ['string', 'Buffer', 'TypedArray', 'DataView'], chunk));
      return;
    }
    this.#process(viewOf(chunk), flushes.get(chunk) ?? this.#options.flush, false, callback);
  }

  _flush(callback: Done): void {
    this.#process(new Uint8Array(0), 0, true, callback);
  }

  _final(callback: Done): void {
    callback();
  }

  _destroy(error: unknown, callback: Done): void {
    this.#writtenBefore = this.#codec.bytesWritten ?? this.#writtenBefore;
    this.#codec.close();
    callback(error);
  }

  #process(bytes: Uint8Array, flush: number, isLast: boolean, callback: Done): void {
    const work = this.#codec.write(bytes, flush, isLast, piece => {
      this.#outputBytes += piece.byteLength;
      if (this.#outputBytes > this.#options.maxOutputLength) throw tooLarge(this.#options.maxOutputLength);
      this.push(piece);
    });
    work.then(
      () => queueMicrotask(() => callback()),
      error => queueMicrotask(() => callback(error)),
    );
  }
}

export function tooLarge(maxOutputLength: number): RangeError {
  return codeError(RangeError, 'ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${maxOutputLength} bytes`);
}

type StreamClass = new (options?: unknown) => ZlibBase;

function streamClass(name: FormatName): StreamClass {
  const classes = {
    [name]: class extends ZlibBase {
      constructor(options?: unknown) {
        super(ZlibFormat[name], options);
      }
    },
  };
  return classes[name] as StreamClass; // defined above
}

export const streamClasses = {
  Deflate: streamClass('Deflate'),
  Inflate: streamClass('Inflate'),
  Gzip: streamClass('Gzip'),
  Gunzip: streamClass('Gunzip'),
  DeflateRaw: streamClass('DeflateRaw'),
  InflateRaw: streamClass('InflateRaw'),
  Unzip: streamClass('Unzip'),
  BrotliCompress: streamClass('BrotliCompress'),
  BrotliDecompress: streamClass('BrotliDecompress'),
  ZstdCompress: streamClass('ZstdCompress'),
  ZstdDecompress: streamClass('ZstdDecompress'),
} satisfies Record<FormatName, StreamClass>;
