/** The parts of a message that has begun to come and is not whole yet, held here for an account. */
import { countAssembly } from './assembly-budget.js';

/** The memory of a part beside its bytes: it may have one. */
const PART_BYTES = 128;

export class MessageParts {
  readonly #owner: object;
  readonly #countBytes: (bytes: number) => void;
  #parts: Buffer[] = [];
  #counted = 0;

  /** @param owner whose messages have a bound together @param countBytes counts bytes that are held for it; a negative number gives them back */
  constructor(owner: object, countBytes: (bytes: number) => void) {
    this.#owner = owner;
    this.#countBytes = countBytes;
  }

  /** Keeps a copy: the part may be a view of more. Counted before; false when the account holds too much, and then nothing has changed. */
  keep(part: Buffer): boolean {
    const counted = part.length + PART_BYTES;
    if (!countAssembly(this.#owner, counted)) return false;
    this.#countBytes(counted);
    this.#counted += counted;
    this.#parts.push(Buffer.from(part));
    return true;
  }

  /** The message, of which this is the last part: a copy. Nothing of it is held here any more. */
  whole(last: Buffer): Buffer {
    const whole = Buffer.concat([...this.#parts, last]);
    this.drop();
    return whole;
  }

  drop(): void {
    this.#parts = [];
    if (this.#counted === 0) return;
    countAssembly(this.#owner, -this.#counted);
    this.#countBytes(-this.#counted);
    this.#counted = 0;
  }
}
