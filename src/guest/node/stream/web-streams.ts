/** toWeb() and fromWeb(): a stream of Node as one of the web, and the other way round. @see https://nodejs.org/api/stream.html#streamreadabletowebstreamreadable-options */
import stream, { type NodeReadable, type NodeStream, type NodeWritable } from 'readable-stream-4/lib/stream.js';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { CountQueuingStrategy, isReadableStream, ReadableStream, WritableStream } from '../../web/streams/streams.ts';
import { Buffer } from '../buffer/buffer.ts';
import { abortError, checkObject, invalidArgType } from '../errors.ts';

type Done = (error?: unknown) => void;

interface ReadableOptions {
  readonly highWaterMark?: number;
  readonly encoding?: string;
  readonly objectMode?: boolean;
  readonly signal?: object;
}

interface WritableOptions extends ReadableOptions {
  readonly decodeStrings?: boolean;
}

interface Pair {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

function noop(): void {}

/** Calls back once with the error that ended the stream. It is an AbortError when the stream ended early without one. */
function onFinished(node: NodeStream, options: object, callback: (error: unknown) => void): void {
  const stop = stream.finished(node, options, error => {
    stop();
    // An error that comes later has no one to tell.
    node.on('error', noop);
    const isEarly = (error as { code?: unknown } | undefined)?.code === 'ERR_STREAM_PREMATURE_CLOSE'; // errors are read as unknown
    callback(isEarly ? abortError(error) : error);
  });
}

export function webOfReadable(readable: NodeReadable, options: { readonly strategy?: object } = {}): ReadableStream {
  if (typeof readable?.on !== 'function' || typeof readable.read !== 'function') {
    throw invalidArgType('streamReadable', 'stream.Readable', readable);
  }
  if (stream.isDestroyed(readable) || !stream.isReadable(readable)) {
    const empty = new ReadableStream();
    void empty.cancel();
    return empty;
  }
  const isObjects = readable.readableObjectMode;
  const highWaterMark = readable.readableHighWaterMark;
  const strategy = options.strategy ?? (isObjects ? new CountQueuingStrategy({ highWaterMark }) : { highWaterMark });
  return new ReadableStream(
    {
      start(controller) {
        let isOver = false;
        readable.pause();
        onFinished(readable, { writable: false }, error => {
          if (isOver) return;
          isOver = true;
          if (error) controller.error(error);
          else controller.close();
        });
        readable.on('data', (chunk: unknown) => {
          if (isOver) return;
          controller.enqueue(Buffer.isBuffer(chunk) && !isObjects ? new Uint8Array(chunk) : chunk);
          if ((controller.desiredSize ?? 0) <= 0) readable.pause();
        });
      },
      pull() {
        readable.resume();
      },
      cancel(reason) {
        stream.destroy(readable, reason);
      },
    },
    strategy,
  );
}

export function readableOfWeb(source: unknown, options: ReadableOptions = {}): NodeReadable {
  if (!isReadableStream(source)) throw invalidArgType('readableStream', 'ReadableStream', source);
  checkObject(options, 'options');
  const reader = source.getReader();
  let isClosed = false;
  const { highWaterMark, encoding, objectMode = false, signal } = options;
  const readable: NodeReadable = new stream.Readable({
    objectMode,
    highWaterMark,
    encoding,
    signal,
    read() {
      reader.read().then(
        ({ done, value }) => readable.push(done ? null : value),
        error => stream.destroy(readable, error),
      );
    },
    destroy(error: unknown, callback: Done) {
      if (isClosed) {
        callback(error);
        return;
      }
      const tell = (): void => queueMicrotask(() => callback(error));
      reader.cancel(error).then(tell, tell);
    },
  });
  reader.closed.then(
    () => {
      isClosed = true;
    },
    error => {
      isClosed = true;
      stream.destroy(readable, error);
    },
  );
  return readable;
}

export function webOfWritable(writable: NodeWritable): WritableStream {
  if (typeof writable?.write !== 'function' || typeof writable.on !== 'function') {
    throw invalidArgType('streamWritable', 'stream.Writable', writable);
  }
  if (stream.isDestroyed(writable) || !stream.isWritable(writable)) {
    const closed = new WritableStream();
    void closed.close();
    return closed;
  }
  const isObjects = writable.writableObjectMode;
  const highWaterMark = writable.writableHighWaterMark;
  let drained: { readonly resolve: () => void; readonly reject: Done } | undefined;
  let closing: { readonly resolve: () => void; readonly reject: Done } | undefined;
  return new WritableStream(
    {
      start(controller) {
        onFinished(writable, { readable: false }, error => {
          if (error) {
            drained?.reject(error);
            closing?.reject(error);
            controller.error(error);
          } else if (closing !== undefined) closing.resolve();
          else controller.error(abortError());
          drained = undefined;
          closing = undefined;
        });
        writable.on('drain', () => {
          drained?.resolve();
          drained = undefined;
        });
      },
      write(chunk) {
        if (!writable.writableNeedDrain && writable.write(chunk)) return undefined;
        if (writable.writableNeedDrain || !writable.destroyed) {
          return new Promise<void>((resolve, reject) => {
            drained = { resolve, reject };
          });
        }
        return undefined;
      },
      abort(reason) {
        stream.destroy(writable, reason);
      },
      close() {
        if (writable.writableFinished) return undefined;
        const closed = new Promise<void>((resolve, reject) => {
          closing = { resolve, reject };
        });
        if (!writable.writableEnded) writable.end();
        return closed;
      },
    },
    isObjects ? new CountQueuingStrategy({ highWaterMark }) : { highWaterMark },
  );
}

export function writableOfWeb(target: unknown, options: WritableOptions = {}): NodeWritable {
  if (!(target instanceof WritableStream)) throw invalidArgType('writableStream', 'WritableStream', target);
  checkObject(options, 'options');
  const writer = target.getWriter();
  let isClosed = false;
  const { highWaterMark, decodeStrings = true, objectMode = false, signal } = options;
  const bytesOf = (chunk: unknown, encoding: unknown): unknown => {
    if (typeof chunk !== 'string' || !decodeStrings || objectMode) return chunk;
    return new Uint8Array(Buffer.from(chunk, encoding));
  };
  const writable: NodeWritable = new stream.Writable({
    highWaterMark,
    objectMode,
    decodeStrings,
    signal,
    write(chunk: unknown, encoding: unknown, callback: Done) {
      const write = writer.ready.then(() => writer.write(bytesOf(chunk, encoding)));
      settle(write, callback);
    },
    destroy(error: unknown, callback: Done) {
      if (isClosed) {
        callback(error);
        return;
      }
      const tell = (): void => queueMicrotask(() => callback(error));
      (error ? writer.abort(error) : writer.close()).then(tell, tell);
    },
    final(callback: Done) {
      if (isClosed) callback();
      else settle(writer.close(), callback);
    },
  });
  writer.closed.then(
    () => {
      isClosed = true;
      if (!writable.writableEnded) stream.destroy(writable, prematureClose());
    },
    error => {
      isClosed = true;
      stream.destroy(writable, error);
    },
  );
  return writable;
}

/** Calls back outside of the promise: an error of the callback is no rejection. */
function settle(work: Promise<unknown>, callback: Done): void {
  work.then(
    () => queueMicrotask(() => callback()),
    error => queueMicrotask(() => callback(error)),
  );
}

function prematureClose(): Error {
  return Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
}

export function webOfDuplex(duplex: NodeReadable & NodeWritable): Pair {
  if (typeof duplex?.write !== 'function' || typeof duplex.read !== 'function') {
    throw invalidArgType('duplex', 'stream.Duplex', duplex);
  }
  return { readable: webOfReadable(duplex), writable: webOfWritable(duplex) };
}

export function duplexOfWeb(pair: Partial<Pair> = {}, options: WritableOptions = {}): NodeReadable & NodeWritable {
  checkObject(pair, 'pair');
  const readable = readableOfWeb(pair.readable, options);
  const writable = writableOfWeb(pair.writable, options);
  const { highWaterMark, decodeStrings = true, encoding, objectMode = false, signal } = options;
  const duplex = new stream.Duplex({
    highWaterMark,
    encoding,
    objectMode,
    decodeStrings,
    signal,
    read() {
      readable.resume();
    },
    write(chunk: unknown, chunkEncoding: unknown, callback: Done) {
      writable.write(chunk, chunkEncoding, callback);
    },
    final(callback: Done) {
      writable.end(callback);
    },
    destroy(error: unknown, callback: Done) {
      stream.destroy(readable, error);
      stream.destroy(writable, error);
      callback(error);
    },
  });
  readable.on('data', (chunk: unknown) => {
    if (!duplex.push(chunk)) readable.pause();
  });
  readable.once('end', () => duplex.push(null));
  for (const half of [readable, writable]) half.on('error', (error: unknown) => stream.destroy(duplex, error));
  return duplex;
}
