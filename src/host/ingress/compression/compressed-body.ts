/** A response body on its way through an encoder: to be written to in place of the response, with the same backpressure. */
import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { guarded } from '../../../quotas/guarded.js';
import { cutOff, isClosed, onClosed } from '../../../quotas/requests/both-protocols.js';
import type { Encoder } from './encoder.js';

/** Between the writer and the encoder. */
const WAITING_BYTES = 64 * 1024;

/** The head has been written; ending it ends the response. An error in it destroys the response. */
export class CompressedBody extends Writable {
  readonly #encoder: Encoder;
  readonly #response: ServerResponse;
  /** The length that the function has declared; undefined when it has not. */
  readonly #declaredBytes: number | undefined;
  #writtenBytes = 0;
  #wake: (() => void) | undefined;

  constructor(encoder: Encoder, response: ServerResponse, declaredBytes: number | undefined) {
    super({ highWaterMark: WAITING_BYTES });
    this.#encoder = encoder;
    this.#response = response;
    this.#declaredBytes = declaredBytes;
    const wake = guarded((): void => this.#wake?.());
    response.on('drain', wake);
    onClosed(response, () => this.destroy());
    this.on(
      'error',
      guarded(error => cutOff(response, error)),
    );
  }

  /** @throws RangeError with the code that a response has for it, when there are more bytes than were declared */
  writeChecked(piece: Buffer): boolean {
    this.#writtenBytes += piece.length;
    if (this.#declaredBytes !== undefined && this.#writtenBytes > this.#declaredBytes) throw mismatch();
    return this.write(piece);
  }

  /** @throws RangeError likewise, when there are fewer */
  endChecked(): void {
    if (this.#declaredBytes !== undefined && this.#writtenBytes !== this.#declaredBytes) throw mismatch();
    this.end();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#write(chunk).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#encoder
      .end()
      .then(pieces => this.#send(pieces))
      .then(() => {
        this.#response.end();
        done();
      }, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#encoder.destroy();
    this.#wake?.();
    done(error);
  }

  async #write(chunk: Buffer): Promise<void> {
    await this.#send(await this.#encoder.write(chunk));
    // The next chunk is mostly there already. When it is not, such as between two events, the client gets all that there is.
    if (this.#isLast(chunk)) await new Promise(resolve => setImmediate(resolve));
    if (this.#isLast(chunk)) await this.#send(await this.#encoder.flush());
  }

  #isLast(chunk: Buffer): boolean {
    return !this.writableEnded && !this.destroyed && this.writableLength === chunk.length;
  }

  async #send(pieces: readonly Buffer[]): Promise<void> {
    for (const piece of pieces) {
      if (this.destroyed || isClosed(this.#response)) return;
      if (this.#response.write(piece)) continue;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }
}

function mismatch(): RangeError {
  return Object.assign(new RangeError('The body has another length than was declared'), {
    code: 'ERR_HTTP_CONTENT_LENGTH_MISMATCH',
  });
}
