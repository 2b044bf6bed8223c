import test from 'ava';
import { AUDIT } from '../../src/cli/audit.js';
import { runEdgehost } from '../../src/cli/edgehost.js';

async function run(...args: string[]) {
  const output = { out: '', err: '' };
  const code = await runEdgehost(args, {
    out: text => {
      output.out += text;
    },
    err: text => {
      output.err += text;
    },
    isTerminal: false,
    now: () => new Date('2024-09-01T00:00:00Z'),
    env: {},
    stopSignal: () => new AbortController().signal,
  });
  return { code, ...output };
}

test('runEdgehost() lists the commands when it is asked for help, or for nothing', async t => {
  const { out } = await run();
  t.regex(out, /^Usage: edgehost <command>.*^ {2}audit {3}list calls/ms);
  for (const args of [['help'], ['--help'], ['-h'], ['help', 'help']])
    t.deepEqual(await run(...args), { code: 0, out, err: '' }, args.join());
});

test('runEdgehost() hands what follows the name to the command, and its exit code back', async t => {
  const help = { code: 0, out: AUDIT.help, err: '' };
  t.deepEqual(await run('audit', '--help'), help);
  t.deepEqual(await run('help', 'audit'), help);
  t.like(await run('audit'), { code: 2, out: '' });
});

test('runEdgehost() exits with 2 for a command that there is not, names it and lists those that there are', async t => {
  for (const name of ['audits', '', '--version', 'constructor']) {
    const { code, out, err } = await run(name);
    t.deepEqual([code, out], [2, '']);
    t.true(err.startsWith(`edgehost: there is no command ${JSON.stringify(name)}\n`), err);
    t.true(err.includes('\n  audit '));
  }
});
