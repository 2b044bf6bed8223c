/** The counter, added to a copy of the package as CONTRIBUTING says: with a quota kind, clients, management and types of its own. */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import { ROOT } from '../docs/markdown.js';

const run = promisify(execFile);
const test = anyTest.serial as TestFn<never>; // no context; one copy, made once
const copy = mkdtempSync(join(tmpdir(), 'edgehost-binding-'));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const MODES = process.platform === 'linux' ? ['inline', 'process'] : ['inline'];
const MOST_EDITS = 6;
const STEP_MS = 240_000;

/** Text that is inserted before or after an anchor, which stands in the file once. */
type Edit = { readonly insert: string } & ({ readonly before: string } | { readonly after: string });

/** The only changes of files that the package has. */
const EDITS: Readonly<Record<string, readonly Edit[]>> = {
  'src/quotas/service-calls.ts': [
    { before: '  /** Reserved for experiments', insert: '  Counter = 20,\n' },
    { before: '} as const;\n\nexport type SubrequestKind', insert: "  counter: 'internalSubrequests',\n" },
  ],
  'src/bindings/registry.ts': [
    {
      before: 'import { egressBinding }',
      insert:
        "import { counterBinding } from './counter/counter-binding.js';\nimport type { CounterClient } from './counter/types.js';\n",
    },
    { after: 'BINDINGS: readonly BindingDefinition[] = [\n', insert: '  counterBinding,\n' },
    { before: '] as const;', insert: ", 'counters'" },
    {
      after: 'export interface BindingOptions {\n',
      insert: '  /** Binding name to counter name. */\n  readonly counters?: Readonly<Record<string, string>>;\n',
    },
    {
      after: 'export interface BindingClients {\n',
      insert: '  /** A counter, for the application itself. */\n  counter(name: string): CounterClient;\n',
    },
  ],
  'src/guest/bindings.ts': [
    {
      before: 'import { createKvClient }',
      insert: "import { createCounterClient } from '../bindings/counter/counter-client.ts';\n",
    },
    {
      after: 'BINDINGS: readonly GuestBinding[] = [\n',
      insert: '  { service: ServiceId.Counter, create: createCounterClient },\n',
    },
  ],
  'src/management/routes.ts': [
    { before: 'import { DATABASES_API }', insert: "import { COUNTERS_API } from './resources/counters.js';\n" },
    { before: '  DATABASES_API,\n', insert: '  COUNTERS_API,\n' },
  ],
  'src/worker/functions.d.ts': [
    { before: 'import type * as kv', insert: "import type * as counter from '../bindings/counter/types.js';\n" },
    {
      before: '  /** An SQL database: `env.DB`. */',
      insert: '  /** A counter: `env.HITS`. */\n  type Counter = counter.CounterClient;\n\n',
    },
  ],
  'src/index.ts': [
    {
      after: "export type * from './bindings/cache/types.js';\n",
      insert: "export type * from './bindings/counter/types.js';\n",
    },
  ],
};

/** New files, and the test's own files that they come from. */
const NEW_FILES: Readonly<Record<string, string>> = {
  'src/bindings/counter/counter-binding.ts': 'counter-binding.ts',
  'src/bindings/counter/counter-client.ts': 'counter-client.ts',
  'src/bindings/counter/counter-store.ts': 'counter-store.ts',
  'src/bindings/counter/types.ts': 'types.ts',
  'src/management/resources/counters.ts': 'added/counters.ts',
};

