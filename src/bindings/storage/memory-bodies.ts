import { EdgeError } from '../../quotas/errors.js';
import type { Bodies, BodyReader, BodyWriter } from './bodies.js';

/** Bodies of a storage in memory. `limitBytes` stands for the size of the disk. */
export class MemoryBodies implements Bodies {
  readonly #limitBytes: number;
  readonly #bodies = new Map<string, Buffer>();
  #usedBytes = 0;
  #count = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  async create(): Promise<BodyWriter> {
    const id = `f${this.#count++}`;
    const chunks: Uint8Array[] = [];
    let size = 0;
    const giveBack = () => {
      this.#usedBytes -= size;
      size = 0;
      chunks.length = 0;
    };
    return {
      id,
      write: chunk => {
        if (this.#usedBytes + chunk.byteLength > this.#limitBytes) {
          throw new EdgeError(
            'EDGE_STORAGE_FULL',
            `Cannot keep ${chunk.byteLength} more bytes in memory: ${this.#usedBytes} of memoryLimitBytes ${this.#limitBytes} are in use`,
          );
        }
        size += chunk.byteLength;
        this.#usedBytes += chunk.byteLength;
        chunks.push(chunk);
        return undefined;
      },
      finish: async () => {
        this.#bodies.set(id, Buffer.concat(chunks));
        chunks.length = 0;
      },
      settle: () => {},
      abandon: async () => {
        this.#bodies.delete(id);
        giveBack();
      },
    };
  }

  async open(id: string, size: number): Promise<BodyReader> {
    const body = this.#bodies.get(id);
    if (body?.byteLength !== size) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read the body of an object: it is missing');
    }
    return {
      read: async (position, length) => new Uint8Array(body.subarray(position, position + length)),
      close: async () => {},
    };
  }

  async remove(id: string): Promise<void> {
    const body = this.#bodies.get(id);
    if (body === undefined) return;
    this.#bodies.delete(id);
    this.#usedBytes -= body.byteLength;
  }
}
