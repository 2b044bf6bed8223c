import { randomBytes } from 'node:crypto';
import { open, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { type CallWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { syncQueue, threadQueue } from '../../quotas/host/threads.js';
import type { DiskSpace } from '../files/disk-space.js';
import { type FileBlobId, parseFileBlobId } from '../files/file-blob-id.js';
import { makePrivateDirectory, PRIVATE_FILE_MODE } from '../files/private-directory.js';
import { storageError } from '../files/storage-error.js';
import { syncDirectory } from '../files/sync-directory.js';
import { afterPrefix, type LevelOperation } from '../records/level-database.js';
import { NO_BYTES } from '../records/no-bytes.js';
import { recordKeys } from '../records/record-keys.js';
import type { RecordStore } from '../records/record-store.js';
import type { BlobReader, BlobStore, BlobWriter } from './blob-store.js';
import { FileBlobReader, missingFile } from './file-blob-reader.js';
import { FileBlobWriter } from './file-blob-writer.js';

/** Enough that directories are few, and few enough that one is read at once. */
const FILES_PER_DIRECTORY = 1024;
const DIRECTORY_NAME = /^[a-z0-9]+-\d+$/;

/**
 * Blobs in files, `<directory>/<number>`. Each opening of the storage writes into directories of its own, and notes each in LevelDB before its first file; the
 * note is deleted when the storage is closed in order. So after a crash only the noted directories are searched for files that no record refers to.
 */
export class FileBlobStore implements BlobStore {
  readonly #root: string;
  readonly #records: RecordStore;
  readonly #space: DiskSpace;
  readonly #session = randomBytes(6).toString('hex');
  readonly #notes: string[] = [];
  #count = 0;
  /** Blobs that are being written, or whose record is not committed yet. */
  #unfinished = 0;
  #directory: { readonly name: string; readonly ready: Promise<void> } | undefined;

  constructor(options: { root: string; records: RecordStore; space: DiskSpace }) {
    this.#root = options.root;
    this.#records = options.records;
    this.#space = options.space;
  }

  async create(work: CallWork): Promise<BlobWriter> {
    const number = this.#count++;
    const name = `${this.#session}-${Math.floor(number / FILES_PER_DIRECTORY)}`;
    const file = `${name}/${number % FILES_PER_DIRECTORY}`;
    work.openDescriptor();
    try {
      if (this.#directory?.name !== name) this.#directory = { name, ready: this.#makeDirectory(name) };
      await this.#directory.ready;
      work.charge(HOST_COSTS.newFileMs);
      const handle = await threadQueue.run(work.owner, HOST_COSTS.fileOperationMs, () =>
        open(this.#path(file), 'wx', PRIVATE_FILE_MODE),
      );
      this.#unfinished++;
      return new FileBlobWriter({
        file,
        handle,
        work,
        space: this.#space,
        directoryOnDisk: syncDirectory(join(this.#root, name)),
        remove: () => this.remove(file, work),
        done: () => {
          this.#unfinished--;
        },
      });
    } catch (error) {
      work.closeDescriptor();
      // The directory may have been deleted: the next blob makes a new one.
      if (errorCode(error) !== 'EDGE_OVERLOADED') this.#directory = undefined;
      throw storageError('write a stored value', error);
    }
  }

  async open(id: string, size: number, work: CallWork): Promise<BlobReader> {
    const { file, sum } = parsed(id);
    const path = join(this.#root, file);
    let found: number;
    work.charge(HOST_COSTS.fileOperationMs);
    try {
      found = (await threadQueue.run(work.owner, HOST_COSTS.fileOperationMs, () => stat(path))).size;
    } catch (error) {
      throw errorCode(error) === 'ENOENT' ? missingFile(file, error) : storageError('read a stored value', error);
    }
    if (found === size) return new FileBlobReader({ path, file, size, sum }, work);
    throw new EdgeError(
      'EDGE_STORAGE_CORRUPT',
      `Cannot read a stored value: its file "bodies/${file}" has ${found} bytes, its record says ${size}`,
    );
  }

  async remove(id: string, work: CallWork): Promise<void> {
    try {
      // In the queue of syncs, because freeing a large file takes long and no caller waits for it.
      await syncQueue.run(work.owner, HOST_COSTS.fileOperationMs, () => unlink(this.#path(id)));
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw storageError('remove a stored value', error);
    }
    const directory = id.slice(0, id.indexOf('/'));
    // Removed when it is empty, unless new files go there.
    if (directory !== this.#directory?.name) await rmdir(join(this.#root, directory)).catch(() => {});
  }

  /** Removes the files that were written before a crash and that no record refers to. */
  async collect(): Promise<{ removed: number }> {
    let removed = 0;
    const prefix = recordKeys.shard('');
    const range = { gte: prefix, lt: afterPrefix(prefix) };
    for await (const page of this.#records.keyPages(range)) {
      const done: LevelOperation[] = [];
      for (const key of page) {
        try {
          removed += await this.#collectDirectory(key.slice(prefix.length));
          done.push({ type: 'del', key });
        } catch (error) {
          // Whether a file is used is not known where the record that says so is damaged: all of them stay until the storage is repaired.
          if (errorCode(error) !== 'EDGE_STORAGE_CORRUPT') throw error;
        }
      }
      await this.#records.commit(done);
    }
    return { removed };
  }

  /** The last operations before the database is closed. The notes stay when a blob is still being written. */
  closing(): LevelOperation[] {
    if (this.#unfinished > 0) return [];
    return this.#notes.map(name => ({ type: 'del', key: recordKeys.shard(name) }));
  }

  async #makeDirectory(name: string): Promise<void> {
    await makePrivateDirectory(join(this.#root, name));
    await Promise.all([
      syncDirectory(this.#root),
      this.#records.commit([{ type: 'put', key: recordKeys.shard(name), value: NO_BYTES }]),
    ]);
    this.#notes.push(name);
  }

  async #collectDirectory(name: string): Promise<number> {
    if (!DIRECTORY_NAME.test(name)) return 0;
    const files = await readdir(join(this.#root, name)).catch(error => {
      if (errorCode(error) === 'ENOENT') return [];
      throw storageError('look for files left over by a crash', error);
    });
    const ids = files.filter(file => /^\d+$/.test(file)).map(file => `${name}/${file}`);
    const used = await this.#records.getMany(ids.map(recordKeys.fileBlob));
    let removed = 0;
    for (const [index, id] of ids.entries()) {
      if (used[index] !== undefined) continue;
      await this.remove(id, OWN_WORK);
      removed++;
    }
    await rmdir(join(this.#root, name)).catch(() => {});
    return removed;
  }

  #path(id: string): string {
    return join(this.#root, parsed(id).file);
  }
}

/** A damaged record must not name a file elsewhere. */
function parsed(id: string): FileBlobId {
  const found = parseFileBlobId(id);
  if (found !== undefined) return found;
  throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read a stored value: its record names no file');
}
