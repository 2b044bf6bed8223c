/** Streams. A body is a stream of `Uint8Array`. */

type QueuingStrategySize<T = any> = (chunk: T) => number;

interface QueuingStrategy<T = any> {
  highWaterMark?: number;
  size?: QueuingStrategySize<T>;
}

interface QueuingStrategyInit {
  highWaterMark: number;
}

interface CountQueuingStrategy {
  readonly highWaterMark: number;
  readonly size: QueuingStrategySize;
}
declare var CountQueuingStrategy: {
  prototype: CountQueuingStrategy;
  new (init: QueuingStrategyInit): CountQueuingStrategy;
};

interface ByteLengthQueuingStrategy {
  readonly highWaterMark: number;
  readonly size: QueuingStrategySize<ArrayBufferView>;
}
declare var ByteLengthQueuingStrategy: {
  prototype: ByteLengthQueuingStrategy;
  new (init: QueuingStrategyInit): ByteLengthQueuingStrategy;
};

// Readable.

interface UnderlyingDefaultSource<R = any> {
  type?: undefined;
  start?: (controller: ReadableStreamDefaultController<R>) => unknown;
  pull?: (controller: ReadableStreamDefaultController<R>) => void | PromiseLike<void>;
  cancel?: (reason?: any) => void | PromiseLike<void>;
}

interface UnderlyingByteSource {
  type: 'bytes';
  autoAllocateChunkSize?: number;
  start?: (controller: ReadableByteStreamController) => unknown;
  pull?: (controller: ReadableByteStreamController) => void | PromiseLike<void>;
  cancel?: (reason?: any) => void | PromiseLike<void>;
}

type ReadableStreamController<T> = ReadableStreamDefaultController<T> | ReadableByteStreamController;

interface UnderlyingSource<R = any> {
  type?: 'bytes';
  autoAllocateChunkSize?: number;
  start?: (controller: ReadableStreamController<R>) => unknown;
  pull?: (controller: ReadableStreamController<R>) => void | PromiseLike<void>;
  cancel?: (reason?: any) => void | PromiseLike<void>;
}

interface ReadableStreamReadValueResult<T> {
  done: false;
  value: T;
}

interface ReadableStreamReadDoneResult<T> {
  done: true;
  value: T | undefined;
}

type ReadableStreamReadResult<T> = ReadableStreamReadValueResult<T> | ReadableStreamReadDoneResult<T>;

interface ReadableStreamGenericReader {
  readonly closed: Promise<void>;
  cancel(reason?: unknown): Promise<void>;
}

interface ReadableStreamDefaultReader<R = any> extends ReadableStreamGenericReader {
  read(): Promise<ReadableStreamReadResult<R>>;
  releaseLock(): void;
}
declare var ReadableStreamDefaultReader: {
  prototype: ReadableStreamDefaultReader;
  new <R = any>(stream: ReadableStream<R>): ReadableStreamDefaultReader<R>;
};

interface ReadableStreamBYOBReaderReadOptions {
  min?: number;
}

