/** Rules that no attack program shows by itself, and the table of docs/security.md that says where each rule is tested. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import test from 'ava';
import { callGuest, createHostCall } from '../../src/isolate/bridge.js';
import { OpError } from '../../src/isolate/ops/arguments.js';
import { FAILED, Op } from '../../src/isolate/ops/table.js';
import { TestRealm } from '../guest/test-realm.js';
import { ABLATIONS } from './ablations/table.js';

const ROOT = new URL('../../../', import.meta.url);
const RULES = Array.from({ length: 29 }, (_, index) => `R${index + 1}`);

function call(implementation: (a: unknown) => unknown): (op: unknown, a?: unknown) => unknown {
  // An implementation that breaks its contract is what the tests are about.
  const set = { [Op.Now]: implementation } as Parameters<typeof createHostCall>[0][number];
  const hostCall = createHostCall([set]);
  return (op, a) => hostCall(op, a, undefined, undefined, undefined);
}

test('the bridge answers with nothing but numbers, strings and undefined (R6)', t => {
  for (const value of [{}, [], () => {}, null, true, 1n, Symbol('x'), Promise.resolve(), new Error('x')]) {
    t.is(call(() => value)(Op.Now), FAILED);
  }
  for (const value of [1, 'x', undefined]) t.is(call(() => value)(Op.Now), value);
});

test('the bridge throws nothing, whatever an op throws (R6)', t => {
  for (const thrown of [new Error('x'), new OpError('Error', 'x'), 1, undefined]) {
    const hostCall = call(() => {
      throw thrown;
    });
    t.is(hostCall(Op.Now), FAILED);
    t.is(typeof hostCall(Op.LastError), 'string');
  }
});

test('the bridge function has no prototype and no property, and cannot be given one (R16)', t => {
  const hostCall = createHostCall([]);
  t.is(Object.getPrototypeOf(hostCall), null);
  t.deepEqual(Reflect.ownKeys(hostCall), []);
  t.true(Object.isFrozen(hostCall));
});

test('the bridge refuses every op that is not a number of the table, and nested calls (R17)', t => {
  const hostCall = call(() => 1);
  for (const op of [
    -1,
    0.5,
    Number.NaN,
    2 ** 32,
    Op.Count,
    '3',
    null,
    undefined,
    {},
    { valueOf: () => Op.Now },
    [Op.Now],
    3n,
  ]) {
    t.is(hostCall(op), FAILED);
  }
  let inner: unknown;
  const nested: (op: unknown) => unknown = call(() => {
    inner = nested(Op.Now);
    return 1;
  });
  t.is(nested(Op.Now), 1);
  t.is(inner, FAILED);
});

test('the guest calls the bridge directly, and inside a catch that does not bind what is thrown (R5, R15)', t => {
  const folder = new URL('src/guest/', ROOT);
  const files = readdirSync(folder, { recursive: true }).map(String);
  for (const file of files.filter(name => name.endsWith('.ts'))) {
    const code = readFileSync(new URL(file, folder), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    const uses = [...code.matchAll(/\bhostCall\b/g)].length;
    const caught = [...code.matchAll(/try \{\s*\w+ = hostCall\([^()]*\);\s*\} catch \{/g)].length;
    // Beside the calls: the binding, its assignment, and the parameter's type in the bundle's main file.
    const others = [
      ...code.matchAll(/let hostCall: HostCall;|hostCall = call;|install\(hostCall: |connect\(hostCall\)/g),
    ].length;
    t.is(uses, caught + others, file);
  }
});

test('all code of the isolate thread is strict (R8)', t => {
  const folder = new URL('dist/src/isolate/', ROOT);
  const files = readdirSync(folder, { recursive: true }).map(String);
  for (const file of files.filter(name => name.endsWith('.cjs'))) {
    t.regex(readFileSync(new URL(file, folder), 'utf8'), /^"use strict";/);
  }
  t.true(files.some(name => name.endsWith('.js')));
  t.is(JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')).type, 'module');
});

test('the guest realm is a context that is its own global object (R1)', t => {
  const realm = new TestRealm();
  t.is(realm.evaluate('globalThis'), realm.realm.context);
});

test('callGuest() gives no receiver, answers nothing and throws nothing (R7)', t => {
  const seen: unknown[] = [];
  const guestFunction = function (this: unknown, ...args: unknown[]): unknown {
    seen.push(this, ...args);
    throw new Error('of the guest');
  };
  t.is(callGuest(guestFunction, [1, 'x']) as unknown, undefined);
  t.is(callGuest(() => 'of the guest', []) as unknown, undefined);
  t.deepEqual(seen, [undefined, 1, 'x']);
});

test('all that is compiled for the guest realm refuses import() of its own, and has been looked at (R12, R13)', t => {
  const folder = new URL('src/isolate/', ROOT);
  const files = readdirSync(folder, { recursive: true }).map(String);
  const codes = files
    .filter(name => name.endsWith('.ts') && !name.startsWith('guest'))
    .map(name => readFileSync(new URL(name, folder), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ''));
  const all = codes.join('\n');
  // The two bundles, which are ours; the trampoline; built-in modules; and by way of `options` JSON, text, bytes, modules and classic scripts in two places each.
  // The code of a run is compiled as a module is, and only hands its options on.
  t.is([...all.matchAll(/new vm\.(?:Script|SourceTextModule)\(/g)].length, 11);
  t.is([...all.matchAll(/importModuleDynamically: refuseDynamicImport/g)].length, 4);
  // Other files have options of their own.
  const compiling = codes.filter(code => /\bvm\b/.test(code)).join('\n');
  t.is([...compiling.matchAll(/(?:\.\.\.|\s)options[,)]/g)].length, 10);
  t.regex(all, /importsIn\(rewritten, 'module'\)\.length > 0\) throw/);
  t.notRegex(all, /initializeImportMeta|microtaskMode|\btimeout:|importModuleDynamically: (?!refuse)/);
  for (const file of ['guest.bundle.js', 'guest-node.bundle.js'])
    t.notRegex(readFileSync(new URL(`dist/src/isolate/${file}`, ROOT), 'utf8'), /\bimport\s*[(.]/, file);
});

test('the host outlives SIGUSR1 without an inspector while a cell runs (R27)', async t => {
  const program = `
import inspector from 'node:inspector';
import { EdgeHost } from ${JSON.stringify(new URL('dist/src/index.js', ROOT).href)};
const host = new EdgeHost({ storage: ':memory:' });
await host.load('export default { fetch() {} }');
process.kill(process.pid, 'SIGUSR1');
setTimeout(async () => { console.log(String(inspector.url())); await host.close(); }, 200);`;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program]);
  let printed = '';
  for (const output of [child.stdout, child.stderr])
    output.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await once(child, 'close');
  t.is(printed, 'undefined\n');
});

test('every rule has a piece of code without which a test fails', t => {
  for (const rule of RULES)
    t.true(
      ABLATIONS.some(ablation => ablation.rule === rule),
      rule,
    );
  for (const { file, find, test: path, without } of ABLATIONS) {
    t.true(existsSync(new URL(path, ROOT)), path);
    t.is(readFileSync(new URL(file, ROOT), 'utf8').split(find).length, 2, `${file}: ${without}`);
  }
});

test('docs/security.md says of every rule which file keeps it and which tests fail without it', t => {
  const text = readFileSync(new URL('docs/security.md', ROOT), 'utf8');
  const rows = new Map<string, string[]>();
  for (const [, rule = '', files = ''] of text.matchAll(/^\| (R\d+) +\|([^|]*`[^|]*\|[^|]*)\|$/gm)) {
    rows.set(
      rule,
      [...files.matchAll(/`([^`]+\.ts)`/g)].map(match => match[1] ?? ''),
    );
  }
  for (const rule of RULES) {
    const files = rows.get(rule) ?? [];
    t.true(
      files.some(file => file.startsWith('src/')),
      `${rule} has no file`,
    );
    t.true(
      files.some(file => file.startsWith('test/')),
      `${rule} has no test`,
    );
    for (const file of files) t.true(existsSync(new URL(file, ROOT)), `${rule}: ${file}`);
  }
});
