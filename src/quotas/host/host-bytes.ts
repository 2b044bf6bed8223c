/**
 * The bytes that the host holds because of its accounts: partial frames, heads, arguments of calls that wait, bodies on their way, output that was
 * not written yet. They are counted by what they really take, to the account that caused them, over all of its connections.
 */
import { guarded } from '../guarded.js';

export interface HostBytesOptions {
  /** The bound for all accounts together, on the JavaScript heap. */
  readonly heapBytes: number;
  /** The bound for all accounts together, in buffers outside of the heap. */
  readonly bufferBytes: number;
}

/** An account that stays over its budget for this long, with its connections unread, holds bytes that cannot fall. */
const STUCK_AFTER_MS = 1500;
/**
 * From this part of the budget on nothing more is read. The rest is for bytes that the account has released and V8 has not collected yet: with hoards of many
 * kinds the process was 15 to 34 MB larger than the count (Node 20.20).
 */
const FULL = 0.75;
/** From this part of the budget on no new work is accepted: open work can still grow until it is full. */
const PRESSURE = 0.5;
/** From this part of the budget on windows stay small, so that it takes many readers that do not read to fill it. */
const CROWDED = 0.25;

/** The bytes that all accounts of one host hold together. */
export class HostBytes {
  readonly #heapLimit: number;
  readonly #bufferLimit: number;
  heapBytes = 0;
  bufferBytes = 0;
  /** The number of accounts that hold bytes. Once the common part is used up, each may hold an equal share of it. */
  holders = 0;
  readonly full = new Set<AccountBytes>();

  constructor(options: HostBytesOptions) {
    this.#heapLimit = options.heapBytes;
    this.#bufferLimit = options.bufferBytes;
  }

  /** Whether an account that holds `held` bytes holds too many for the moment. */
  isTooMuch(held: number): boolean {
    if (this.heapBytes >= this.#heapLimit && held > this.#heapLimit / this.holders) return true;
    return this.bufferBytes >= this.#bufferLimit && held > this.#bufferLimit / this.holders;
  }

  /** Bytes were released: others that waited for the common part may continue. */
  fell(): void {
    for (const account of this.full) account.check();
  }
}

/** The bytes of one account. */
export class AccountBytes {
  readonly #all: HostBytes;
  readonly #limit: number;
  readonly #onChange: (isFull: boolean) => void;
  readonly #onStuck: (heldBytes: number) => void;
  readonly #stuckAfterMs: number;
  #held = 0;
  /** The least that was held since the budget was used up: the bytes of active work fall, hoarded bytes do not. */
  #least = 0;
  #isFull = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param onChange the budget is used up, or is not any more
   * @param onStuck it has been used up for `stuckAfterMs`, and the held bytes do not fall
   */
  constructor(
    all: HostBytes,
    limitBytes: number,
    onChange: (isFull: boolean) => void,
    onStuck: (heldBytes: number) => void,
    stuckAfterMs: number = STUCK_AFTER_MS,
  ) {
    this.#all = all;
    this.#limit = limitBytes;
    this.#onChange = onChange;
    this.#onStuck = onStuck;
    this.#stuckAfterMs = stuckAfterMs;
  }

  get held(): number {
    return this.#held;
  }

  get limit(): number {
    return this.#limit;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** New work should be refused: the remaining room is for open work. */
  get isUnderPressure(): boolean {
    return this.#held >= this.#limit * PRESSURE;
  }

  get isUnderMemoryPressure(): boolean {
    return this.#held >= this.#limit * CROWDED;
  }

  /** Counts bytes in buffers; a negative number gives them back. */
  countBuffers(bytes: number): void {
    this.#all.bufferBytes += bytes;
    this.#count(bytes);
  }

  /** Counts bytes of strings and objects on the heap; a negative number gives them back. */
  countHeap(bytes: number): void {
    this.#all.heapBytes += bytes;
    this.#count(bytes);
  }

  /** Looks again whether there is too much. */
  check(): void {
    const isFull = this.#held >= this.#limit * FULL || this.#all.isTooMuch(this.#held);
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    if (isFull) {
      this.#all.full.add(this);
      this.#watch();
    } else {
      this.#all.full.delete(this);
      clearTimeout(this.#timer);
    }
    this.#onChange(isFull);
  }

  /** Stops watching the account. */
  close(): void {
    clearTimeout(this.#timer);
    this.#all.full.delete(this);
  }

  #count(bytes: number): void {
    if (bytes === 0) return;
    const before = this.#held;
    this.#held += bytes;
    if (before === 0) this.#all.holders++;
    else if (this.#held === 0) this.#all.holders--;
    if (this.#held < this.#least) this.#least = this.#held;
    if (bytes > 0 ? this.#held >= this.#limit * FULL || this.#all.full.size > 0 : this.#isFull) this.check();
    else if (bytes > 0 && this.#all.isTooMuch(this.#held)) this.check();
    if (bytes < 0 && this.#all.full.size > 0) this.#all.fell();
  }

  /** As long as the value falls, the bytes are being read, however slowly. */
  #watch(): void {
    this.#least = this.#held;
    const before = this.#held;
    this.#timer = setTimeout(
      guarded(() => {
        if (!this.#isFull) return;
        if (this.#least < before) this.#watch();
        else this.#onStuck(this.#held);
      }),
      this.#stuckAfterMs,
    ).unref();
  }
}
