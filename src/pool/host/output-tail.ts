/**
 * The last bytes that a process has printed (rule R21). The end is kept and not the beginning, since the engine prints the cause of its death last,
 * and a function could fill any buffer before.
 */
export class OutputTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#maxBytes) return;
    // A copy, so that a few bytes do not keep the whole read buffer alive.
    const tail = Buffer.from(Buffer.concat(this.#chunks).subarray(-this.#maxBytes));
    this.#chunks = [tail];
    this.#bytes = tail.length;
  }
}
