/** The processes of the SQL engine: which of their work is slow, and the fate of calls that find no process. */
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { objectPool } from '../../src/bindings/objects/store/object-sql.js';
import { DatabaseFile } from '../../src/bindings/sql/store/database-file.js';
import { EdgeError } from '../../src/quotas/errors.js';
import { OWN_WORK } from '../../src/quotas/host/call-work.js';
import { SqlitePool } from '../../src/sqlite/pool/sqlite-pool.js';
import { NO_WALLS } from '../../src/storage/process-walls.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';

/** Twice the time after which work is slow. */
const LONG_MS = 600;

/** Processes of this one, whichever of its threads has started them. */
function children(): number[] {
  const threads = readdirSync('/proc/self/task');
  return threads.flatMap(thread =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8')
      .split(' ')
      .filter(text => text !== '')
      .map(Number),
  );
}

const linux = process.platform === 'linux' ? test : test.skip;

linux('enter() does not take a process that is slow to start for slow work', async t => {
  const pool = objectPool(await temporaryDirectory(t));
  t.teardown(() => pool.close());
  const before = new Set(children());
  const account = { account: 'a' };
  const seat = await pool.enter(account, { onTick() {}, onOverload: () => t.fail('too many are slow') });
  const first = seat.start('');
  const [child = 0] = children().filter(pid => !before.has(pid));
  process.kill(child, 'SIGSTOP');
  await pause(LONG_MS);
  process.kill(child, 'SIGCONT');
  // Answered: it has started.
  await first.request({ op: 'rollback', path: first.newPath(), layer: 0 }, [], () => true);
  seat.leave();
  const next = await pool.enter(account, { onTick() {}, onOverload() {} });
  t.is(next.start(''), first);
  // A request that runs for long in it is slow.
  process.kill(child, 'SIGSTOP');
  await pause(LONG_MS * 2);
  process.kill(child, 'SIGCONT');
  next.leave();
  await first.ended;
  t.pass();
});

test('calls of a database fail when there are no walls for its process', async t => {
  const pool = new SqlitePool(
    { task: 'run SQL', isSlowCounted: true },
    { ...NO_WALLS, prepare: () => Promise.reject(new EdgeError('EDGE_SANDBOX', 'There are no walls')) },
  );
  t.teardown(() => pool.close());
  const owner = { account: 'a', folder: await temporaryDirectory(t) };
  const file = new DatabaseFile({
    pool,
    owner,
    path: `${owner.folder}/a.sqlite`,
    allotted: () => 65_536,
    grow: () => Promise.reject(new Error('grows')),
    failure: why => new Error(why),
  });
  const work = { ...OWN_WORK, owner };
  const job = {
    payload: Buffer.from('SELECT 1'),
    statements: 1,
    isReading: true,
    isInternal: false,
    isGone: undefined,
  };
  await t.throwsAsync(file.run({ ...job, kind: 'exec', work }), { code: 'EDGE_SANDBOX' });
  t.is(pool.size, 0);
});
