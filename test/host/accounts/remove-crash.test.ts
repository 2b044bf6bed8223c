/** The removal of an account is killed at some point; the next opening finishes it. */
import { spawn } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { EdgeHost, type EdgeHostOptions } from '../../../src/index.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { openStorage } from '../../limits/open-storage.js';
import { newHost } from '../new-host.js';

const ROUNDS = 12;
const PROGRAM = fileURLToPath(new URL('../programs/removes.js', import.meta.url));

async function filled(directory: string): Promise<void> {
  const host = new EdgeHost({ storage: directory });
  for (const [account, buckets] of [
    ['acme', ['files', 'more', 'others']],
    ['other', ['files']],
  ] as const) {
    for (const name of buckets) {
      const bucket = host.account(account).bucket(name);
      await Promise.all(Array.from({ length: 250 }, (_, n) => bucket.put(`${n % 7}/${n}`, `${n}`)));
      await Promise.all(Array.from({ length: 20 }, (_, n) => bucket.put(`f${n}`, new Uint8Array(70_000))));
      const upload = await bucket.createMultipartUpload('u');
      await upload.uploadPart(1, new Uint8Array(70_000));
    }
  }
  await host.close();
}

/** Resolves with the last line. */
async function removeAndKill(
  directory: string,
  line: string,
  pause: () => Promise<unknown>,
  backend: EdgeHostOptions['backend'] = 'inline',
): Promise<string> {
  const child = spawn(process.execPath, [PROGRAM, directory, backend], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise(resolve => child.once('exit', resolve));
  let last = '';
  for await (const text of createInterface({ input: child.stdout })) {
    last = text;
    if (text !== line) continue;
    await pause();
    child.kill('SIGKILL');
  }
  await exited;
  return last;
}

test('an account that is being removed is gone or whole after a kill, and its data is deleted by the next opening', async t => {
  t.timeout(120_000);
  const original = join(await temporaryDirectory(t), 'original');
  await filled(original);
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const directory = join(await temporaryDirectory(t), 'copy');
    await cp(original, directory, { recursive: true });
    // Before its first step, in the middle of it, and while its objects go.
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < round * 60; turn++) await new Promise(resolve => setImmediate(resolve));
    };
    const last = await removeAndKill(directory, round % 3 === 2 ? 'removed' : 'ready', turns);
    const host = newHost(t, { storage: directory });
    const acme = host.account('acme');
    const sum = await acme.storage();
    const { objects } = await acme.bucket('files').list({ limit: 1 });
    t.is(objects.length === 0, sum.objects === 0, 'all of it or nothing');
    if (last !== 'ready') t.is(sum.objects, 0, `after "${last}"`);
    seen.add(`${last} ${sum.objects === 0}`);
    t.deepEqual(await host.account('other').storage(), { bytes: 640 + 21 * 70_000, objects: 271 });
    await (await host.removeAccount('acme', { deleteData: true })).deleted;
    await (await host.removeAccount('other', { deleteData: true })).deleted;
    await host.close();
    const left = await openStorage(directory, async ({ records }) => {
      const keys: string[] = [];
      for await (const page of records.pages({ gte: '', lt: '\u{10ffff}' })) keys.push(...page.map(([key]) => key));
      // Usage belongs to the owner of the host, and stays.
      return keys.filter(key => !key.startsWith('y'));
    });
    t.deepEqual(left, []);
    const entries = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
    t.is(entries.filter(entry => entry.isFile()).length, 0);
  }
  t.log([...seen].join(', '));
});

test('a removal whose application is killed is finished by another one, and no later opening takes it for one of the account that has its id by then', async t => {
  t.timeout(120_000);
  for (let round = 0; round < 4; round++) {
    const directory = join(await temporaryDirectory(t), 'storage');
    const two = newHost(t, { storage: directory, backend: 'process', usage: false });
    const before = two.account('acme');
    await Promise.all(Array.from({ length: 100 }, (_, n) => before.bucket('files').put(`${n}`, `${n}`)));
    await removeAndKill(directory, 'ready', () => delay(round * 8), 'process');
    const files = (): Promise<string[]> =>
      two
        .account('acme')
        .bucket('files')
        .list()
        .then(({ objects }) => objects.map(({ key }) => key));
    // The account of before, whose removal was not begun, or one that was made after it.
    const left = await files().catch(() => files());
    t.true(left.length === 0 || left.length === 100, `${left.length} of 100 are left`);
    await two.account('acme').bucket('files').put('new', 'one');
    await two.close();
    const three = newHost(t, { storage: directory, backend: 'process', usage: false });
    const { objects } = await three.account('acme').bucket('files').list();
    t.deepEqual(objects.map(({ key }) => key).sort(), [...left, 'new'].sort());
    t.log(`${left.length} left`);
    await three.close();
  }
});
