/** The body of a response that is kept, on its way to the client. */
import { detached } from '../../../quotas/guarded.js';
import type { AnswerBody } from '../../invocation/response-sink.js';

export class FrontKeptBody implements AnswerBody {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #onData: () => void;
  readonly #onFail: (error: unknown) => void;
  readonly #countRead: (bytes: number) => void;
  #chunk: Buffer | undefined;
  #isPulling = false;
  #state: AnswerBody['incoming'] = 'open';

  /** Nothing is read before `start`. */
  constructor(
    body: AsyncIterable<Uint8Array>,
    onData: () => void,
    onFail: (error: unknown) => void,
    countRead: (bytes: number) => void,
  ) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#onData = onData;
    this.#onFail = onFail;
    this.#countRead = countRead;
  }

  start(): void {
    detached(this.#pull());
  }

  read(maxBytes: number): Buffer | undefined {
    const chunk = this.#chunk;
    if (chunk === undefined) return undefined;
    this.#chunk = chunk.length > maxBytes ? chunk.subarray(maxBytes) : undefined;
    if (this.#chunk === undefined) detached(this.#pull());
    const read = chunk.subarray(0, maxBytes);
    this.#countRead(read.length);
    return read;
  }

  get incoming(): AnswerBody['incoming'] {
    return this.#chunk === undefined ? this.#state : 'open';
  }

  stopReading(): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#chunk = undefined;
    this.#chunks.return?.().catch(() => {});
  }

  async #pull(): Promise<void> {
    if (this.#isPulling || this.#state !== 'open') return;
    this.#isPulling = true;
    try {
      const { done, value } = await this.#chunks.next();
      if (this.#state !== 'open') return;
      if (done === true) this.#state = 'ended';
      else this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    } catch (error) {
      if (this.#state !== 'open') return;
      this.#state = 'failed';
      this.#onFail(error);
      return;
    } finally {
      this.#isPulling = false;
    }
    this.#onData();
  }
}
