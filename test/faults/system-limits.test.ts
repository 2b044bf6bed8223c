/** Accounts where the system has few descriptors, processes and threads. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { unlessMissing } from '../needs.js';
import { missingPidsGroup, runWithTasks } from './pids-group.js';

const run = promisify(execFile);
const MANY_ACCOUNTS = fileURLToPath(new URL('./programs/many-accounts.js', import.meta.url));
const BUSY_ACCOUNTS = fileURLToPath(new URL('./programs/busy-accounts.js', import.meta.url));
/** Each account that makes room for another one takes the start of a process. */
const PATIENCE_MS = 600_000;
const withPrlimit = unlessMissing(spawnSync('prlimit', ['--version']).error === undefined ? undefined : 'no prlimit');
const withPidsGroup = unlessMissing(missingPidsGroup());

async function runWithDescriptors(count: number, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, EDGEHOST_TEST_DESCRIPTORS: String(count) };
  const { stdout } = await run(process.execPath, [...args], { env });
  return stdout;
}

withPrlimit('60 accounts in turn, and 200 clients at once, are all answered with 640 descriptors', async t => {
  t.timeout(PATIENCE_MS);
  const { answers, clients, descriptors } = JSON.parse(await runWithDescriptors(640, MANY_ACCOUNTS, '60'));
  t.deepEqual(answers, { fine: 70 });
  t.is(clients, 200);
  t.is(descriptors.limit, 640);
  t.is(descriptors.reserved, 320);
  t.true(descriptors.used < 400, String(descriptors.used));
});

withPrlimit('accounts in turn are all answered with few descriptors and a backend process', async t => {
  t.timeout(PATIENCE_MS);
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-limits-'));
  t.teardown(() => rmSync(storage, { recursive: true, force: true }));
  const { answers } = JSON.parse(await runWithDescriptors(512, MANY_ACCOUNTS, '30', 'process', storage));
  t.deepEqual(answers, { fine: 40 });
});

withPrlimit('accounts in turn are all answered with few descriptors and isolation thread', async t => {
  t.timeout(PATIENCE_MS);
  const { answers } = JSON.parse(await runWithDescriptors(512, MANY_ACCOUNTS, '40', 'thread'));
  t.deepEqual(answers, { fine: 50 });
});

withPrlimit(
  'an account that finds no descriptors while all others are busy is told the limit and what to do',
  async t => {
    t.timeout(PATIENCE_MS);
    const { busy, refusals, later } = JSON.parse(await runWithDescriptors(160, BUSY_ACCOUNTS));
    t.true(busy > 1);
    t.is(refusals.length, 2);
    for (const { code, status, message } of refusals) {
      t.is(code, 'EDGE_DESCRIPTOR_LIMIT');
      t.is(status, 503);
      t.regex(
        message,
        /\d+ of 160 descriptors are in use \(RLIMIT_NOFILE\), 80 of them .*reservedDescriptors.*ulimit -n/,
      );
    }
    t.is(later, 'fine');
  },
);

withPidsGroup(
  '60 accounts in turn, and 200 clients at once, are all answered with 100 processes and threads',
  async t => {
    t.timeout(PATIENCE_MS);
    const stdout = await runWithTasks(100, [process.execPath, MANY_ACCOUNTS, '60']);
    const { answers, clients, tasks } = JSON.parse(stdout);
    t.deepEqual(answers, { fine: 70 });
    t.is(clients, 200);
    t.is(tasks.limit, 100);
    t.is(tasks.reserved, 25);
  },
);

withPidsGroup('accounts in turn are all answered with few processes and threads and isolation thread', async t => {
  t.timeout(PATIENCE_MS);
  const { answers } = JSON.parse(await runWithTasks(60, [process.execPath, MANY_ACCOUNTS, '40', 'thread']));
  t.deepEqual(answers, { fine: 50 });
});

withPidsGroup('an account that finds no tasks while all others are busy is told the limit and what to do', async t => {
  t.timeout(PATIENCE_MS);
  const { busy, refusals, later } = JSON.parse(await runWithTasks(120, [process.execPath, BUSY_ACCOUNTS]));
  t.true(busy > 1);
  t.is(refusals.length, 2);
  for (const { code, status, message } of refusals) {
    t.is(code, 'EDGE_TASK_LIMIT');
    t.is(status, 503);
    t.regex(
      message,
      /\d+ of 120 processes and threads are in use \(pids\.max of .*\), 30 of them .*reservedTasks.*--pids-limit/,
    );
  }
  t.is(later, 'fine');
});
