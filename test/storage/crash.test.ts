import { type ChildProcess, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { BucketEngine } from '../../src/bindings/bucket/engine.js';
import { countStored } from '../../src/bindings/bucket/store/stored-buckets.js';
import type { Storage } from '../../src/storage/storage.js';
import { indexOf, keptIn } from '../bindings/bucket/index-of.js';
import { bucketsOf, openBuckets } from '../bindings/bucket/open-buckets.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { crashValue, PART_BYTES } from './programs/crash-value.js';

const ROUNDS = 16;

interface Operation {
  readonly number: number;
  readonly kind: string;
  readonly size: number;
}

/** Of a key: what was acknowledged last, and what may have happened since. */
interface Expected {
  acknowledged: Operation | undefined;
  begun: Operation | undefined;
}

test('what was acknowledged is whole, and nothing else is half there, when the process is killed at any point', async t => {
  t.timeout(120_000);
  const directory = await temporaryDirectory(t);
  const expected = new Map<string, Expected>();
  let operations = 0;
  for (let round = 0; round < ROUNDS; round++) {
    operations += await writeAndKill(directory, round, expected);
    const storage = await openBuckets(directory, { minPartBytes: PART_BYTES });
    try {
      const files = await bucketsOf(storage, 'acme').open('files');
      for (const [key, state] of expected) {
        const found = await readNumber(files, key);
        const allowed = [state.acknowledged, state.begun].filter(one => one !== undefined).map(outcomeOf);
        if (state.acknowledged === undefined) allowed.push('none');
        t.true(allowed.includes(found), `${key} is ${found}, not ${allowed.join(' or ')}`);
        // From here on the state found is the one that counts.
        state.begun = undefined;
        state.acknowledged = found === 'none' ? undefined : parseOutcome(found);
      }
      t.deepEqual(
        await storage.context.sums.read('acme'),
        await countStored(storage.context, 'acme'),
        'the sum of what the account stores',
      );
      await checkNoOrphans(storage, files, directory, expected, t.is);
    } finally {
      await storage.close();
    }
    const { objects, index } = await keptIn(directory);
    t.deepEqual(index, indexOf(objects), 'the index of listings');
  }
  t.log(`${operations} operations acknowledged in ${ROUNDS} rounds`);
  t.true(operations > 200);
});

/** Kills the writer when it has acknowledged some number of operations, and at once: in the middle of eight others. */
async function writeAndKill(directory: string, round: number, expected: Map<string, Expected>): Promise<number> {
  const program = fileURLToPath(new URL('./programs/crash-writer.js', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [program, directory, `${round}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise(resolve => child.once('exit', resolve));
  const killAfter = 40 + Math.floor(Math.random() * 400);
  let acknowledged = 0;
  if (child.stdout === null) throw new Error('The writer has no stdout');
  for await (const line of createInterface({ input: child.stdout })) {
    const [direction, number, kind = '', key = '', size] = line.split(' ');
    if (direction !== '<' && direction !== '>') continue;
    const operation = { number: Number(number), kind, size: Number(size) };
    const state = expected.get(key) ?? { acknowledged: undefined, begun: undefined };
    expected.set(key, state);
    if (direction === '>') state.begun = operation;
    else {
      state.acknowledged = operation;
      state.begun = undefined;
      if (++acknowledged === killAfter) child.kill('SIGKILL');
    }
  }
  await exited;
  return acknowledged;
}

/** `number:size` of the value found, checked byte by byte; 'none' when there is none. */
async function readNumber(files: BucketEngine, key: string): Promise<string> {
  const outcome = await files.get(key, {});
  if (outcome.kind !== 'found') return 'none';
  const body = outcome.content.open();
  const chunks = [];
  if (body instanceof Uint8Array) chunks.push(body);
  else for await (const chunk of body) chunks.push(chunk);
  const value = Buffer.concat(chunks);
  const number = Number(outcome.object.customMetadata.number);
  const isWhole = value.length === outcome.object.size && value.equals(crashValue(number, value.length));
  return isWhole ? `${number}:${value.length}` : `a broken value of operation ${number}`;
}

function outcomeOf(operation: Operation): string {
  return operation.kind === 'delete' ? 'none' : `${operation.number}:${operation.size}`;
}

function parseOutcome(found: string): Operation {
  const [number, size] = found.split(':');
  return { number: Number(number), kind: 'put', size: Number(size) };
}

/** Every body file belongs to an object or to an open upload. */
async function checkNoOrphans(
  storage: Storage,
  files: BucketEngine,
  directory: string,
  expected: Map<string, Expected>,
  is: (actual: number, expected: number, message: string) => void,
): Promise<void> {
  const INLINE_BYTES = 64 * 1024;
  let used = 0;
  for (const key of expected.keys()) {
    const object = await files.head(key);
    if (object === null) continue;
    for (const size of object.partSizes ?? [object.size]) if (size > INLINE_BYTES) used++;
  }
  for (const { key, uploadId } of (await files.listUploads({ limit: 1000 })).uploads) {
    const { parts } = await files.listParts(uploadId, 0, 1000);
    used += parts.filter(part => part.size > INLINE_BYTES).length;
    await files.abortUpload(key, uploadId);
    used -= parts.filter(part => part.size > INLINE_BYTES).length;
  }
  await storage.close();
  const entries = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
  is(entries.filter(entry => entry.isFile()).length, used, 'body files');
}
