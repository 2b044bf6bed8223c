/** load() with the option `bundle`: the bundler has a process of its own, and customers upload what it reads. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { findEsbuild } from '../../../src/host/deploy/bundle/esbuild.js';
import { bundlingError, FunctionError } from '../../../src/host/deploy/bundle/function-error.js';
import { bundleApart } from '../../../src/host/deploy/bundle/process/bundle-process.js';
import type { LoadOptions } from '../../../src/index.js';
import { NODE_PATH } from '../../../src/pool/node-path.js';
import { BUNDLER_RULES } from '../../../src/pool/sandbox/bundler-rules.js';
import { sandboxFor } from '../../../src/pool/sandbox/sandbox.js';
import { spawnBehind } from '../../../src/pool/sandbox/spawn.js';
import { onLinux } from '../../needs.js';
import { sharedHost } from '../new-host.js';

const { load } = sharedHost();
const ANSWER = 'export default { fetch(): Response { return new Response(answer); } };';

/** The function's answer. A host that takes any source is what applications in JavaScript have. */
async function answerOf(source: unknown): Promise<string> {
  const bundle: LoadOptions = { bundle: true };
  const fn = await load(source as string, bundle);
  return (await fn.fetch('http://a.example/')).text();
}

function newFolder(t: ExecutionContext, files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

const FILES = {
  'src/index.ts': `import { hello } from './hello'; import a from './a.txt'; import d from './d.bin'; import p from 'pkg';
    const answer = [hello('b'), a, d.byteLength, d instanceof ArrayBuffer, p].join();
    ${ANSWER}`,
  'src/hello.ts': 'export const hello = (name: string): string => "hello " + name;',
  'src/a.txt': 'text',
  'src/d.bin': new Uint8Array(7),
  'node_modules/pkg/index.js': 'module.exports = "package";',
};

test('load() bundles files that are given as modules', async t => {
  t.is(await answerOf({ main: 'src/index.ts', modules: FILES }), 'hello b,text,7,true,package');
});

test('load() bundles a folder, with packages of the folders above', async t => {
  const folder = newFolder(t, FILES);
  t.is(await answerOf({ main: 'index.ts', directory: join(folder, 'src') }), 'hello b,text,7,true,package');
});

test('load() bundles one text as TypeScript', async t => {
  t.is(await answerOf(`const answer: string = 'typed'; ${ANSWER}`), 'typed');
});

const MISTAKES: readonly (readonly [string, unknown, object])[] = [
  [
    'a package that is not there',
    { main: 'a/b.ts', modules: { 'a/b.ts': 'import "nowhere";' } },
    {
      code: 'EDGE_SCRIPT_IMPORT',
      message: /: a\/b\.ts:1:8: Could not resolve "nowhere" \(is the package installed\?\)/,
    },
  ],
  ['text that does not parse', 'let a: = 1;', { code: 'EDGE_SCRIPT_SYNTAX', message: /index\.ts:1:8: Unexpected "="/ }],
  [
    'a name that leads out',
    { main: 'a/../../b.ts', modules: { 'a/../../b.ts': '' } },
    { instanceOf: TypeError, message: /named the string "a\/\.\.\/\.\.\/b\.ts", expected a path in its folder/ },
  ],
  [
    'an absolute name',
    { main: '/b.ts', modules: { '/b.ts': '' } },
    { instanceOf: TypeError, message: /named the string/ },
  ],
  ['a main module that is not there', { main: 'a.ts', modules: {} }, { instanceOf: TypeError, message: /not among/ }],
  ['a module that is no text', { main: 'a', modules: { a: 1 } }, { instanceOf: TypeError, message: /Module "a" is/ }],
  [
    'a number',
    1,
    { instanceOf: TypeError, message: /expected a string, \{ main, modules \} or \{ main, directory \}/ },
  ],
  [
    'a folder that is none',
    { main: 'a.ts', directory: '/nowhere' },
    { code: 'EDGE_SCRIPT_IMPORT', message: /no file/ },
  ],
  ['a main module outside', { main: '../a.ts', directory: 'src' }, { instanceOf: TypeError, message: /outside of/ }],
  ['a folder without a main module', { directory: 'src' }, { instanceOf: TypeError, message: /expected two paths/ }],
];

for (const [what, source, expected] of MISTAKES)
  test(`load() with bundle rejects ${what}`, async t => {
    await t.throwsAsync(answerOf(source), expected);
  });

test('load() names the command that installs esbuild', t => {
  const error = bundlingError(
    new FunctionError('It is needed. It is not installed here: npm install --save-dev esbuild'),
  );
  t.is(error.code, 'EDGE_NOT_SUPPORTED');
});

const SECRET = 'the-secret-of-another';
const ESCAPES: readonly (readonly [string, (folder: string, outside: string) => Readonly<Record<string, string>>])[] = [
  ['a relative import', () => ({ 'in/a.ts': `import answer from '../secret.txt'; ${ANSWER}` })],
  ['an absolute import', (_, outside) => ({ 'in/a.ts': `import answer from '${outside}'; ${ANSWER}` })],
  ['a link', () => ({ 'in/a.ts': `import answer from './link.txt'; ${ANSWER}` })],
  [
    'the field of a package',
    () => ({
      'in/a.ts': `import answer from 'p'; ${ANSWER}`,
      'in/node_modules/p/package.json': '{"main":"../../../secret.txt"}',
    }),
  ],
  [
    'a path of tsconfig',
    () => ({
      'in/a.ts': `import answer from 'p'; ${ANSWER}`,
      'in/tsconfig.json': '{"compilerOptions":{"paths":{"p":["../secret.txt"]}}}',
    }),
  ],
  [
    'a source map',
    () => ({ 'in/a.js': '', 'in/a.ts': `const answer = 1; ${ANSWER}\n//# sourceMappingURL=../secret.txt` }),
  ],
];

for (const [what, filesOf] of ESCAPES)
  test(`attack: a file outside of the folder is bundled by ${what}`, async t => {
    const folder = newFolder(t, { 'secret.txt': SECRET });
    const outside = join(folder, 'secret.txt');
    for (const [name, content] of Object.entries(filesOf(folder, outside))) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), content);
    }
    symlinkSync(outside, join(folder, 'in/link.txt'));
    const outcome = await answerOf({ main: 'a.ts', directory: join(folder, 'in') }).catch(
      (error: Error) => `${error.message} ${String(error.cause)}`,
    );
    t.false(outcome.includes(SECRET), outcome);
    if (what !== 'a source map') t.regex(outcome, /Could not resolve|outside of the folder/);
  });

