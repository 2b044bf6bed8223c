/** A transform stream of bytes whose readable end is a byte stream, so that its chunks can be read into buffers of the reader. */
import { PromiseCtor, TypeErrorCtor, typedArrayLength } from '../../primordials.ts';
import { copyOf, isBufferSource, viewOf } from '../base/buffers.ts';
import { type ByteTarget, createFedStream } from './byte-streams.ts';
import type { Transform } from './transform.ts';
import { createWritable } from './writable.ts';

/**
 * @param expected how many bytes have to be written; undefined: any number
 * @param highWaterMark bytes that `desiredSize` of the writable end begins with; undefined: it counts chunks, and begins with one
 */
export function createBytesTransform(expected: number | undefined, highWaterMark: number | undefined): Transform {
  const pipe = new BytePipe(expected);
  const readable = createFedStream({
    start: target => {
      pipe.target = target;
    },
    pull: () => pipe.demand(),
    cancel: reason => pipe.cancel(reason),
  });
  const writable = createWritable(
    {
      watch: onFail => {
        pipe.failWritable = onFail;
      },
      write: chunk => pipe.write(chunk),
      close: () => pipe.close(),
      abort: reason => pipe.target?.error(reason),
    },
    highWaterMark ?? 1,
    highWaterMark === undefined ? () => 1 : sizeOf,
  );
  return { readable, writable };
}

/** A chunk that is not bytes has no size, and writing it fails. */
function sizeOf(chunk: unknown): number {
  return isBufferSource(chunk) ? typedArrayLength(viewOf(chunk)) : 0;
}

class BytePipe {
  readonly #expected: number | undefined;
  #total = 0;
  /** A reader waits for bytes. */
  #isWanted = false;
  /** The reader has cancelled. */
  #cancelled: { readonly reason: unknown } | undefined;
  /** Resumes the write that waits for a reader. */
  #onWanted: (() => void) | undefined;
  /** Says that the reader may ask again. */
  #onFed: (() => void) | undefined;
  target: ByteTarget | undefined;
  failWritable: ((reason: unknown) => void) | undefined;

  constructor(expected: number | undefined) {
    this.#expected = expected;
  }

  demand(): Promise<void> {
    this.#isWanted = true;
    this.#onWanted?.();
    return new PromiseCtor(resolve => {
      this.#onFed = resolve;
    });
  }

  async write(chunk: unknown): Promise<void> {
    const bytes = this.#checked(chunk);
    if (typedArrayLength(bytes) === 0) return;
    if (!this.#isWanted) {
      await new PromiseCtor<void>(resolve => {
        this.#onWanted = resolve;
      });
      this.#onWanted = undefined;
    }
    if (this.#cancelled !== undefined) throw this.#cancelled.reason;
    this.#isWanted = false;
    this.target?.enqueue(bytes);
    this.#onFed?.();
  }

  close(): void {
    const total = this.#total;
    if (this.#expected !== undefined && total < this.#expected) throw this.#failed(this.#wrongLength(total));
    this.target?.close();
    this.#onFed?.();
  }

  cancel(reason: unknown): void {
    this.#cancelled = { reason };
    this.failWritable?.(reason);
    this.#onWanted?.();
  }

  #checked(chunk: unknown): Uint8Array {
    if (!isBufferSource(chunk)) {
      throw this.#failed(new TypeErrorCtor('A chunk of the stream is neither an ArrayBuffer nor a view of one'));
    }
    const bytes = copyOf(chunk);
    this.#total += typedArrayLength(bytes);
    if (this.#expected !== undefined && this.#total > this.#expected) {
      throw this.#failed(this.#wrongLength(this.#total));
    }
    return bytes;
  }

  #wrongLength(total: number): TypeError {
    return new TypeErrorCtor(`FixedLengthStream: ${total} bytes were written, ${this.#expected} are expected`);
  }

  /** Both ends fail with the same error. */
  #failed(error: TypeError): TypeError {
    this.target?.error(error);
    return error;
  }
}