test.before('add the counter to a copy of the package, and build it', async t => {
  t.timeout(2 * STEP_MS);
  for (const name of ['src', '.scripts', 'native', 'package.json']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(copy, 'node_modules'));
  for (const [path, edits] of Object.entries(EDITS)) {
    write(path, edits.reduce(edited, readFileSync(join(ROOT, path), 'utf8')));
  }
  for (const [path, from] of Object.entries(NEW_FILES)) {
    const text = readFileSync(join(ROOT, 'test/bindings/counter', from), 'utf8');
    write(
      path,
      text
        .replaceAll("'../../../src/bindings/", "'../")
        .replaceAll("'../../../src/", "'../../")
        .replace('ServiceId.Experimental', 'ServiceId.Counter')
        .replace("subrequest: 'kv'", "subrequest: 'counter'"),
    );
  }
  cpSync(join(ROOT, 'test/bindings/counter/added'), join(copy, 'test/bindings/counter/added'), { recursive: true });
  cpSync(join(ROOT, 'test/bindings/counter/added/function'), join(copy, 'function'), { recursive: true });
  const own = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
  const files = ['test/bindings/counter/added/program.ts'];
  write('tsconfig.json', JSON.stringify({ ...own, include: ['src'], files }));
  await step(['npm', 'run', 'build', '--silent']);
  await step([process.execPath, TSC, '-p', 'src/guest/tsconfig.json']);
  // Against the declarations that are published.
  await step([process.execPath, TSC, '-p', 'function/tsconfig.json']);
});

test.after.always(() => rmSync(copy, { recursive: true, force: true, maxRetries: 5 }));

test('a complete binding edits the files that CONTRIBUTING names, and no others', t => {
  const [, section = ''] = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').split('\n## To add a binding\n');
  const named = [...section.matchAll(/^\| \[`src\/[^`]+`\]\((src\/[^)]+)\)/gm)].map(([, path]) => path);
  t.deepEqual(named.sort(), Object.keys(EDITS).sort());
  t.true(named.length <= MOST_EDITS, `${named.length} edits`);
  const files = readdirSync(join(copy, 'src'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(copy.length + 1));
  const isNew = (path: string): boolean => !existsSync(join(ROOT, path));
  const isEdited = (path: string): boolean =>
    !isNew(path) && !readFileSync(join(copy, path)).equals(readFileSync(join(ROOT, path)));
  t.deepEqual(files.filter(isNew).sort(), Object.keys(NEW_FILES).sort());
  t.deepEqual(files.filter(isEdited).sort(), named.sort());
});

for (const mode of MODES) {
  test(`functions, the application and the management API use the added binding (${mode})`, async t => {
    t.timeout(STEP_MS);
    const program = join(copy, 'dist/test/bindings/counter/added/program.js');
    const stdout = await step([process.execPath, program, mode, join(copy, 'storage'), join(copy, 'function')]);
    const found = JSON.parse(stdout);
    t.is(found.application, 40);
    t.deepEqual(found.called, { add: '42', bytes: '45', lines: '126', over: '99001' });
    t.deepEqual(found.calls, Array(4).fill({ counter: 1 }));
    t.deepEqual(found.error, { code: 99001, message: `${2 ** 60} is too much` });
    t.is(found.others, 1);
    t.deepEqual(found.managed, {
      read: [200, { name: 'hits', total: 45 }],
      dozens: [200, { name: 'hits', total: 3 }],
      refusedQuery: [400, "Query: the query parameter unit is the string \"score\", expected one of 'one', 'dozen'"],
      refusedName: [400, '{counter_name} must match ^[a-z]{1,63}$, got "HITS"'],
      unknown: [404, 'There is no counter "none"'],
      readByOther: [403, 'The token "else" lacks the permission counters:read'],
      addByReader: [403, 'The token "reads" lacks the permission counters:edit'],
      add: [200, { name: 'hits', total: 50 }],
      over: [400, `${2 ** 53 - 1} is too much`],
    });
    t.is(found.documented.length, 4);
  });
}

function edited(text: string, edit: Edit): string {
  const anchor = 'before' in edit ? edit.before : edit.after;
  const [start = '', end, ...more] = text.split(anchor);
  if (end === undefined || more.length > 0) throw new Error(`The text is not once in the file: ${anchor}`);
  return 'before' in edit ? start + edit.insert + anchor + end : start + anchor + edit.insert + end;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(copy, path)), { recursive: true });
  writeFileSync(join(copy, path), text);
}

/** Rejects with the output of a program that failed. */
async function step([program = '', ...args]: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(program, args, { cwd: copy, timeout: STEP_MS });
    return stdout;
  } catch (error) {
    if (!(error instanceof Error && 'stdout' in error)) throw error;
    throw new Error(`${error.message}\n${String(error.stdout).slice(0, 4000)}`, { cause: error });
  }
}
