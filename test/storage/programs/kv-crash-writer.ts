/**
 * Writes to a key-value namespace until it is killed, and says on stdout what it is about to do (`>`) and what was acknowledged (`<`):
 * `number kind key size`. The value of an operation follows from its number.
 */
import { writeSync } from 'node:fs';
import { namespacesOf, openNamespaces } from '../../bindings/kv/open-namespaces.js';
import { crashValue } from './crash-value.js';

const [directory = '', round = '0'] = process.argv.slice(2);
const storage = await openNamespaces(directory);
const namespaces = namespacesOf(storage, 'acme');
const values = await namespaces.open('values');
let count = Number(round) * 1_000_000;

/** So far ahead that nothing expires. */
const EXPIRATION = 4_000_000_000;

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
  const expiration = number % 2 === 0 ? EXPIRATION + (number % 1000) : undefined;
  await values.put(key, size % 2 === 0 ? value : pieces(value), { metadata: `${number}`, expiration });
  say(`< ${number} put ${key} ${size}`);
}

async function remove(key: string): Promise<void> {
  const number = count++;
  say(`> ${number} delete ${key} 0`);
  await values.delete(key);
  say(`< ${number} delete ${key} 0`);
}

/** One writer of its own keys, so that the order of what it does to a key is known. */
async function work(worker: number): Promise<never> {
  const keys = Array.from({ length: 5 }, (_, at) => `w${worker}/${at}`);
  for (let turn = 0; ; turn++) {
    const key = keys[turn % keys.length] ?? '';
    const kind = (turn * 7 + worker) % 10;
    if (kind < 5) await put(key, (turn * 131) % 3000);
    else if (kind < 7) await put(key, 60_000 + ((turn * 7919) % 60_000));
    else if (kind < 8) await put(key, 0);
    else await remove(key);
  }
}

/** Namespaces that are made, filled and deleted: their keys are being removed when the process is killed. */
async function churn(): Promise<never> {
  for (let turn = 0; ; turn++) {
    const name = `round-${round}-${turn}`;
    const doomed = await namespaces.open(name);
    await Promise.all(
      Array.from({ length: 150 }, (_, n) => doomed.put(`${n}`, Buffer.from('v'), { expiration: EXPIRATION })),
    );
    await namespaces.delete(name);
  }
}

say('ready');
await Promise.all([churn(), ...Array.from({ length: 16 }, (_, worker) => work(worker))]);
