/**
 * A splice joins two bodies of one connection at the end that has both: the rest of one body, the source, is sent as the rest of the other, the target. Their
 * bytes then stay at this end, under the window of the target:
 *
 *     writer -> source --- deliver() ---> target -> reader
 *                 ^                          |
 *                 +------ giveCredit() ------+
 *
 * A reader that reads inside `deliver` gives credit while the source is still sending. The credit counts at once, and the source, which looks at its credit
 * after each chunk, continues by itself: resuming it from there would put a call on the stack for each chunk.
 */
export interface SpliceSource {
  /** `isSending`: the source is inside `deliver` and continues by itself. */
  takeCredit(bytes: number, isSending: boolean): void;
  /** The target takes no more of the body. For a source that is not notified of it by the peer. */
  targetGone?(): void;
}

export interface SpliceTarget {
  receiveSpliced(bytes: Uint8Array): void;
  /** The source has ended. */
  receiveSplicedEnd(): void;
  /** The source will not come to its end. For a target that is not notified of it by the peer. */
  sourceGone?(): void;
}

export class Splice {
  readonly #source: SpliceSource;
  readonly #target: SpliceTarget;
  #state: 'idle' | 'delivering' = 'idle';

  constructor(source: SpliceSource, target: SpliceTarget) {
    this.#source = source;
    this.#target = target;
  }

  deliver(bytes: Uint8Array): void {
    this.#state = 'delivering';
    try {
      this.#target.receiveSpliced(bytes);
    } finally {
      this.#state = 'idle';
    }
  }

  giveCredit(bytes: number): void {
    this.#source.takeCredit(bytes, this.#state === 'delivering');
  }

  sourceGone(): void {
    this.#target.sourceGone?.();
  }

  targetGone(): void {
    this.#source.targetGone?.();
  }

  end(): void {
    this.#target.receiveSplicedEnd();
  }
}
