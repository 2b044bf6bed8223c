import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import test from 'ava';
import { type Holdings, holdingsOf, isHarmless } from '../../benchmarks/containment/holdings.js';
import { onLinux } from '../needs.js';

const IDLE: Holdings = { processes: 1, threads: 11, residentMb: 60, filesMb: 0, writtenMb: 0, cpuMs: 200 };

onLinux('holdingsOf() counts a process and all below it', async t => {
  const program = `
    const { spawn } = require('node:child_process');
    const below = spawn(process.execPath, ['-e', 'process.stdin.resume(); console.log("up")'], { stdio: ['pipe', 'inherit', 'inherit'] });
    process.stdin.resume().on('end', () => below.stdin.end());`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => child.stdin.end());
  await once(child.stdout, 'data');
  const held = holdingsOf(child.pid ?? 0);
  t.is(held.processes, 2);
  t.true(held.threads > 2 && held.residentMb > 20 && held.cpuMs > 0, JSON.stringify(held));
});

onLinux('holdingsOf() is nothing for a process that has ended', async t => {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(child, 'exit');
  t.is(holdingsOf(child.pid ?? 0).processes, 0);
});

test('isHarmless() is true of an idle cell', t => {
  t.true(isHarmless(IDLE, 1000));
});

for (const [name, value] of Object.entries({
  processes: 5,
  threads: 33,
  residentMb: 161,
  filesMb: 9,
  writtenMb: 9,
  cpuMs: 201,
})) {
  test(`isHarmless() is false of a cell with ${value} ${name}`, t => {
    t.false(isHarmless({ ...IDLE, [name]: value }, 1000));
  });
}
