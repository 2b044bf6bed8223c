/**
 * Writes to a storage until it is killed, and says on stdout what it is about to do (`>`) and what was acknowledged (`<`):
 * `number kind key size`. The value of an operation follows from its number.
 */
import { writeSync } from 'node:fs';
import { bucketsOf, openBuckets } from '../../bindings/bucket/open-buckets.js';
import { crashValue, PART_BYTES } from './crash-value.js';

const [directory = '', round = '0'] = process.argv.slice(2);
const storage = await openBuckets(directory, { minPartBytes: PART_BYTES });
const files = await bucketsOf(storage, 'acme').open('files');
let count = Number(round) * 1_000_000;

function say(line: string): void {
  // Written at once and whole: what was acknowledged must be known after the kill.
  writeSync(1, `${line}\n`);
}

async function* pieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 20_000) {
    yield bytes.subarray(at, at + 20_000);
    await new Promise(resolve => setImmediate(resolve));
  }
}

async function put(key: string, size: number): Promise<void> {
  const number = count++;
  say(`> ${number} put ${key} ${size}`);
  const value = crashValue(number, size);
  await files.put(key, size % 2 === 0 ? value : pieces(value), { customMetadata: { number: `${number}` } });
  say(`< ${number} put ${key} ${size}`);
}

async function complete(key: string, size: number): Promise<void> {
  const number = count++;
  say(`> ${number} put ${key} ${size}`);
  const value = crashValue(number, size);
  const { uploadId } = await files.createUpload(key, { customMetadata: { number: `${number}` } });
  const parts = [];
  for (let at = 0, partNumber = 1; at < size; at += PART_BYTES, partNumber++) {
    parts.push(await files.uploadPart(key, uploadId, partNumber, value.subarray(at, at + PART_BYTES), {}));
  }
  await files.completeUpload(key, uploadId, parts);
  say(`< ${number} put ${key} ${size}`);
}

/** In one call. */
async function remove(keys: readonly string[]): Promise<void> {
  const numbers = keys.map(() => count++);
  for (const [index, key] of keys.entries()) say(`> ${numbers[index]} delete ${key} 0`);
  await files.delete(keys);
  for (const [index, key] of keys.entries()) say(`< ${numbers[index]} delete ${key} 0`);
}

/** One writer of its own keys, so that the order of what it does to a key is known. */
async function work(worker: number): Promise<never> {
  // In groups of one writer, of four, and of all.
  const keys = Array.from({ length: 7 }, (_, at) => `all/${worker % 2}/w${worker}/${at}`);
  for (let turn = 0; ; turn++) {
    const key = keys[turn % keys.length] ?? '';
    const kind = (turn * 7 + worker) % 10;
    if (turn % 40 === 39) await remove(keys);
    else if (kind < 5) await put(key, (turn * 131) % 3000);
    else if (kind < 7) await put(key, 60_000 + ((turn * 7919) % 150_000));
    else if (kind < 8) await complete(key, PART_BYTES * 2 + (turn % 1000));
    else await remove([key]);
  }
}

say('ready');
await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)));
