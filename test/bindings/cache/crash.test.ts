/** Kills, and a disk that is full: what caches have on disk stays in order. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { clearRemovedCaches } from '../../../src/bindings/cache/store/remove-caches.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { temporaryDirectory } from '../bucket/stores.js';
import { bytesOf, disorderIn, kept, openCachesAt, PUT } from './open-caches.js';

const run = promisify(execFile);
/** A storm of 60 kills is for the machine of a night: `EDGEHOST_KILLS=60`. */
const ROUNDS = Number(process.env.EDGEHOST_KILLS ?? 5);

test('what is kept is whole and found by all that finds it, when the process is killed at any point', async t => {
  t.timeout(ROUNDS * 24_000);
  const directory = await temporaryDirectory(t);
  let slowestMs = 0;
  const program = fileURLToPath(new URL('./programs/crash-writer.js', import.meta.url));
  let acknowledged = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const child = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = new Promise(resolve => child.once('exit', resolve));
    const killAfter = 30 + Math.floor(Math.random() * 200);
    let seen = 0;
    for await (const _ of createInterface({ input: child.stdout })) if (++seen >= killAfter) child.kill('SIGKILL');
    await exited;
    acknowledged += seen;

    const began = performance.now();
    const { storage, shared, close } = await openCachesAt(directory);
    slowestMs = Math.max(slowestMs, performance.now() - began);
    const engine = shared.of('acme');
    for (let worker = 0; worker < 16; worker++) {
      for (let number = 0; number < 7; number++) {
        const hit = await engine.match({ cache: 'd', url: `http://x/${worker}/${number}`, headers: [] });
        if (hit.kind === 'miss') continue;
        const size = Number(hit.headers[hit.headers.indexOf('x-size') + 1]);
        t.true((await bytesOf(hit.body)).equals(Buffer.alloc(size, size % 251)));
      }
    }
    t.true((await engine.usage()).bytes <= 3_000_000);
    await storage.context.collector.idle();
    await close();
    const again = await openCachesAt(directory);
    // What a purge has begun to remove goes in the background.
    await clearRemovedCaches(again.storage.context, () => {});
    await again.storage.context.collector.idle();
    t.deepEqual(await disorderIn(again.storage, 'acme'), []);
    const bodies = join(directory, 'bodies');
    const files = readdirSync(bodies).reduce((count, name) => count + readdirSync(join(bodies, name)).length, 0);
    let used = 0;
    for await (const page of again.storage.context.records.pages({ gte: 'f', lt: 'g' })) used += page.length;
    t.is(files, used);
    await again.close();
  }
  t.log(
    `${acknowledged} operations acknowledged in ${ROUNDS} rounds, opened again in ${Math.ceil(slowestMs)} ms at most`,
  );
});

test('a full disk is a clear error, what is kept goes on answering, and nothing is left behind', async t => {
  const directory = await temporaryDirectory(t);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', directory]);
  } catch {
    t.log('not run: mounting a small disk is not allowed here');
    t.pass();
    return;
  }
  t.teardown(() => run('umount', ['-l', directory]));
  const { storage, shared, close } = await openCachesAt(directory, { reserveBytes: 4 * 2 ** 20 });
  const engine = shared.of('acme');
  let full: unknown;
  let count = 0;
  while (full === undefined && count < 1000) {
    const size = count % 2 === 0 ? 300_000 : 30_000;
    await engine.put(kept(`http://x/${count}`, { tags: ['a'] }), Buffer.alloc(size, 1), PUT).then(
      () => count++,
      (error: unknown) => {
        full = error;
      },
    );
  }
  t.is(errorCode(full), 'EDGE_STORAGE_FULL');
  t.true(count > 10);
  for (let n = 0; n < count; n++) {
    const hit = await engine.match({ cache: 'd', url: `http://x/${n}`, headers: [] });
    t.is(hit.kind === 'hit' ? (await bytesOf(hit.body)).length : 0, n % 2 === 0 ? 300_000 : 30_000);
  }
  t.deepEqual(await engine.purge({ tags: ['a'] }), { purged: count });
  t.true(await engine.put(kept('http://x/again'), Buffer.alloc(300_000), PUT));
  t.deepEqual(await disorderIn(storage, 'acme'), []);
  await close();
  t.true(existsSync(directory));
});
