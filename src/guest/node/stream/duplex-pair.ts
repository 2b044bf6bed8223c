/** duplexPair(): two streams, and each reads the chunks that are written to the other. @see https://nodejs.org/api/stream.html#streamduplexpairoptions */
import stream, { type NodeDuplex } from 'readable-stream-4/lib/stream.js';
import { queueMicrotask } from '../../web/scheduling/microtask.ts';

type Done = (error?: unknown) => void;

class Side extends stream.Duplex {
  #other: Side | undefined;
  /** The write that the other side has not read yet. */
  #waiting: Done | undefined;

  static pair(options: object): [NodeDuplex, NodeDuplex] {
    const one = new Side(options);
    const two = new Side(options);
    one.#other = two;
    two.#other = one;
    return [one, two];
  }

  _read(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }

  _write(chunk: Uint8Array, _encoding: unknown, callback: Done): void {
    if (chunk.length === 0) queueMicrotask(callback);
    else this.#give(chunk, callback);
  }

  _final(callback: Done): void {
    this.#give(null, callback);
  }

  #give(chunk: unknown, callback: Done): void {
    const other = this.#other;
    if (other === undefined) return;
    if (chunk === null) other.once('end', callback);
    else other.#waiting = callback;
    other.push(chunk);
  }
}

export function duplexPair(options: object = {}): [NodeDuplex, NodeDuplex] {
  return Side.pair(options);
}
