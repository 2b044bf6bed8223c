import test from 'ava';
import { helpOf, readArguments, type Syntax, UsageError } from '../../src/cli/terminal/arguments.js';
import { nearestOf } from '../../src/cli/terminal/nearest.js';

const SYNTAX = {
  name: 'try',
  paths: '[DIR]',
  count: { min: 0, max: 1 },
  about: 'Tries.',
  sections: [['What there is', 'a line\n  and one below']],
  options: {
    port: { kind: 'number', short: 'p', value: 'N', min: 0, max: 10, text: 'a port' },
    plan: { kind: 'choice', value: 'PLAN', choices: ['free', 'paid'], text: 'a plan' },
    env: { kind: 'text', value: 'FILE', text: 'a file,\nin two lines' },
    allow: { kind: 'list', value: 'CIDR', text: 'addresses' },
    json: { kind: 'flag', text: 'JSON' },
  },
  examples: ['edgehost try'],
} as const satisfies Syntax;

function read(...args: string[]) {
  return readArguments(SYNTAX, args);
}

test('readArguments() reads options of each kind, in every form, and paths', t => {
  const nothing = { port: undefined, plan: undefined, env: undefined, allow: [], json: false };
  t.deepEqual(read(), { values: nothing, paths: [] });
  t.deepEqual(read('dir', '-p', '3', '--plan=free', '--env', '.env', '--allow', 'a', '--allow=b', '--json'), {
    values: { port: 3, plan: 'free', env: '.env', allow: ['a', 'b'], json: true },
    paths: ['dir'],
  });
  t.deepEqual(read('-p3', '--port', '4', '--', '--json'), { values: { ...nothing, port: 4 }, paths: ['--json'] });
  t.deepEqual(read('--env=-odd'), { values: { ...nothing, env: '-odd' }, paths: [] });
});

test('readArguments() answers undefined when the help is asked for, whatever else is missing', t => {
  t.is(read('--help'), undefined);
  t.is(read('a', 'b', '-h'), undefined);
});

for (const [args, message] of [
  [['--prot', '3'], 'There is no option --prot; did you mean --port?'],
  [['-x'], 'There is no option -x'],
  [['--constructor'], 'There is no option --constructor'],
  [['--no-json'], 'There is no option --no-json'],
  [['--env'], 'Option --env needs a value: --env FILE'],
  [['--env', '--json'], 'Option --env needs a value: --env FILE'],
  [['--json=yes'], 'Option --json takes no value, got "yes"'],
  [['--plan', 'gold'], 'Option --plan is "gold", expected one of free, paid'],
  [['--port', '11'], 'Option --port is "11", expected a whole number from 0 to 10'],
  [['--port', '1e1'], 'Option --port is "1e1", expected a whole number from 0 to 10'],
  [['--port='], 'Option --port is "", expected a whole number from 0 to 10'],
  [['a', 'b'], 'Too many arguments: "b"; at most 1 is taken'],
] as const) {
  test(`readArguments() refuses ${args.join(' ')}`, t => {
    t.throws(() => read(...args), { instanceOf: UsageError, message });
  });
}

test('readArguments() refuses no path where one is needed', t => {
  t.throws(() => readArguments({ ...SYNTAX, paths: 'DIR', count: { min: 1, max: 1 } }, []), {
    message: 'A path is needed: DIR',
  });
});

test('helpOf() lists what the table has', t => {
  t.is(
    helpOf(SYNTAX),
    `Usage: edgehost try [options] [DIR]

Tries.

What there is
  a line
    and one below

Options
  -p, --port N  a port
  --plan PLAN   a plan
  --env FILE    a file,
                in two lines
  --allow CIDR  addresses
  --json        JSON
  -h, --help    this text

Examples
  edgehost try
`,
  );
});

test('nearestOf() finds the name that was meant, and none for another word', t => {
  const names = ['dev', 'serve', 'check', 'init', 'repair', 'audit'];
  for (const [text, name] of [
    ['sreve', 'serve'],
    ['chek', 'check'],
    ['audits', 'audit'],
    ['de', 'dev'],
    ['rep', 'repair'],
    ['deploy', undefined],
    ['x', undefined],
    ['', undefined],
  ] as const) {
    t.is(nearestOf(text, names), name, text);
  }
});
