import { randomBytes } from 'node:crypto';
import { open, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { type CallWork, OWN_WORK } from '../service.js';
import { syncQueue, threadQueue } from '../threads.js';
import type { Bodies, BodyReader, BodyWriter } from './bodies.js';
import type { DiskSpace } from './disk-space.js';
import { FileBodyReader, missingFile } from './file-body-reader.js';
import { FileBodyWriter } from './file-body-writer.js';
import type { KeyValueStore } from './key-value-store.js';
import { afterPrefix, type LevelOperation } from './level-database.js';
import { makePrivateDirectory, PRIVATE_FILE_MODE } from './private-directory.js';
import { recordKeys } from './record-keys.js';
import { storageError } from './storage-error.js';
import { syncDirectory } from './sync-directory.js';

/** Files to a directory: enough that directories are few, few enough that one is read at once. */
const FILES_PER_DIRECTORY = 1024;
const BODY_ID = /^[a-z0-9]+-\d+\/\d+$/;
const DIRECTORY_NAME = /^[a-z0-9]+-\d+$/;

/**
 * Bodies in files, `<directory>/<number>`. Each opening of the storage writes into directories of its own, and notes
 * each in LevelDB before its first file; the note goes when the storage is closed in order. So after a crash only the
 * directories noted are looked through for files that no object refers to.
 */
export class FileBodies implements Bodies {
  readonly #root: string;
  readonly #records: KeyValueStore;
  readonly #space: DiskSpace;
  readonly #session = randomBytes(6).toString('hex');
  readonly #notes: string[] = [];
  #count = 0;
  /** Bodies that are being written, or whose record is not committed yet. */
  #unsettled = 0;
  #directory: { readonly name: string; readonly ready: Promise<void> } | undefined;

  constructor(options: { root: string; records: KeyValueStore; space: DiskSpace }) {
    this.#root = options.root;
    this.#records = options.records;
    this.#space = options.space;
  }

  async create(work: CallWork): Promise<BodyWriter> {
    const number = this.#count++;
    const name = `${this.#session}-${Math.floor(number / FILES_PER_DIRECTORY)}`;
    const id = `${name}/${number % FILES_PER_DIRECTORY}`;
    work.openDescriptor();
    try {
      if (this.#directory?.name !== name) this.#directory = { name, ready: this.#makeDirectory(name) };
      await this.#directory.ready;
      work.charge(HOST_COSTS.newFileMs);
      const handle = await threadQueue.run(work.owner, HOST_COSTS.fileOperationMs, () =>
        open(this.#path(id), 'wx', PRIVATE_FILE_MODE),
      );
      this.#unsettled++;
      return new FileBodyWriter({
        id,
        handle,
        work,
        space: this.#space,
        directoryOnDisk: syncDirectory(join(this.#root, name)),
        remove: () => this.remove(id, work),
        settle: () => {
          this.#unsettled--;
        },
      });
    } catch (error) {
      work.closeDescriptor();
      // The directory may be gone.
      if (errorCode(error) !== 'EDGE_OVERLOADED') this.#directory = undefined;
      throw storageError('write the body of an object', error);
    }
  }

  async open(id: string, size: number, work: CallWork): Promise<BodyReader> {
    const path = this.#path(id);
    let found: number;
    work.charge(HOST_COSTS.fileOperationMs);
    try {
      found = (await threadQueue.run(work.owner, HOST_COSTS.fileOperationMs, () => stat(path))).size;
    } catch (error) {
      throw errorCode(error) === 'ENOENT' ? missingFile(error) : storageError('read the body of an object', error);
    }
    if (found === size) return new FileBodyReader(path, work);
    throw new EdgeError(
      'EDGE_STORAGE_CORRUPT',
      `Cannot read the body of an object: its file has ${found} bytes, its record says ${size}`,
    );
  }

  async remove(id: string, work: CallWork): Promise<void> {
    try {
      // Nobody waits for it, and freeing a large file takes long.
      await syncQueue.run(work.owner, HOST_COSTS.fileOperationMs, () => unlink(this.#path(id)));
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw storageError('remove the body of an object', error);
    }
    const directory = id.slice(0, id.indexOf('/'));
    // Goes when it is empty; the directory being filled stays.
    if (directory !== this.#directory?.name) await rmdir(join(this.#root, directory)).catch(() => {});
  }

  /** Gives back the space of files that were written before a crash and belong to no object. */
  async collect(): Promise<{ removed: number }> {
    let removed = 0;
    const prefix = recordKeys.shard('');
    for await (const page of this.#records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
      const done: LevelOperation[] = [];
      for (const [key] of page) {
        removed += await this.#collectDirectory(key.slice(prefix.length));
        done.push({ type: 'del', key });
      }
      await this.#records.commit(done);
    }
    return { removed };
  }

  /** The last operations before the database is closed: nothing is left to be collected, unless something is being written still. */
  closing(): LevelOperation[] {
    if (this.#unsettled > 0) return [];
    return this.#notes.map(name => ({ type: 'del', key: recordKeys.shard(name) }));
  }

  async #makeDirectory(name: string): Promise<void> {
    await makePrivateDirectory(join(this.#root, name));
    await Promise.all([
      syncDirectory(this.#root),
      this.#records.commit([{ type: 'put', key: recordKeys.shard(name), value: new Uint8Array(0) }]),
    ]);
    this.#notes.push(name);
  }

  async #collectDirectory(name: string): Promise<number> {
    if (!DIRECTORY_NAME.test(name)) return 0;
    const files = await readdir(join(this.#root, name)).catch(error => {
      if (errorCode(error) === 'ENOENT') return [];
      throw storageError('look for bodies left over by a crash', error);
    });
    const ids = files.filter(file => /^\d+$/.test(file)).map(file => `${name}/${file}`);
    const used = await this.#records.getMany(ids.map(recordKeys.fileBody));
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
    // A damaged record must not name a file elsewhere.
    if (!BODY_ID.test(id))
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read the body of an object: its record is damaged');
    return join(this.#root, id);
  }
}