test('bundleApart() ends a bundler that takes too long or replies with too much', async t => {
  const root = newFolder(t, { 'a.ts': `export const a = '${'x'.repeat(10_000)}';` });
  const files = { root, main: join(root, 'a.ts'), rules: [] };
  const esbuild = findEsbuild(process.cwd(), '');
  const late = bundleApart(files, esbuild, 'auto', { withinMs: 1 });
  await t.throwsAsync(late, { code: 'EDGE_BUNDLE_LIMIT', message: /esbuild took more than 0\.001 s/ });
  const long = bundleApart(files, esbuild, 'auto', { outputBytes: 1024 });
  await t.throwsAsync(long, { code: 'EDGE_BUNDLE_LIMIT', message: /the bundle is more than 0 MiB/ });
});

/** What code that has taken over the bundler tries; each prints `name=` and the error. */
const TRIES = (outside: string, inside: string): string => `
  const { connect } = require('node:net');
  const fs = require('node:fs');
  const { spawnSync } = require('node:child_process');
  const tell = (name, work) => {
    try { console.log(name + '=' + (work() ?? 'done')); } catch (error) { console.log(name + '=' + error.code); }
  };
  tell('inside', () => fs.readFileSync(${JSON.stringify(inside)}, 'utf8'));
  tell('outside', () => fs.readFileSync(${JSON.stringify(outside)}, 'utf8'));
  tell('passwd', () => fs.readFileSync('/etc/passwd', 'utf8'));
  tell('write', () => fs.writeFileSync(${JSON.stringify(inside)}, 'changed'));
  tell('shell', () => { const { error } = spawnSync('/bin/sh', ['-c', 'true']); if (error) throw error; });
  connect(9, '127.0.0.1').on('error', error => console.log('network=' + error.code)).on('connect', () => console.log('network=done'));
`;

onLinux('attack: a bundler that was taken over reads, writes, runs and connects outside of its folder', async t => {
  const folder = newFolder(t, { 'secret.txt': SECRET, 'in/a.txt': 'own' });
  const sandbox = await sandboxFor('auto', BUNDLER_RULES);
  const { root, landlock, seccomp } = sandbox.state;
  if (!((root || landlock) && seccomp)) return t.pass('there are no such layers here');
  const code = TRIES(join(folder, 'secret.txt'), join(folder, 'in/a.txt'));
  const place = { id: undefined, reads: [join(folder, 'in')], executes: [] };
  const { child } = spawnBehind(sandbox, [NODE_PATH, '--eval', code], ['ignore', 'pipe', 'ignore'], place);
  const { stdout } = child;
  if (stdout === null) return t.fail('the process has no output');
  const lines = (await text(stdout)).trim().split('\n');
  t.true(lines.includes('inside=own'), lines.join());
  for (const name of ['outside', 'passwd', 'write', 'shell', 'network'])
    t.regex(lines.find(line => line.startsWith(`${name}=`)) ?? '', /=E[A-Z]+$/, name);
});
