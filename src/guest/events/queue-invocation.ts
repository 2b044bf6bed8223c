/** The invocation of a batch of messages: it is answered when its handler is done and what waitUntil was given, a rejection of which fails it. */
import { answerOther, fail } from './answers.ts';
import { GuestInvocation } from './invocation.ts';
import { batchOutcome, closeBatch, type MessageBatch, sayRetries } from './queue.ts';

export class QueueInvocation extends GuestInvocation {
  readonly #batch: MessageBatch;
  readonly #waitsForHeld: boolean;
  /** The rejection of the first promise of waitUntil that rejected. */
  #heldFailure: { readonly error: unknown } | undefined = undefined;
  #isHandled = false;

  /** @param waitsForHeld the batch is done when promises of waitUntil have settled, too */
  constructor(id: number, batch: MessageBatch, waitsForHeld: boolean) {
    super(id);
    this.#batch = batch;
    this.#waitsForHeld = waitsForHeld;
  }

  override waitFailed(error: unknown): void {
    // The first one of a batch that waits for them is what its handler fails with.
    if (!this.#waitsForHeld || this.#heldFailure !== undefined) super.waitFailed(error);
    else this.#heldFailure = { error };
  }

  override failed(failure: string): void {
    // The host takes no word on a message after the failure.
    sayRetries(this.#batch);
    super.failed(failure);
  }

  /** The handler has returned. */
  handled(): void {
    closeBatch(this.#batch);
    this.#isHandled = true;
    if (!this.#waitsForHeld || !this.isHeld) this.#answer();
  }

  protected override released(): void {
    if (this.#isHandled && this.#waitsForHeld) this.#answer();
  }

  #answer(): void {
    this.#isHandled = false;
    if (this.#waitsForHeld && this.#heldFailure !== undefined)
      fail(this, this.#heldFailure.error, 'EDGE_HANDLER_THREW');
    else answerOther(this, batchOutcome(this.#batch));
  }
}
