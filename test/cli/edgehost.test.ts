import { readFileSync } from 'node:fs';
import test from 'ava';
import { AUDIT } from '../../src/cli/audit.js';
import { runEdgehost } from '../../src/cli/edgehost.js';
import { ROOT, textOf } from '../docs/markdown.js';

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
  t.regex(out, /^Usage: edgehost <command>.*^ {2}dev {5}serve a function.*^ {2}audit {3}list calls/ms);
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
  for (const name of ['audits', '', '--versoin', 'constructor']) {
    const { code, out, err } = await run(name);
    t.deepEqual([code, out], [2, '']);
    t.true(err.startsWith(`edgehost: there is no command ${JSON.stringify(name)}`), err);
    t.true(err.includes('\n  audit '));
  }
});

test('runEdgehost() says which command was probably meant', async t => {
  t.true((await run('srve')).err.startsWith('edgehost: there is no command "srve"; did you mean edgehost serve?\n'));
});

test('runEdgehost() prints the version of the package', async t => {
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
  for (const name of ['--version', '-v']) t.deepEqual(await run(name), { code: 0, out: `${version}\n`, err: '' });
});

test('every command explains itself, and names an option that was probably meant', async t => {
  for (const name of ['dev', 'serve', 'check', 'init', 'repair', 'audit']) {
    const { code, out, err } = await run(name, '--help');
    t.deepEqual([code, err], [0, '']);
    t.regex(out, new RegExp(`^Usage: edgehost ${name} \\[options\\]`));
    t.true(out.split('\n').every(line => line.length <= 120));
    t.regex((await run(name, '--hlep')).err, /There is no option --hlep; did you mean --help\?/);
  }
});

test('docs/cli.md names every option of its commands, and none that there is not', async t => {
  const documented = textOf('docs/cli.md');
  const sections = new Map(
    documented.split(/^## edgehost /m).map(section => [section.split('\n', 1)[0] ?? '', section] as const),
  );
  for (const name of ['dev', 'serve', 'check', 'init', 'repair']) {
    const section = sections.get(name) ?? '';
    // Subcommands that serve describe their JSON in one place.
    const own = optionsIn((await run(name, '--help')).out.split('\nOptions\n')[1] ?? '').filter(
      option => option !== '--help' && !(option === '--json' && name === 'serve'),
    );
    t.true(own.length > 0);
    t.deepEqual(
      own.filter(option => !section.includes(`${option}`)),
      [],
      name,
    );
    const foreign = ['--save-dev', '--noEmit'];
    const all = optionsIn((await run(name, '--help')).out);
    t.deepEqual(
      optionsIn(section).filter(option => !all.includes(option) && !foreign.includes(option)),
      [],
      name,
    );
  }
});

function optionsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/(?<![\w-])--[a-z][\w-]*/g)].map(([option]) => option))];
}
