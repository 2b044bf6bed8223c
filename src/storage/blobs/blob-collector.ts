import { type CallWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { afterPrefix, type LevelOperation } from '../records/level-database.js';
import { recordKeys } from '../records/record-keys.js';
import type { RecordStore } from '../records/record-store.js';
import { type BlobRef, decodeBlobList } from './blob-ref.js';
import type { BlobStore } from './blob-store.js';

interface Pin {
  readers: number;
  pendingDelete: { readonly blob: BlobRef; readonly work: CallWork } | undefined;
}

/**
 * Frees the space of blobs that were deleted or replaced, as soon as no reader has them pinned. The commit that drops the last reference to a blob
 * writes a tombstone for it, so that a removal that a crash interrupts is repeated at the next opening.
 */
export class BlobCollector {
  readonly #records: RecordStore;
  readonly #blobs: BlobStore;
  readonly #pins = new Map<string, Pin>();
  readonly #running = new Set<Promise<void>>();

  constructor(records: RecordStore, blobs: BlobStore) {
    this.#records = records;
    this.#blobs = blobs;
  }

  /** Keeps the blob while it is read. Every call needs its `unpin`. */
  pin(id: string): void {
    const pin = this.#pins.get(id);
    if (pin === undefined) this.#pins.set(id, { readers: 1, pendingDelete: undefined });
    else pin.readers++;
  }

  unpin(id: string): void {
    const pin = this.#pins.get(id);
    if (pin === undefined || --pin.readers > 0) return;
    this.#pins.delete(id);
    if (pin.pendingDelete !== undefined) this.#startRemoval(pin.pendingDelete.blob, pin.pendingDelete.work);
  }

  /** To be part of the commit that drops the last reference to the blob; `afterCommit` follows. */
  tombstoneOp(blob: BlobRef): LevelOperation {
    // A record is read as a whole, so no reader can be in the middle of it when it is deleted.
    if (blob.kind === 'inline') return { type: 'del', key: recordKeys.inlineBlob(blob.id) };
    return { type: 'put', key: recordKeys.tombstone(blob.id), value: TOMBSTONE[blob.kind] };
  }

  /** To be called when the commit with the tombstone has succeeded. */
  afterCommit(blob: BlobRef, work: CallWork): void {
    if (blob.kind === 'inline') return;
    const pin = this.#pins.get(blob.id);
    if (pin === undefined) this.#startRemoval(blob, work);
    else pin.pendingDelete = { blob, work };
  }

  /**
   * Resolves the state of a blob file whose commit failed. LevelDB may still find the record in its log when it is opened again; when it
   * does not, the file is removed. `done` is called in both cases.
   */
  resolveUncertain(id: string, done: () => void): void {
    this.#records.onRecovered(() => {
      this.#track(
        this.#records.get(recordKeys.fileBlob(id)).then(async used => {
          if (used === undefined) await this.#blobs.remove(id, OWN_WORK);
          done();
        }),
      );
    });
  }

  /** Removes the blobs whose tombstones a crash, or a reader at the time of closing, left behind. */
  async collect(): Promise<void> {
    const prefix = recordKeys.tombstone('');
    const range = { gte: prefix, lt: afterPrefix(prefix) };
    for await (const page of this.#records.pages(range, undefined, this.#records.passingOver)) {
      for (const [key, value] of page) {
        const id = key.slice(prefix.length);
        await this.#remove({ kind: value[0] === TOMBSTONE.list[0] ? 'list' : 'file', id }, OWN_WORK);
      }
    }
  }

  /** Resolves when no removal is in flight. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #startRemoval(blob: BlobRef, work: CallWork): void {
    this.#track(this.#remove(blob, work));
  }

  /** The tombstone of a removal that fails stays, so the next opening repeats it. */
  #track(removal: Promise<void>): void {
    const task = removal.catch(() => {}).finally(() => this.#running.delete(task));
    this.#running.add(task);
  }

  async #remove(blob: BlobRef, work: CallWork): Promise<void> {
    const done: LevelOperation[] = [];
    if (blob.kind === 'file') await this.#removeFile(blob.id, done, work);
    else if (blob.kind === 'list') {
      const list = await this.#records.get(recordKeys.blobList(blob.id), work);
      for (const segment of list === undefined ? [] : decodeBlobList(list)) {
        if (segment.kind === 'file') await this.#removeFile(segment.id, done, work);
        else done.push({ type: 'del', key: recordKeys.inlineBlob(segment.id) });
      }
      done.push({ type: 'del', key: recordKeys.blobList(blob.id) });
    }
    done.push({ type: 'del', key: recordKeys.tombstone(blob.id) });
    this.#records.enqueueDeferred(done);
  }

  async #removeFile(id: string, done: LevelOperation[], work: CallWork): Promise<void> {
    await this.#blobs.remove(id, work);
    done.push({ type: 'del', key: recordKeys.fileBlob(id) });
  }
}

const TOMBSTONE = { file: new Uint8Array([102]), list: new Uint8Array([108]) } as const;
