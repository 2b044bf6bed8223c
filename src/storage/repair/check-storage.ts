/** Reads a whole storage directory that no host has open, and reports damage. It changes nothing. */
import { copyFile, link, mkdir, mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Level } from 'level';
import { EdgeError, errorCode, messageOf } from '../../quotas/errors.js';
import { checksum } from '../files/checksum.js';
import { databasesIn } from '../files/databases-in.js';
import { parseFileBlobRecord } from '../files/file-blob-id.js';
import { keyFile } from '../files/key-file.js';
import { PRIVATE_DIRECTORY_MODE } from '../files/private-directory.js';
import { storageError } from '../files/storage-error.js';
import { checkIsStorage, readState } from '../files/storage-format.js';
import { loadLevel } from '../records/load-level.js';
import { checkNotOpen, openBytes } from '../records/open-level.js';
import { recordKeys } from '../records/record-keys.js';
import { unsealed } from '../records/sealed-record.js';

/** Something that is damaged. */
export interface DamagedPart {
  readonly kind: 'format' | 'database' | 'record' | 'body' | 'key';
  /** The file or the folder in the storage directory. */
  readonly path: string;
  /** The keys of the record, or of the records that need the body. */
  readonly keys: readonly string[];
  readonly message: string;
}

/** The result of a check. */
export interface StorageCheck {
  readonly damaged: readonly DamagedPart[];
  readonly records: number;
  readonly bodies: number;
  /** Records and bodies of earlier releases, which have no checksum: that they are there is all that could be checked. */
  readonly unverified: number;
}

/** How far a check has come. */
export interface CheckProgress {
  readonly records: number;
  readonly bodies: number;
}

const PAGE = 1000;
const CHUNK_BYTES = 2 ** 20;

