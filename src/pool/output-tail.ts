/**
 * The last bytes that a process has printed (rule R21): all that is kept of it, however much it prints. The end and not the beginning,
 * since what the engine says when it dies comes last, and a function could have filled the room long before.
 */
export class OutputTail {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes <= this.#maxBytes) return;
    // A copy, so that a few bytes do not pin what they were read into.
    const tail = Buffer.from(Buffer.concat(this.#pieces).subarray(-this.#maxBytes));
    this.#pieces = [tail];
    this.#bytes = tail.length;
  }
}
