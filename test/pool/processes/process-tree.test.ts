/** What the kernel says of processes, with processes that a test starts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { heldFiles, OpenFile, parseStat, usageOf, writtenBytes } from '../../../src/pool/processes/process-reading.js';
import { descendantsOf } from '../../../src/pool/processes/process-tree.js';
import { onLinux } from '../../needs.js';

onLinux(
  'descendantsOf() lists children and their children, parents first, and no more than it is asked for',
  async t => {
    const child = spawn('/bin/sh', ['-c', 'sh -c "sleep 1000 & sleep 1000 & echo up; wait"; true'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pid = child.pid ?? 0;
    const pids = (): number[] => descendantsOf(pid);
    t.teardown(() => {
      for (const each of [...pids(), pid]) process.kill(each, 'SIGKILL');
    });
    await once(child.stdout, 'data');
    const found = pids();
    t.is(found.length, 3);
    t.deepEqual([...new Set(descendantsOf(found[0] ?? 0))].sort(), found.slice(1).sort());
    t.deepEqual(descendantsOf(pid, 2), found.slice(0, 2));
    t.true(descendantsOf(process.pid).includes(pid));
  },
);

test('descendantsOf() answers nothing for a process that is not there', t => {
  t.deepEqual(descendantsOf(2 ** 30), []);
});

test('parseStat() reads a line whatever the program is called', t => {
  const numbers = Array.from({ length: 50 }, (_, index) => index + 3);
  const rest = ['S', ...numbers.slice(1)].join(' ');
  const usage = parseStat(`17 (a) b (c) ${rest}`);
  t.like(usage, { cpuMs: (14 + 15 + 16 + 17) * 10, threads: 20, startedTicks: 22 });
  t.is((usage?.residentBytes ?? 1) % 24, 0);
  t.is(parseStat('garbage'), undefined);
});

onLinux('usageOf() agrees with what the process says of itself', t => {
  const usage = usageOf('self');
  const { user, system } = process.cpuUsage();
  t.true(Math.abs((usage?.cpuMs ?? 0) - (user + system) / 1000) < 2000);
  const ratio = (usage?.residentBytes ?? 0) / process.memoryUsage.rss();
  t.true(ratio > 0.5 && ratio < 2, String(ratio));
});

onLinux('OpenFile reads a process as long as it is there', async t => {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const file = new OpenFile(`/proc/${child.pid}/stat`);
  t.is(parseStat(file.read() ?? '')?.threads, 1);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  t.is(file.read(), undefined);
  file.close();
  file.close();
  t.is(file.read(), undefined);
});

onLinux('heldFiles() counts each file once, and all descriptors', t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-held-'));
  const path = join(folder, 'file');
  writeFileSync(path, Buffer.alloc(1024 * 1024, 1));
  const before = heldFiles(process.pid, new Set(), 10_000);
  const fds = [openSync(path, 'r'), openSync(path, 'r')];
  const { blocks } = statSync(path);
  rmSync(folder, { recursive: true });
  const after = heldFiles(process.pid, new Set(), 10_000);
  for (const fd of fds) closeSync(fd);
  t.is((after?.descriptors ?? 0) - (before?.descriptors ?? 0), 2);
  t.is((after?.bytes ?? 0) - (before?.bytes ?? 0), blocks * 512);
  t.is(heldFiles(process.pid, new Set(), 1)?.bytes, 0);
  t.is(heldFiles(2 ** 30, new Set(), 1), undefined);
});

onLinux('writtenBytes() is a number for a process of ours, and undefined for none', t => {
  t.true((writtenBytes(process.pid) ?? -1) >= 0);
  t.is(writtenBytes(2 ** 30), undefined);
});
