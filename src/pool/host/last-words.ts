/**
 * The standard error of a cell (rule R21): only its end is kept, since the engine prints the cause of its death last. Reading it costs next to
 * nothing, no matter how much is printed.
 */
import type { Readable } from 'node:stream';
import { guarded } from '../../quotas/guarded.js';
import { OutputTail } from './output-tail.js';

const MAX_KEPT_BYTES = 16 * 1024;
/** Read at once; then the pipe is not read for a while. */
const READ_BYTES = 64 * 1024;
/**
 * A megabyte a second, while an engine at the edge of its stack prints 33. Whatever prints more waits for the pipe. Reading never stops for good:
 * an engine that is about to abort would wait with its last message indefinitely, and the cell would hang instead of ending.
 */
const REST_MS = 50;
/** Read after the end of the process. The pipe holds at most 208 KiB, unless the cell has enlarged it. */
const MAX_REST_BYTES = 1024 * 1024;

export class CellLastWords {
  readonly #stream: Readable;
  readonly #tail = new OutputTail(MAX_KEPT_BYTES);
  readonly #restMs: number;
  #leftBytes = READ_BYTES;
  #bytes = 0;
  #isLast = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param restMs how long the stream is not read after 64 KiB. @default 50 */
  constructor(stream: Readable, restMs = REST_MS) {
    this.#stream = stream;
    this.#restMs = restMs;
    stream.on(
      'data',
      guarded((chunk: Buffer) => this.#read(chunk)),
    );
    stream.on('close', () => clearTimeout(this.#timer));
  }

  /** Bytes read so far. */
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
