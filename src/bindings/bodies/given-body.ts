/**
 * A body that the application gets as a stream. Its source is cancelled when the stream has been collected, since nobody can read it any more. So nothing
 * here may keep the stream alive: the stream refers to this, and this to the stream by weak references alone, but while a chunk is awaited.
 */
import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';

/** Where the chunks come from. It must not refer to the stream. */
export interface GivenBodySource {
  /** The next chunk, when the reader asks for one; undefined at the end. Rejects with the error that the reader gets. */
  next(): Promise<Uint8Array | undefined>;
  /** No more is read. */
  cancel(): void;
}

type Controller = Pick<ReadableStreamDefaultController<Uint8Array>, 'enqueue' | 'close' | 'error'> & {
  readonly byobRequest?: { respond(bytes: number): void } | null;
};

export class GivenBody {
  /** Names the owner of the body in messages. */
  readonly of: string;
  readonly #source: GivenBodySource;
  readonly #onOver: (body: GivenBody) => void;
  #stream: WeakRef<ReadableStream<Uint8Array>> | undefined;
  #controller: WeakRef<Controller> | undefined;
  #isAwaited = false;
  #readMs: number;
  #isOver = false;

  /** @param onOver called once, when no more of it will be read */
  constructor(of: string, source: GivenBodySource, onOver: (body: GivenBody) => void, nowMs: number) {
    this.of = of;
    this.#source = source;
    this.#onOver = onOver;
    this.#readMs = nowMs;
  }

  /** To be called once. @param isBytes a stream of bytes: it takes the memory of chunks from all else that has it */
  open(isBytes: boolean): ReadableStream<Uint8Array> {
    const common = {
      start: (controller: Controller) => {
        this.#controller = new WeakRef(controller);
      },
      pull: (controller: Controller) => this.#pull(controller),
      cancel: () => this.cancel(),
    };
    const queue = { highWaterMark: 0 };
    const stream = isBytes
      ? new ReadableStream({ ...common, type: 'bytes' }, queue)
      : new ReadableStream<Uint8Array>(common, queue);
    this.#stream = new WeakRef(stream);
    return stream;
  }

  /** A reader has it, be it one that is slow to take more. */
  get hasReader(): boolean {
    return this.#stream?.deref()?.locked === true;
  }

  /** How long nobody has asked for more; 0 while the reader waits for a chunk. */
  unreadMs(nowMs: number): number {
    return this.#isAwaited ? 0 : nowMs - this.#readMs;
  }

  /** The reader gets the error. The source is not told: it has failed. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#over();
    this.#controller?.deref()?.error(error);
  }

  /** The stream was cancelled or collected, or is cancelled with an error that a late reader gets. */
  cancel(error?: Error): void {
    if (this.#isOver) return;
    if (error === undefined) this.#over();
    else this.fail(error);
    this.#source.cancel();
  }

  async #pull(controller: Controller): Promise<void> {
    this.#isAwaited = true;
    try {
      const chunk = await this.#source.next();
      if (this.#isOver) return;
      if (chunk !== undefined) {
        controller.enqueue(chunk);
        return;
      }
      this.#over();
      controller.close();
      // A reader that brought its own buffer waits for an answer.
      controller.byobRequest?.respond(0);
    } catch (error) {
      this.#over();
      throw error;
    } finally {
      this.#isAwaited = false;
      this.#readMs = performance.now();
    }
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver(this);
  }
}
