/** Claims of cron triggers on a disk that is full. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { StoredCronClaims } from '../../../src/bindings/cron/cron-claims.js';
import { cronStorage } from '../../../src/bindings/cron/cron-records.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryDirectory } from '../bucket/stores.js';

const run = promisify(execFile);
const MINUTE = 60_000;
const NOW = 1_800_000_000_000;
const FN = { account: 'acme', function: 'nightly' } as const;

test('a full disk lets nothing be claimed that is not on it, and claims go on when there is room again', async t => {
  const directory = await temporaryDirectory(t);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', directory]);
  } catch {
    t.log('not run: mounting a small disk is not allowed here');
    t.pass();
    return;
  }
  t.teardown(() => run('umount', ['-l', directory]));
  const clock = () => NOW;
  const owners = [cronStorage(clock)];
  let storage = await Storage.open(directory, { owners, now: clock, reserveBytes: 0 });
  let claims = new StoredCronClaims(storage.context, clock);
  const wish = (minute: number) => ({
    ...FN,
    cron: '* * * * *',
    dueMs: NOW + minute * MINUTE,
    isExclusive: true,
    isMissed: false,
  });
  await claims.track(FN, ['* * * * *'], NOW);
  // The records of others.
  for (let number = 0; ; number++) {
    const put = { type: 'put', key: `c/filling/${number}`, value: Buffer.alloc(300_000, number) } as const;
    const failure = await storage.context.records.commit([put]).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) continue;
    t.is(errorCode(failure), 'EDGE_STORAGE_FULL');
    break;
  }
  const given: number[] = [];
  let refused = 0;
  for (let minute = 1; minute <= 20; minute++) {
    try {
      const [claim] = await claims.claim('a', [wish(minute)]);
      if (claim?.kind === 'run') {
        given.push(minute);
        await claims.finished('a', wish(minute));
      }
    } catch (error) {
      t.is(errorCode(error), 'EDGE_STORAGE_FULL');
      refused++;
    }
  }
  t.log(`${given.length} claimed, ${refused} refused`);
  await run('mount', ['-o', 'remount,size=100m', directory]);
  const [claim] = await claims.claim('a', [wish(30)]);
  // Nothing that was refused counts as a run that goes on, nor as claimed.
  t.is(claim?.kind, 'run');
  await storage.close();
  storage = await Storage.open(directory, { owners, now: clock });
  t.teardown(() => storage.close());
  claims = new StoredCronClaims(storage.context, clock);
  const kinds = await Promise.all(
    [...given, 30].map(async minute => (await claims.claim('b', [wish(minute)]))[0]?.kind),
  );
  t.true(kinds.every(kind => kind === 'taken'));
  t.is((await claims.claim('b', [wish(31)]))[0]?.kind, 'run');
});
