/** Many loads at once, while cells are killed, retired and replaced: each load answers as it should or fails with a code, and the application goes on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { errorCode } from '../../../src/quotas/errors.js';
import { handler, newHost, textOf } from '../new-host.js';

const LOADS = 60;
const ACCOUNTS = 4;
/** So many times something is killed or replaced: on a busy machine no cell would live for long enough otherwise. */
const STORM_ROUNDS = 12;

for (const backend of ['inline', 'process'] as const) {
  test(`loads at once survive cells that are killed and replaced meanwhile, with backend: '${backend}'`, async t => {
    t.timeout(180_000);
    const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
    t.teardown(() => rmSync(storage, { recursive: true, force: true }));
    const host = newHost(t, { spareIsolates: 2, warmCells: 1, backend, storage });
    const warnings: unknown[] = [];
    host.on('warning', error => warnings.push(errorCode(error)));
    let isLoading = true;
    const storm = (async () => {
      for (let round = 0; isLoading && round < STORM_ROUNDS; round++) {
        await delay(250);
        const cells = host.health().cells.filter(({ pid }) => pid !== undefined);
        const { pid } = cells[round % Math.max(1, cells.length)] ?? {};
        if (pid !== undefined && round % 3 === 0) process.kill(pid, 'SIGKILL');
        const loaded = host.account(`account-${round % ACCOUNTS}`).functions();
        // A function that is replaced, and one that goes.
        if (round % 3 === 1) await loaded[0]?.fetch('http://x/').catch(() => {});
        if (round % 3 === 2) loaded.at(-1)?.unload();
      }
    })();
    const outcomes = await Promise.all(
      Array.from({ length: LOADS }, async (_, at) => {
        try {
          const fn = await host
            .account(`account-${at % ACCOUNTS}`)
            .load(handler(`return new Response('${at}')`), { name: `f-${at}` });
          return (await textOf(fn.fetch('http://x/'))) === String(at) ? 'right' : 'wrong';
        } catch (error) {
          return errorCode(error) ?? String(error);
        }
      }),
    );
    isLoading = false;
    await storm;
    t.log(
      Object.fromEntries([...new Set(outcomes)].map(each => [each, outcomes.filter(other => other === each).length])),
    );
    t.true(outcomes.includes('right'));
    for (const outcome of outcomes) t.regex(outcome, /^(right|EDGE_[A-Z_]+)$/);
    t.false(warnings.includes(undefined));
    t.false(outcomes.includes('EDGE_INTERNAL') || warnings.includes('EDGE_INTERNAL'));
    // Each account goes on afterwards.
    for (let at = 0; at < ACCOUNTS; at++) {
      const fn = await host.account(`account-${at}`).load(handler(`return new Response('after')`), { name: 'after' });
      t.is(await textOf(fn.fetch('http://x/')), 'after');
    }
  });
}