/** @param onProgress called after each page of records and each body */
export async function checkStorage(
  directory: string,
  onProgress: (progress: CheckProgress) => void = () => {},
): Promise<StorageCheck> {
  await loadLevel();
  await checkIsStorage(directory);
  await checkNotOpen(join(directory, 'level'), directory);
  const scratch = await scratchFolder(directory);
  try {
    return await new Check(directory, scratch, onProgress).run();
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** In the directory, so that tables need not be copied; elsewhere when nothing can be written there. */
async function scratchFolder(directory: string): Promise<string> {
  try {
    return await mkdtemp(join(directory, '.check-'));
  } catch {
    return mkdtemp(join(tmpdir(), 'edgehost-check-'));
  }
}

type Bytes = Level<Buffer, Buffer>;

class Check {
  readonly #directory: string;
  readonly #scratch: string;
  readonly #onProgress: (progress: CheckProgress) => void;
  readonly #damaged: DamagedPart[] = [];
  #records = 0;
  #bodies = 0;
  #unverified = 0;
  #isSealed = true;

  constructor(directory: string, scratch: string, onProgress: (progress: CheckProgress) => void) {
    this.#directory = directory;
    this.#scratch = scratch;
    this.#onProgress = onProgress;
  }

  async run(): Promise<StorageCheck> {
    const state = await readState(this.#directory);
    if (state === undefined) this.#report('format', 'FORMAT', [], 'it does not describe a storage');
    else this.#isSealed = state.isSealed;
    if ((await keyFile(join(this.#directory, 'secrets.key')).read()) === 'damaged') {
      this.#report('key', 'secrets.key', [], 'it holds no key; restore it from a backup');
    }
    for (const name of await databasesIn(this.#directory)) await this.#checkDatabase(name);
    const [damaged, records, bodies, unverified] = [this.#damaged, this.#records, this.#bodies, this.#unverified];
    return { damaged, records, bodies, unverified };
  }

  #report(kind: DamagedPart['kind'], path: string, keys: readonly string[], message: string): void {
    this.#damaged.push({ kind, path, keys, message });
  }

  /** LevelDB writes when it opens, so it opens a copy. */
  async #checkDatabase(name: string): Promise<void> {
    const copy = join(this.#scratch, name);
    await copyDatabase(join(this.#directory, name), copy);
    let database: Bytes;
    try {
      database = await openBytes(copy, this.#directory);
    } catch (error) {
      if (errorCode(error) !== 'EDGE_STORAGE_CORRUPT') throw error;
      this.#report('database', name, [], `it cannot be opened: ${reasonOf(error)}`);
      return;
    }
    try {
      const files = await this.#checkRecords(database, name);
      if (name === 'level') await this.#checkBodies(database, files);
    } finally {
      await database.close();
      await rm(copy, { recursive: true, force: true });
    }
  }

  /** The records of blob files, by file. */
  async #checkRecords(database: Bytes, name: string): Promise<Map<string, Buffer>> {
    const files = new Map<string, Buffer>();
    const prefix = recordKeys.fileBlob('');
    const iterator = database.iterator();
    try {
      for (;;) {
        const entries = await iterator.nextv(PAGE);
        if (entries.length === 0) break;
        // An iterator does not use the filters of the tables, so each key is looked up, too.
        const found = await database.getMany(entries.map(([key]) => key)).catch(() => []);
        for (const [index, [key, record]] of entries.entries()) {
          this.#records++;
          const value = this.#isSealed ? unsealed(key, record) : record;
          if (!this.#isSealed) this.#unverified++;
          const text = key.toString();
          if (value === undefined) this.#report('record', name, [text], 'its checksum does not match');
          else if (found[index]?.equals(record) !== true) {
            this.#report('record', name, [text], 'it is there, but it is not found by its key');
          } else if (name === 'level' && text.startsWith(prefix)) files.set(text.slice(prefix.length), value);
        }
        this.#progress();
      }
    } catch (error) {
      this.#report('database', name, [], `parts of it cannot be read: ${reasonOf(error)}`);
    } finally {
      await iterator.close().catch(() => {});
    }
    return files;
  }

  async #checkBodies(database: Bytes, files: ReadonlyMap<string, Buffer>): Promise<void> {
    const wrong = new Map<string, string>();
    for (const [file, record] of files) {
      this.#bodies++;
      const expected = parseFileBlobRecord(record);
      if (expected === undefined) this.#unverified++;
      const why = await whyDamaged(join(this.#directory, 'bodies', file), expected);
      if (why !== undefined) wrong.set(file, why);
      this.#progress();
    }
    if (wrong.size === 0) return;
    const keys = await keysNaming(database, [...wrong.keys()]);
    for (const [file, why] of wrong) this.#report('body', `bodies/${file}`, keys.get(file) ?? [], why);
  }

  #progress(): void {
    this.#onProgress({ records: this.#records, bodies: this.#bodies });
  }
}

/** Tables never change, so a link to one is as good as a copy. */
async function copyDatabase(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: PRIVATE_DIRECTORY_MODE });
  try {
    for (const entry of await readdir(from, { withFileTypes: true })) {
      if (!entry.isFile() || NOT_DATA.test(entry.name)) continue;
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (TABLE.test(entry.name)) await link(source, target).catch(() => copyFile(source, target));
      else await copyFile(source, target);
    }
  } catch (error) {
    throw storageError(`copy the database "${from}", which is opened as a copy`, error);
  }
}

const NOT_DATA = /^LO(?:CK|G|G\.old)$/;
const TABLE = /\.(?:ldb|sst)$/;

async function whyDamaged(
  path: string,
  expected: { readonly size: number; readonly sum: number } | undefined,
): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    if (expected === undefined) return undefined;
    if (size !== expected.size) return `it has ${size} bytes, its record says ${expected.size}`;
    return (await sumOf(path)) === expected.sum ? undefined : 'its checksum does not match';
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? 'it is missing' : `it cannot be read: ${reasonOf(error)}`;
  }
}

async function sumOf(path: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let sum = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      if (bytesRead === 0) return sum;
      sum = checksum(buffer.subarray(0, bytesRead), sum);
    }
  } finally {
    await file.close();
  }
}

/** By file: the keys of records that refer to it. A list of parts stands for the record that refers to the list. */
async function keysNaming(database: Bytes, names: readonly string[]): Promise<Map<string, string[]>> {
  const own = [recordKeys.fileBlob(''), recordKeys.tombstone('')];
  const lists = recordKeys.blobList('');
  const found = new Map<string, string[]>();
  const wanted = names.map(name => ({ name, bytes: Buffer.from(name) }));
  for await (const [key, value] of database.iterator()) {
    const text = key.toString();
    if (own.some(prefix => text.startsWith(prefix))) continue;
    for (const { name, bytes } of wanted)
      if (value.includes(bytes)) found.set(name, [...(found.get(name) ?? []), text]);
  }
  const ids = [...found.values()]
    .flat()
    .filter(key => key.startsWith(lists))
    .map(key => key.slice(lists.length));
  if (ids.length === 0) return found;
  const whole = await keysNaming(database, ids);
  for (const [name, keys] of found) {
    found.set(
      name,
      keys.flatMap(key => (key.startsWith(lists) ? (whole.get(key.slice(lists.length)) ?? [key]) : [key])),
    );
  }
  return found;
}

function reasonOf(error: unknown): string {
  const at = error instanceof EdgeError && error.cause instanceof Error ? error.cause : error;
  return messageOf(at);
}
