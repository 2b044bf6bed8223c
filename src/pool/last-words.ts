/**
 * What a cell prints to its standard error (rule R21): the end of it is kept, for the engine says last what it dies of, and reading it costs
 * next to nothing, however much is printed.
 */
import type { Readable } from 'node:stream';
import { OutputTail } from './output-tail.js';

/** What is kept. */
const MAX_KEPT_BYTES = 16 * 1024;
/** So much is read at once; then the pipe is left alone for a while. */
const READ_BYTES = 64 * 1024;
/**
 * A megabyte a second, while an engine at the edge of its stack prints 33. Who prints more waits for the pipe. It is not left alone for
 * good: an engine that is about to abort would wait with its last words indefinitely, and the cell would hang in place of ending.
 */
const REST_MS = 50;
/** After the end of the process, what is still in the pipe, which its size bounds: 208 KiB unless the cell has asked for more. */
const MAX_REST_BYTES = 1024 * 1024;

export class LastWords {
  readonly #stream: Readable;
  readonly #tail = new OutputTail(MAX_KEPT_BYTES);
  readonly #restMs: number;
  #leftBytes = READ_BYTES;
  #bytes = 0;
  #isLast = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param restMs how long the stream is left alone after 64 KiB. @default 50 */
  constructor(stream: Readable, restMs = REST_MS) {
    this.#stream = stream;
    this.#restMs = restMs;
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('close', () => clearTimeout(this.#timer));
  }

  /** What was read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** As it was printed: see {@link printable}. */
  get text(): string {
    return this.#tail.text;
  }

  /** The process has ended: the rest is read at once. The stream closes when that is done. */
  readRest(): void {
    this.#isLast = true;
    this.#leftBytes = MAX_REST_BYTES;
    clearTimeout(this.#timer);
    this.#stream.resume();
  }

  #read(chunk: Buffer): void {
    this.#tail.push(chunk);
    this.#bytes += chunk.length;
    this.#leftBytes -= chunk.length;
    if (this.#leftBytes > 0) return;
    if (this.#isLast) {
      this.#stream.destroy();
      return;
    }
    this.#stream.pause();
    this.#timer = setTimeout(() => {
      this.#leftBytes = READ_BYTES;
      this.#stream.resume();
    }, this.#restMs).unref();
  }
}
