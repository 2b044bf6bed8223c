/** Holds up the writes of a storage in this process whose values have the mark, until the test lets them through or fails them. */
import { EdgeError } from '../../../src/quotas/errors.js';
import { RecordStore } from '../../../src/storage/records/record-store.js';

export const MARK = 'HELD-BY-THE-VALVE';

interface HeldCommit {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Valve {
  #held: HeldCommit[] = [];
  #arrived: (() => void)[] = [];
  #isOpen = true;

  constructor() {
    const { commit } = RecordStore.prototype;
    const hold = (): Promise<void> => this.#hold();
    const isHeld = (): boolean => !this.#isOpen;
    RecordStore.prototype.commit = async function (operations, work) {
      const isMarked = operations.some(each => each.type === 'put' && Buffer.from(each.value).includes(MARK));
      if (isMarked && isHeld()) await hold();
      return commit.call(this, operations, work);
    };
  }

  /** Writes wait from now on. */
  close(): void {
    this.#isOpen = false;
  }

  /** Resolves when a write waits. */
  async arrival(): Promise<void> {
    if (this.#held.length === 0) await new Promise<void>(resolve => this.#arrived.push(resolve));
  }

  release(): void {
    this.#isOpen = true;
    for (const { resolve } of this.#held.splice(0)) resolve();
  }

  /** Lets the first write that waits through, and no other. */
  releaseFirst(): void {
    this.#held.shift()?.resolve();
  }

  fail(): void {
    this.#isOpen = true;
    for (const { reject } of this.#held.splice(0)) reject(new EdgeError('EDGE_STORAGE_FULL', 'No space is left'));
  }

  #hold(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#held.push({ resolve, reject });
      for (const arrived of this.#arrived.splice(0)) arrived();
    });
  }
}
