/** Storage with values of every kind, and ways to damage it. */
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeHost, type EdgeHostOptions } from '../../../src/index.js';

/** On both sides of the bounds between a record of a key, one for the value alone, a file, and several chunks of it. */
export const SIZES = [1, 100, 2048, 2049, 65_536, 65_537, 300_000] as const;

/** Bytes that do not compress, so that each byte of a table is one of a value. */
export function bytesOf(name: string, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at * 64 < size; at++) parts.push(createHash('sha512').update(`${name}/${at}`).digest());
  return Buffer.concat(parts).subarray(0, size);
}

/** Every value that {@link fill} writes, by name. `parts`: one value of two uploaded parts. */
export const NAMES = ['files', 'kv'].flatMap(kind => SIZES.map(size => `${kind}/${size}`)).concat('files/parts');

const PART = 5 * 2 ** 20;

export function contentOf(name: string): Buffer {
  if (name === 'files/parts') return Buffer.concat([bytesOf('first', PART), bytesOf('second', 1000)]);
  return bytesOf(name, Number(name.split('/')[1]));
}

export async function fill(directory: string, options: EdgeHostOptions = {}): Promise<void> {
  const host = new EdgeHost({ ...options, storage: directory });
  const account = host.account('acme');
  for (const name of NAMES) {
    if (name === 'files/parts') continue;
    if (name.startsWith('files/')) await account.bucket('files').put(name, contentOf(name));
    else await account.kv('kv').put(name, contentOf(name));
  }
  const upload = await account.bucket('files').createMultipartUpload('files/parts');
  await upload.complete([
    await upload.uploadPart(1, bytesOf('first', PART)),
    await upload.uploadPart(2, bytesOf('second', 1000)),
  ]);
  await host.management().issueToken({ name: 'token', account: 'acme', permissions: ['buckets:read'] });
  await host.close();
  // What was in the log is in a table now.
  const again = new EdgeHost({ ...options, storage: directory });
  await again.account('acme').kv('kv').get('kv/1');
  await again.management().issueToken({ name: 'other', account: 'acme', permissions: [] });
  await again.close();
}

export interface Readings {
  readonly right: string[];
  /** With other bytes than were written. */
  readonly wrong: string[];
  readonly missing: string[];
  readonly errors: Map<string, Error>;
}

function bufferOf(value: unknown): ArrayBuffer {
  return value instanceof ArrayBuffer ? value : new ArrayBuffer(0);
}

/** Reads every value. Rejects when the host cannot be opened. */
export async function readAll(directory: string, options: EdgeHostOptions = {}): Promise<Readings> {
  const host = new EdgeHost({ ...options, storage: directory });
  const read: Readings = { right: [], wrong: [], missing: [], errors: new Map() };
  try {
    await host.openStorage();
    const account = host.account('acme');
    for (const name of NAMES) {
      try {
        const found = name.startsWith('files/')
          ? await account.bucket('files').get(name)
          : await account.kv('kv').get(name, 'arrayBuffer');
        if (found === null) read.missing.push(name);
        else {
          const bytes = Buffer.from('arrayBuffer' in found ? await found.arrayBuffer() : bufferOf(found));
          (bytes.equals(contentOf(name)) ? read.right : read.wrong).push(name);
        }
      } catch (error) {
        read.errors.set(name, error instanceof Error ? error : new Error(String(error)));
      }
    }
  } finally {
    await host.close();
  }
  return read;
}

export async function filesBelow(folder: string, pattern: RegExp): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter(entry => entry.isFile() && pattern.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
    .sort();
}

/** Changes one bit, where the bytes `needle` are, or at `place`. */
export async function flip(file: string, place: number | Buffer, bit = 1): Promise<boolean> {
  const bytes = await readFile(file);
  const at = typeof place === 'number' ? place : bytes.indexOf(place);
  const byte = bytes[at];
  if (at < 0 || byte === undefined) return false;
  bytes[at] = byte ^ bit;
  await writeFile(file, bytes);
  return true;
}
