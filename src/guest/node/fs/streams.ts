/** Streams of files. @see https://nodejs.org/api/fs.html#fscreatereadstreampath-options */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { Buffer } from '../buffer/buffer.ts';
import { checkFunction, checkInteger, invalidArgType, outOfRange } from '../errors.ts';
import stream from '../stream/stream.ts';
import { notSupported } from '../unsupported.ts';
import { callable } from './functions.ts';
import { type FileOptions, toFlag, toOptions } from './options.ts';
import { toPath } from './paths.ts';

type Done = (error?: unknown) => void;

const CHUNK_BYTES = 65_536;

/** The members of a FileHandle, whose file imports this one. */
interface Handle {
  readonly fd: number;
  close(): Promise<void>;
}

interface FileEnd {
  readonly path: unknown;
  readonly handle: Handle | undefined;
  readonly closes: boolean;
  readonly options: FileOptions;
  fd: number | undefined;
}

function fileEnd(path: unknown, given: unknown): FileEnd {
  const options = toOptions(given);
  if (options.fs !== undefined) throw notSupported('fs', 'the option fs of a stream', 'Leave the option out');
  const closes = toFlag(options.autoClose ?? true, 'options.autoClose');
  const { fd } = options;
  if (fd === undefined || fd === null) return { path: toPath(path), handle: undefined, closes, options, fd: undefined };
  if (typeof fd === 'number') return { path, handle: undefined, closes, options, fd };
  if (typeof fd !== 'object' || !('fd' in fd)) throw invalidArgType('options.fd', ['number', 'FileHandle'], fd);
  const handle = fd as Handle; // its methods are called as Node's
  return { path, handle, closes, options, fd: handle.fd };
}

function closeEnd(end: FileEnd, error: unknown, callback: Done): void {
  const { fd, handle } = end;
  end.fd = undefined;
  if (fd === undefined || !end.closes) {
    callback(error);
    return;
  }
  if (handle !== undefined) {
    const tell = (failure?: unknown): void => queueMicrotask(() => callback(error ?? failure));
    handle.close().then(() => tell(), tell);
    return;
  }
  try {
    callable.close(fd);
    callback(error);
  } catch (failure) {
    callback(error ?? failure);
  }
}

function bound(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null || value === Number.POSITIVE_INFINITY) return undefined;
  checkInteger(value, name, 0);
  return value;
}

function streamOptions(options: FileOptions): object {
  const { highWaterMark = CHUNK_BYTES, encoding, signal, emitClose = true } = options;
  return { highWaterMark, encoding: encoding ?? undefined, signal, emitClose, autoDestroy: true };
}

export class ReadStream extends stream.Readable {
  readonly #end: FileEnd;
  readonly flags: unknown;
  readonly start: number | undefined;
  readonly end: number;
  bytesRead = 0;
  #position: number | undefined;

  constructor(path: unknown, options?: unknown) {
    const end = fileEnd(path, options);
    super(streamOptions(end.options));
    this.#end = end;
    this.flags = end.options.flags ?? 'r';
    this.start = bound(end.options.start, 'start');
    this.end = bound(end.options.end, 'end') ?? Number.POSITIVE_INFINITY;
    if (this.start !== undefined && this.start > this.end) {
      throw outOfRange('start', `<= "end" (here: ${this.end})`, this.start);
    }
    this.#position = this.start;
  }

  get path(): unknown {
    return this.#end.path;
  }

  get fd(): number | null {
    return this.#end.fd ?? null;
  }

  get pending(): boolean {
    return this.#end.fd === undefined;
  }

  get autoClose(): boolean {
    return this.#end.closes;
  }

  _construct(callback: Done): void {
    openEnd(this.#end, this.flags, callback, fd => {
      this.emit('open', fd);
      this.emit('ready');
    });
  }

  _read(size: number): void {
    const left = this.end - (this.#position ?? this.bytesRead) + 1;
    const length = Math.min(size, left);
    if (length <= 0) {
      this.push(null);
      return;
    }
    const bytes = Buffer.alloc(length);
    let count: number;
    try {
      count = Number(callable.read(this.#end.fd, bytes, 0, length, this.#position));
    } catch (error) {
      this.destroy(error);
      return;
    }
    this.bytesRead += count;
    if (this.#position !== undefined) this.#position += count;
    // Not at once, so that pieces stay apart.
    queueMicrotask(() => this.push(count === 0 ? null : bytes.subarray(0, count)));
  }

  _destroy(error: unknown, callback: Done): void {
    closeEnd(this.#end, error, callback);
  }

  close(callback?: Done): void {
    closeStream(this, callback);
  }
}

export class WriteStream extends stream.Writable {
  readonly #end: FileEnd;
  readonly flags: unknown;
  readonly start: number | undefined;
  bytesWritten = 0;
  #position: number | undefined;

  constructor(path: unknown, options?: unknown) {
    const end = fileEnd(path, options);
    const { encoding, ...others } = end.options;
    super({ ...streamOptions(others), decodeStrings: true });
    if (encoding !== undefined && encoding !== null) this.setDefaultEncoding(encoding);
    this.#end = end;
    this.flags = end.options.flags ?? 'w';
    this.start = bound(end.options.start, 'start');
    this.#position = this.start;
  }

  get path(): unknown {
    return this.#end.path;
  }

  get fd(): number | null {
    return this.#end.fd ?? null;
  }

  get pending(): boolean {
    return this.#end.fd === undefined;
  }

  get autoClose(): boolean {
    return this.#end.closes;
  }

  _construct(callback: Done): void {
    openEnd(this.#end, this.flags, callback, fd => {
      this.emit('open', fd);
      this.emit('ready');
    });
  }

  _write(chunk: Uint8Array, _encoding: unknown, callback: Done): void {
    try {
      const count = Number(callable.write(this.#end.fd, chunk, 0, chunk.length, this.#position));
      this.bytesWritten += count;
      if (this.#position !== undefined) this.#position += count;
    } catch (error) {
      callback(error);
      return;
    }
    // Not at once: a writer in a loop would never see that the buffer is full.
    queueMicrotask(callback);
  }

  _destroy(error: unknown, callback: Done): void {
    closeEnd(this.#end, error, callback);
  }

  close(callback?: Done): void {
    if (!this.writableEnded && !this.destroyed) {
      this.once('finish', () => closeStream(this, callback));
      this.end();
    } else closeStream(this, callback);
  }
}

function openEnd(end: FileEnd, flags: unknown, callback: Done, opened: (fd: number) => void): void {
  if (end.fd !== undefined) {
    callback();
    return;
  }
  try {
    end.fd = Number(callable.open(end.path, flags, end.options.mode));
  } catch (error) {
    callback(error);
    return;
  }
  callback();
  opened(end.fd);
}

function closeStream(file: ReadStream | WriteStream, callback: Done | undefined): void {
  if (callback !== undefined) {
    checkFunction(callback, 'cb');
    if (Reflect.get(file, 'closed') === true) queueMicrotask(callback);
    else file.once('close', () => callback());
  }
  file.destroy();
}

export function createReadStream(path: unknown, options?: unknown): ReadStream {
  return new ReadStream(path, options);
}

export function createWriteStream(path: unknown, options?: unknown): WriteStream {
  return new WriteStream(path, options);
}
