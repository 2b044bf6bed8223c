/** The processes with databases of objects, and what counts as slow there. */
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { SqlPool } from '../../../src/bindings/objects/sql/sql-pool.js';
import { temporaryDirectory } from '../bucket/stores.js';

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

linux('take() does not take a process that is slow to start for slow work', async t => {
  const pool = new SqlPool(await temporaryDirectory(t));
  t.teardown(() => pool.close());
  const before = new Set(children());
  const account = { account: 'a' };
  const seat = await pool.take(account, undefined, () => t.fail('too many are slow'));
  const [child = 0] = children().filter(pid => !before.has(pid));
  process.kill(child, 'SIGSTOP');
  await pause(LONG_MS);
  process.kill(child, 'SIGCONT');
  // Answered: it has started.
  await seat.process.request({ op: 'close', path: seat.process.newPath() });
  seat.leave();
  const next = await pool.take(account, undefined, () => {});
  t.is(next.process, seat.process);
  // What runs for long there is slow.
  process.kill(child, 'SIGSTOP');
  await pause(LONG_MS * 2);
  process.kill(child, 'SIGCONT');
  next.leave();
  await next.process.ended;
  t.pass();
});
