/**
 * How much is recorded of one request: console output, exceptions, request metadata and headers together (specification: Limits, rule 12). Text beyond the
 * limit is not recorded, which is noted once.
 */
import { cutText } from '../../../quotas/cut-text.js';

export class LogBudget {
  readonly #logBytes: number;
  #usedBytes = 0;
  #isTruncated = false;

  /** @param logBytes the limit of that name; `Infinity` for none */
  constructor(logBytes: number) {
    this.#logBytes = logBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Whether something was not recorded. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /**
   * The part of a text that is to be recorded: all of it; its beginning, when it is the one that passes the limit; and null for everything after that. Bytes
   * are counted in UTF-8, and no character is cut in two. An empty text counts as one byte, or their number would be unlimited.
   */
  admit(text: string): string | null {
    if (this.#isTruncated) return null;
    const left = this.#logBytes - this.#usedBytes;
    const bytes = Math.max(1, Buffer.byteLength(text));
    if (bytes <= left) {
      this.#usedBytes += bytes;
      return text;
    }
    this.#isTruncated = true;
    const part = cut(text, left);
    this.#usedBytes += Buffer.byteLength(part);
    return part === '' ? null : part;
  }
}

/** The longest beginning of a text that has at most `bytes` bytes in UTF-8. */
function cut(text: string, bytes: number): string {
  // encodeInto() stops before the first character that does not fit.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return cutText(text, read);
}
