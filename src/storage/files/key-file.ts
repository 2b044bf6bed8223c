/** A random key in a file of the storage directory, beside the databases: a copy of a database alone does not reveal the values encrypted in it. */
import { randomBytes } from 'node:crypto';
import { chmod, open, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../../quotas/errors.js';
import { PRIVATE_FILE_MODE } from './private-directory.js';
import { storageError } from './storage-error.js';
import { syncDirectory } from './sync-directory.js';

export const KEY_BYTES = 32;

/** Where a key is kept. */
export interface KeyStore {
  /** The file, for messages; undefined for a key in memory. */
  readonly path: string | undefined;
  /** 'damaged': the file holds no key. */
  read(): Promise<Uint8Array | 'missing' | 'damaged'>;
  /** A new key, on disk when it resolves. Never replaces a key; replaces a damaged file. */
  create(): Promise<Uint8Array>;
}

/** The key, which is created where it is missing. Callers at the same time get the same one. */
export async function keyOf(store: KeyStore): Promise<Uint8Array> {
  const found = await store.read();
  if (found instanceof Uint8Array) return found;
  try {
    return await store.create();
  } catch (error) {
    // Another caller has created it since.
    const created = await store.read();
    if (created instanceof Uint8Array) return created;
    throw error;
  }
}

/** The key as 64 hexadecimal digits in a line. */
export function keyFile(path: string): KeyStore {
  const read: KeyStore['read'] = async () => {
    let text: string;
    try {
      text = await readFile(path, 'latin1');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return 'missing';
      throw storageError('read the key of the secrets', error);
    }
    if (!/^[0-9a-f]{64}\n?$/i.test(text)) return 'damaged';
    // A file from a backup may have other modes. Where they cannot be changed, the private directory protects it.
    await chmod(path, PRIVATE_FILE_MODE).catch(() => {});
    return new Uint8Array(Buffer.from(text.trim(), 'hex'));
  };
  const create = async (): Promise<Uint8Array> => {
    const key = randomBytes(KEY_BYTES);
    try {
      // A process was killed while it wrote the file, so nothing has been encrypted with that key.
      if ((await read()) === 'damaged') await unlink(path);
      const file = await open(path, 'wx', PRIVATE_FILE_MODE);
      try {
        await file.writeFile(`${key.toString('hex')}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await syncDirectory(dirname(path));
    } catch (error) {
      throw storageError('write the key of the secrets', error);
    }
    return new Uint8Array(key);
  };
  // A file that is being written looks damaged, so callers at the same time share one creation.
  let creating: Promise<Uint8Array> | undefined;
  return {
    path,
    read,
    create() {
      creating ??= create().finally(() => {
        creating = undefined;
      });
      return creating;
    },
  };
}

/** The key of a storage in memory, which is lost with it. */
export function memoryKey(): KeyStore {
  let key: Uint8Array | undefined;
  return {
    path: undefined,
    read: async () => key ?? 'missing',
    async create() {
      key ??= new Uint8Array(randomBytes(KEY_BYTES));
      return key;
    },
  };
}
