/** A cell as the kernel sees it, with a process of the test in its place. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { ExecutionContext } from 'ava';
import { KernelReader } from '../../../../src/pool/host/cell-usage/cell-reader.js';
import { descendantsOf } from '../../../../src/pool/processes/process-tree.js';
import { onLinux } from '../../../needs.js';

/** A shell that has started a program, and says so. */
async function started(t: ExecutionContext, script: string): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] });
  const pid = child.pid ?? 0;
  t.teardown(() => {
    for (const each of [...descendantsOf(pid), pid]) {
      try {
        process.kill(each, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    }
  });
  await once(child.stdout, 'data');
  return { child, pid };
}

onLinux('KernelReader reads a process and what it has started', async t => {
  // The second one itself says that it is up: while its program begins it has no memory.
  const { pid } = await started(t, 'exec 3<&0; sh -c "echo up; read line" <&3 & wait');
  const reader = new KernelReader(pid, pid, undefined);
  t.teardown(() => reader.close());
  t.is(reader.source, 'processes');
  t.is(reader.glance()?.threads, 1);
  t.is(reader.tally()?.processes, 2);
  const survey = reader.survey();
  t.is(survey?.processes, 2);
  t.is(survey?.threads, 2);
  t.true((survey?.residentBytes ?? 0) > (reader.glance()?.residentBytes ?? 0));
  t.true((survey?.descriptors ?? 0) >= (reader.tally()?.descriptors ?? Number.POSITIVE_INFINITY));
});

onLinux('KernelReader counts a process that was started since', async t => {
  const { child, pid } = await started(t, 'echo up; read line; sleep 1000 & echo more; wait');
  const reader = new KernelReader(pid, pid, undefined);
  t.teardown(() => reader.close());
  t.is(reader.tally()?.processes, 1);
  const more = child.stdout === null ? Promise.resolve() : once(child.stdout, 'data');
  child.stdin?.write('\n');
  await more;
  t.is(reader.tally()?.processes, 2);
});

onLinux('KernelReader counts no files of what has only started the cell', async t => {
  // The cell itself says that it is up: until its program runs, it has the files of the shell that forks it.
  const { pid } = await started(t, 'exec 3<&0; sh -c "echo up; read line" <&3 & wait');
  const [cell = 0] = descendantsOf(pid);
  const reader = new KernelReader(pid, cell, undefined);
  t.teardown(() => reader.close());
  t.is(reader.survey()?.descriptors, reader.tally()?.descriptors);
  t.is(reader.survey()?.processes, 2);
});

onLinux('KernelReader answers nothing once the cell is gone', async t => {
  const { child, pid } = await started(t, 'echo up; read line');
  const reader = new KernelReader(pid, pid, undefined);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  t.is(reader.glance(), undefined);
  t.is(reader.tally(), undefined);
  t.is(reader.survey(), undefined);
  reader.close();
  reader.close();
});

onLinux('KernelReader cannot be made for a process that is not there', t => {
  t.throws(() => new KernelReader(2 ** 30, 2 ** 30, undefined), { code: 'ENOENT' });
});