interface ReadableStreamBYOBReader extends ReadableStreamGenericReader {
  read<T extends ArrayBufferView>(
    view: T,
    options?: ReadableStreamBYOBReaderReadOptions,
  ): Promise<ReadableStreamReadResult<T>>;
  /** The standard has `read(view, { min })`. Here the last bytes come with `done: false`, and the next read has `done: true`. */
  readAtLeast<T extends ArrayBufferView>(min: number, view: T): Promise<ReadableStreamReadResult<T>>;
  releaseLock(): void;
}
declare var ReadableStreamBYOBReader: {
  prototype: ReadableStreamBYOBReader;
  new (stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader;
};

type ReadableStreamReader<T> = ReadableStreamDefaultReader<T> | ReadableStreamBYOBReader;

interface ReadableStreamDefaultController<R = any> {
  readonly desiredSize: number | null;
  close(): void;
  enqueue(chunk?: R): void;
  error(reason?: unknown): void;
}
declare var ReadableStreamDefaultController: { prototype: ReadableStreamDefaultController };

interface ReadableByteStreamController {
  readonly byobRequest: ReadableStreamBYOBRequest | null;
  readonly desiredSize: number | null;
  close(): void;
  enqueue(chunk: ArrayBufferView): void;
  error(reason?: unknown): void;
}
declare var ReadableByteStreamController: { prototype: ReadableByteStreamController };

interface ReadableStreamBYOBRequest {
  readonly view: Uint8Array<ArrayBuffer> | null;
  respond(bytesWritten: number): void;
  respondWithNewView(view: ArrayBufferView): void;
}
declare var ReadableStreamBYOBRequest: { prototype: ReadableStreamBYOBRequest };

interface ReadableWritablePair<R = any, W = any> {
  readable: ReadableStream<R>;
  writable: WritableStream<W>;
}

interface StreamPipeOptions {
  preventAbort?: boolean;
  preventCancel?: boolean;
  preventClose?: boolean;
  signal?: AbortSignal;
}

interface ReadableStreamIteratorOptions {
  preventCancel?: boolean;
}

interface ReadableStream<R = any> {
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(options: { mode: 'byob' }): ReadableStreamBYOBReader;
  getReader(options?: { mode?: undefined }): ReadableStreamDefaultReader<R>;
  pipeThrough<T>(transform: ReadableWritablePair<T, R>, options?: StreamPipeOptions): ReadableStream<T>;
  pipeTo(destination: WritableStream<R>, options?: StreamPipeOptions): Promise<void>;
  tee(): [ReadableStream<R>, ReadableStream<R>];
  values(options?: ReadableStreamIteratorOptions): AsyncIterableIterator<R>;
  [Symbol.asyncIterator](options?: ReadableStreamIteratorOptions): AsyncIterableIterator<R>;
}
declare var ReadableStream: {
  prototype: ReadableStream;
  new (source: UnderlyingByteSource, strategy?: { highWaterMark?: number }): ReadableStream<Uint8Array<ArrayBuffer>>;
  new <R = any>(source: UnderlyingDefaultSource<R>, strategy?: QueuingStrategy<R>): ReadableStream<R>;
  new <R = any>(source?: UnderlyingSource<R>, strategy?: QueuingStrategy<R>): ReadableStream<R>;
  from<R>(iterable: AsyncIterable<R> | Iterable<R | PromiseLike<R>>): ReadableStream<R>;
};

// Writable.

interface UnderlyingSink<W = any> {
  type?: undefined;
  start?: (controller: WritableStreamDefaultController) => unknown;
  write?: (chunk: W, controller: WritableStreamDefaultController) => void | PromiseLike<void>;
  close?: () => void | PromiseLike<void>;
  abort?: (reason?: any) => void | PromiseLike<void>;
}

interface WritableStream<W = any> {
  readonly locked: boolean;
  abort(reason?: unknown): Promise<void>;
  close(): Promise<void>;
  getWriter(): WritableStreamDefaultWriter<W>;
}
declare var WritableStream: {
  prototype: WritableStream;
  new <W = any>(sink?: UnderlyingSink<W>, strategy?: QueuingStrategy<W>): WritableStream<W>;
};

interface WritableStreamDefaultWriter<W = any> {
  readonly closed: Promise<void>;
  readonly desiredSize: number | null;
  readonly ready: Promise<void>;
  abort(reason?: unknown): Promise<void>;
  close(): Promise<void>;
  releaseLock(): void;
  write(chunk?: W): Promise<void>;
}
declare var WritableStreamDefaultWriter: {
  prototype: WritableStreamDefaultWriter;
  new <W = any>(stream: WritableStream<W>): WritableStreamDefaultWriter<W>;
};

interface WritableStreamDefaultController {
  readonly signal: AbortSignal;
  error(reason?: unknown): void;
}
declare var WritableStreamDefaultController: { prototype: WritableStreamDefaultController };

// From one to the other.

interface Transformer<I = any, O = any> {
  readableType?: undefined;
  writableType?: undefined;
  start?: (controller: TransformStreamDefaultController<O>) => unknown;
  transform?: (chunk: I, controller: TransformStreamDefaultController<O>) => void | PromiseLike<void>;
  flush?: (controller: TransformStreamDefaultController<O>) => void | PromiseLike<void>;
  cancel?: (reason?: any) => void | PromiseLike<void>;
}

interface TransformStream<I = any, O = any> {
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;
}
declare var TransformStream: {
  prototype: TransformStream;
  new <I = any, O = any>(
    transformer?: Transformer<I, O>,
    writableStrategy?: QueuingStrategy<I>,
    readableStrategy?: QueuingStrategy<O>,
  ): TransformStream<I, O>;
};

interface TransformStreamDefaultController<O = any> {
  readonly desiredSize: number | null;
  enqueue(chunk?: O): void;
  error(reason?: unknown): void;
  terminate(): void;
}
declare var TransformStreamDefaultController: { prototype: TransformStreamDefaultController };

/** Bytes in, the same bytes out. */
interface IdentityTransformStream {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<BufferSource>;
}
declare var IdentityTransformStream: {
  prototype: IdentityTransformStream;
  new (strategy?: { highWaterMark?: number }): IdentityTransformStream;
};

/** Exactly the given number of bytes in and out; fewer or more are an error. As a body, it is sent with its length. */
interface FixedLengthStream {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<BufferSource>;
}
declare var FixedLengthStream: {
  prototype: FixedLengthStream;
  new (expectedLength: number | bigint, strategy?: { highWaterMark?: number }): FixedLengthStream;
};

type CompressionFormat = 'brotli' | 'deflate' | 'deflate-raw' | 'gzip';

interface CompressionStream {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<BufferSource>;
}
declare var CompressionStream: { prototype: CompressionStream; new (format: CompressionFormat): CompressionStream };

interface DecompressionStream {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<BufferSource>;
}
declare var DecompressionStream: {
  prototype: DecompressionStream;
  new (format: CompressionFormat): DecompressionStream;
};
