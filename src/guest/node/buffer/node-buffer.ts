/** The type of buffers. */

/** A buffer as the code here sees it; its methods are in the tables below. */
export interface NodeBuffer extends Uint8Array<ArrayBuffer> {
  toString(encoding?: unknown, start?: unknown, end?: unknown): string;
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number;
  fill(value: unknown, offset?: unknown, end?: unknown, encoding?: unknown): this;
  slice(start?: number, end?: number): NodeBuffer;
  subarray(start?: number, end?: number): NodeBuffer;
  equals(other: Uint8Array): boolean;
}
