import { EdgeError } from '../../quotas/errors.js';
import type { BlobReader, BlobStore, BlobWriter } from './blob-store.js';

/** The blobs of a storage in memory. `limitBytes` takes the place of the size of the disk. */
export class MemoryBlobStore implements BlobStore {
  readonly #limitBytes: number;
  readonly #blobs = new Map<string, Buffer>();
  #usedBytes = 0;
  #count = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  async create(): Promise<BlobWriter> {
    const id = `f${this.#count++}`;
    const chunks: Uint8Array[] = [];
    let size = 0;
    const release = () => {
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
        this.#blobs.set(id, Buffer.concat(chunks));
        chunks.length = 0;
      },
      done: () => {},
      abandon: async () => {
        this.#blobs.delete(id);
        release();
      },
    };
  }

  async open(id: string, size: number): Promise<BlobReader> {
    const blob = this.#blobs.get(id);
    if (blob?.byteLength !== size) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read a stored value: it is missing');
    }
    return {
      read: async (position, length) => new Uint8Array(blob.subarray(position, position + length)),
      close: async () => {},
    };
  }

  async remove(id: string): Promise<void> {
    const blob = this.#blobs.get(id);
    if (blob === undefined) return;
    this.#blobs.delete(id);
    this.#usedBytes -= blob.byteLength;
  }
}
