/** Cells that a benchmark takes over run its program, behind all that is around a cell, and the others do not. */
import childProcess from 'node:child_process';
import process from 'node:process';
import test from 'ava';
import { hijackCells } from '../../benchmarks/hijacked/hijack.js';
import { EdgeHost } from '../../src/index.js';

const HONEST = 'export default { fetch() { return new Response("honest"); } };';

test('hijackCells() takes over the cells that are started until it is stopped', async t => {
  const host = new EdgeHost({ storage: ':memory:', warmCells: 0 });
  t.teardown(() => host.close({ drainMs: 0 }));
  const answers = async (account: string): Promise<string> => {
    const fn = await host.account(account).load(HONEST);
    return (await fn.fetch('http://x/')).text();
  };
  t.is(await answers('before'), 'honest');
  const stop = hijackCells();
  t.is(await answers('hijacked'), 'taken over');
  stop();
  t.is(await answers('after'), 'honest');
});

test('hijackCells() puts a native program behind what stands before Node, and into a root of its own', t => {
  const spawned: unknown[] = [];
  const { spawn } = childProcess;
  childProcess.spawn = ((...args: unknown[]) => spawned.push(args)) as never; // it is only looked at what would be started
  t.teardown(() => {
    childProcess.spawn = spawn;
  });
  const stop = hijackCells({ path: '/tmp/folder/program', args: ['memfd', '1'] });
  const cell = [process.execPath, '--no-warnings', '/package/pool/cell/cell-main.bundle.cjs'];
  childProcess.spawn('unshare', ['--net', ...cell], {});
  childProcess.spawn('bwrap', ['--proc', '/proc', '--remount-ro', '/', '--', ...cell], {});
  childProcess.spawn('ls', ['/'], {});
  stop();
  const bound = ['--dir', '/tmp', '--dir', '/tmp/folder', '--ro-bind', '/tmp/folder/program', '/tmp/folder/program'];
  t.deepEqual(spawned, [
    ['unshare', ['--net', '/tmp/folder/program', 'memfd', '1'], {}],
    ['bwrap', ['--proc', '/proc', ...bound, '--remount-ro', '/', '--', '/tmp/folder/program', 'memfd', '1'], {}],
    ['ls', ['/'], {}],
  ]);
});
