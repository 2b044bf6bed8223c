import { cancelQuietly } from '../../bindings/bodies/external-stream.js';
import { PIECE_BYTES } from '../../bindings/bodies/in-pieces.js';
import { detached } from '../../quotas/guarded.js';
import type { BodyCounter } from '../../quotas/requests/request-checks.js';
import type { Invocation } from '../invocation/invocation.js';
import type { RequestBodySource } from '../invocation/response-sink.js';

type BodyCheck = Pick<BodyCounter, 'add' | 'bytes' | 'end'>;

/** Pumps a request's body into the invocation, as fast as the function reads it. */
export class RequestBody implements RequestBodySource {
  readonly #body: ReadableStream<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #invocation: Invocation;
  readonly #counter: BodyCheck;
  readonly #onFail: (error: unknown) => void;
  /** The part of the last chunk that was not sent. The application has made it, so it is not counted to the account. */
  #rest: Uint8Array = new Uint8Array();
  #isReading = false;
  #isFinished = false;

  /** `onFail`: the body is longer than allowed, or cannot be read. */
  constructor(
    body: ReadableStream<Uint8Array>,
    invocation: Invocation,
    counter: BodyCheck,
    onFail: (error: unknown) => void,
  ) {
    this.#body = body;
    this.#reader = body.getReader();
    this.#invocation = invocation;
    this.#counter = counter;
    this.#onFail = onFail;
    this.resume();
  }

  resume(): void {
    if (this.#isReading || this.#isFinished) return;
    this.#isReading = true;
    detached(this.#pump());
  }

  stop(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#rest = new Uint8Array();
    detached(cancelQuietly(this.#body, this.#reader));
  }

  /** Sends a copy of as much as the credit allows, since the caller may use its buffer again. Answers the credit that is left. */
  #sendPiece(room: number): number {
    const piece = new Uint8Array(this.#rest.subarray(0, Math.min(room, PIECE_BYTES)));
    this.#rest = this.#rest.subarray(piece.length);
    return this.#invocation.exchange.write(piece);
  }

  async #pump(): Promise<void> {
    const { exchange } = this.#invocation;
    let room = exchange.credit;
    try {
      while (room > 0 && !this.#isFinished) {
        if (this.#rest.length > 0) {
          room = this.#sendPiece(room);
          continue;
        }
        const { value, done } = await this.#reader.read();
        if (this.#isFinished) return;
        if (done) {
          this.#counter.end();
          this.#isFinished = true;
          exchange.end();
          return;
        }
        if (!(value instanceof Uint8Array)) throw new TypeError('The request body is not a stream of bytes');
        this.#counter.add(value.byteLength);
        this.#invocation.bodyBytes = this.#counter.bytes;
        this.#rest = value;
      }
    } catch (error) {
      this.stop();
      this.#onFail(error);
      this.#invocation.abort();
    } finally {
      this.#isReading = false;
    }
  }
}
