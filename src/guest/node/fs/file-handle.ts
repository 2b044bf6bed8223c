/** FileHandle: an open file, which open() of fs/promises answers. @see https://nodejs.org/api/fs.html#class-filehandle */
import type { NodeReadable, NodeWritable } from 'readable-stream-4/lib/stream.js';
import { ReadableStream } from '../../web/streams/streams.ts';
import { Buffer } from '../buffer/buffer.ts';
import type { Emitter } from '../events/emitter.ts';
import { EventEmitter } from '../events/events.ts';
import readline from '../readline/readline.ts';
import { callable } from './functions.ts';
import { ReadStream, WriteStream } from './streams.ts';

/** The members of instances alone. */
const Events: new () => Emitter = EventEmitter;
const CHUNK_BYTES = 65_536;
const asyncDispose: symbol =
  (Symbol as { readonly asyncDispose?: symbol }).asyncDispose ?? Symbol('Symbol.asyncDispose'); // absent in ES2023

export class FileHandle extends Events {
  #fd: number;

  constructor(fd: number) {
    super();
    this.#fd = fd;
  }

  /** -1 when it has been closed. */
  get fd(): number {
    return this.#fd;
  }

  async close(): Promise<void> {
    if (this.#fd < 0) return;
    const fd = this.#fd;
    this.#fd = -1;
    callable.close(fd);
    this.emit('close');
  }

  async read(buffer?: unknown, offset?: unknown, length?: unknown, position?: unknown): Promise<object> {
    let [target, ...rest] = [buffer, offset, length, position];
    if (!ArrayBuffer.isView(target)) {
      const options: { readonly buffer?: unknown } = { ...(target as object | undefined) }; // the spread of anything else is empty
      target = options.buffer ?? Buffer.alloc(16_384);
      rest = [options, undefined, undefined];
    }
    return { bytesRead: callable.read(this.#open('read'), target, ...rest), buffer: target };
  }

  async readv(buffers: unknown, position?: unknown): Promise<object> {
    return { bytesRead: callable.readv(this.#open('readv'), buffers, position), buffers };
  }

  async write(data: unknown, offset?: unknown, length?: unknown, position?: unknown): Promise<object> {
    return { bytesWritten: callable.write(this.#open('write'), data, offset, length, position), buffer: data };
  }

  async writev(buffers: unknown, position?: unknown): Promise<object> {
    return { bytesWritten: callable.writev(this.#open('writev'), buffers, position), buffers };
  }

  async readFile(options?: unknown): Promise<unknown> {
    return callable.readFile(this.#open('read'), options);
  }

  async writeFile(data: unknown, options?: unknown): Promise<void> {
    callable.writeFile(this.#open('write'), data, options);
  }

  async appendFile(data: unknown, options?: unknown): Promise<void> {
    callable.appendFile(this.#open('write'), data, options);
  }

  async stat(options?: unknown): Promise<unknown> {
    return callable.fstat(this.#open('fstat'), options);
  }

  async truncate(length?: unknown): Promise<void> {
    callable.ftruncate(this.#open('ftruncate'), length);
  }

  async sync(): Promise<void> {
    callable.fsync(this.#open('fsync'));
  }

  async datasync(): Promise<void> {
    callable.fdatasync(this.#open('fdatasync'));
  }

  async chmod(mode: unknown): Promise<void> {
    callable.fchmod(this.#open('fchmod'), mode);
  }

  async chown(uid: unknown, gid: unknown): Promise<void> {
    callable.fchown(this.#open('fchown'), uid, gid);
  }

  async utimes(atime: unknown, mtime: unknown): Promise<void> {
    callable.futimes(this.#open('futime'), atime, mtime);
  }

  createReadStream(options?: object): NodeReadable {
    return new ReadStream(undefined, { ...options, fd: this });
  }

  createWriteStream(options?: object): NodeWritable {
    return new WriteStream(undefined, { ...options, fd: this });
  }

  readLines(options?: object): unknown {
    return readline.createInterface({ input: this.createReadStream(options), crlfDelay: Number.POSITIVE_INFINITY });
  }

  readableWebStream(): ReadableStream {
    return new ReadableStream({
      pull: async controller => {
        const bytes = new Uint8Array(CHUNK_BYTES);
        const count = Number(callable.read(this.#open('read'), bytes));
        if (count === 0) controller.close();
        else controller.enqueue(bytes.subarray(0, count));
      },
    });
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(syscall: string): number {
    if (this.#fd >= 0) return this.#fd;
    throw Object.assign(new Error('file closed'), { code: 'EBADF', syscall });
  }
}
