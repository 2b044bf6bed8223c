import { type ChildProcess, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { KvEngine } from '../../src/bindings/kv/engine.js';
import { expirationOf } from '../../src/bindings/kv/store/entry-codec.js';
import { kvKeys, parseExpiry } from '../../src/bindings/kv/store/kv-keys.js';
import { clearRemovedNamespaces } from '../../src/bindings/kv/store/remove-namespaces.js';
import { countStored } from '../../src/bindings/kv/store/stored-namespaces.js';
import { afterPrefix } from '../../src/storage/records/level-database.js';
import type { Storage } from '../../src/storage/storage.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { closeNamespaces, namespacesOf, openNamespaces } from '../bindings/kv/open-namespaces.js';
import { crashValue } from './programs/crash-value.js';

/** The whole storm, of 200 kills, is for the machine of a night: `EDGEHOST_KILLS=200`. */
const ROUNDS = Number(process.env.EDGEHOST_KILLS ?? 8);
const FILE_BYTES = 64 * 1024;

/** Of a key: `number:size` of what was acknowledged last, and of what may have happened since; 'none' for a deletion. */
interface Expected {
  acknowledged: string;
  begun: string | undefined;
}

test('puts and deletions that were acknowledged hold, and nothing else is half there, when the process is killed at any point', async t => {
  t.timeout(ROUNDS * 20_000);
  const directory = await temporaryDirectory(t);
  const expected = new Map<string, Expected>();
  let operations = 0;
  let slowestMs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    operations += await writeAndKill(directory, round, expected);
    const began = performance.now();
    const storage = await openNamespaces(directory);
    slowestMs = Math.max(slowestMs, performance.now() - began);
    let files = 0;
    try {
      const values = await namespacesOf(storage, 'acme').open('values');
      for (const [key, state] of expected) {
        const { outcome, size } = await readOutcome(values, key);
        const allowed = [state.acknowledged, ...(state.begun === undefined ? [] : [state.begun])];
        t.true(allowed.includes(outcome), `${key} is ${outcome}, not ${allowed.join(' or ')}`);
        // From here on the state found is the one that counts.
        expected.set(key, { acknowledged: outcome, begun: undefined });
        if (size > FILE_BYTES) files++;
      }
      // The opening has begun to.
      await clearRemovedNamespaces(storage.context, () => {});
      t.deepEqual(await storage.context.sums.read('acme'), await countStored(storage.context, 'acme'), 'the sum');
      t.deepEqual(await keysOf(storage, kvKeys.allRemoved()), []);
      t.deepEqual(
        await keysOf(storage, kvKeys.expiries()),
        await expiriesOfEntries(storage),
        'the records of expiries',
      );
    } finally {
      await closeNamespaces(storage);
    }
    const entries = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
    t.is(entries.filter(entry => entry.isFile()).length, files, 'body files');
  }
  t.log(
    `${operations} operations acknowledged in ${ROUNDS} rounds, opened again in ${Math.ceil(slowestMs)} ms at most`,
  );
  t.true(operations > ROUNDS * 20);
});

/** Kills the writer when it has acknowledged some number of operations, and at once: in the middle of sixteen others. */
async function writeAndKill(directory: string, round: number, expected: Map<string, Expected>): Promise<number> {
  const program = fileURLToPath(new URL('./programs/kv-crash-writer.js', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [program, directory, `${round}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise(resolve => child.once('exit', resolve));
  const killAfter = 40 + Math.floor(Math.random() * 300);
  let acknowledged = 0;
  if (child.stdout === null) throw new Error('The writer has no stdout');
  for await (const line of createInterface({ input: child.stdout })) {
    const [direction, number = '', kind = '', key = '', size = ''] = line.split(' ');
    if (direction !== '<' && direction !== '>') continue;
    const state = expected.get(key) ?? { acknowledged: 'none', begun: undefined };
    expected.set(key, state);
    const outcome = kind === 'delete' ? 'none' : `${number}:${size}`;
    if (direction === '>') state.begun = outcome;
    else {
      state.acknowledged = outcome;
      state.begun = undefined;
      if (++acknowledged === killAfter) child.kill('SIGKILL');
    }
  }
  await exited;
  return acknowledged;
}

/** The value found, checked byte by byte. */
async function readOutcome(values: KvEngine, key: string): Promise<{ outcome: string; size: number }> {
  const found = await values.get(key);
  if (found === null) return { outcome: 'none', size: 0 };
  const body = found.content.open();
  const chunks = [];
  if (body instanceof Uint8Array) chunks.push(body);
  else for await (const chunk of body) chunks.push(chunk);
  const value = Buffer.concat(chunks);
  const number = Number(found.metadata);
  const isWhole = value.length === found.size && value.equals(crashValue(number, value.length));
  const outcome = isWhole ? `${number}:${value.length}` : `a broken value of operation ${number}`;
  return { outcome, size: found.size };
}

async function keysOf(storage: Storage, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of storage.context.records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
    for (const [key] of page) keys.push(key);
  }
  return keys;
}

/** The records of expiries that the keys ask for. */
async function expiriesOfEntries(storage: Storage): Promise<string[]> {
  const expiries: string[] = [];
  for await (const page of storage.context.records.pages({ gte: 'kv', lt: 'kw' })) {
    for (const [recordKey, record] of page) {
      const expiration = expirationOf(record);
      const [namespace = '', ...rest] = recordKey.slice(2).split('/');
      if (expiration !== undefined) expiries.push(kvKeys.expiry(expiration, namespace, rest.join('/')));
    }
  }
  return expiries.sort((a, b) => parseExpiry(a).seconds - parseExpiry(b).seconds || (a < b ? -1 : 1));
}
