/** The public types of counters. */

export interface CounterClient {
  /** Resolves to the new total. */
  add(by: number): Promise<number>;
  /** Counts the bytes of a body, and resolves to the new total. */
  addBytes(body: string | Uint8Array | ReadableStream<Uint8Array>): Promise<number>;
  /** The numbers from 1 to the total, a line each. */
  lines(): Promise<Uint8Array | ReadableStream<Uint8Array> | null>;
}
