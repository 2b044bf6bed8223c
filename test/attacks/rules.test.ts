/** Rules that no attack program shows by itself, and the table of docs/security.md that says where each rule is tested. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import test from 'ava';
import { createHostCall } from '../../src/isolate/bridge.js';
import { OpError } from '../../src/isolate/ops/arguments.js';
import { FAILED, Op } from '../../src/isolate/ops/table.js';
import { handler, newHost } from '../host/new-host.js';

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
  const folder = new URL('src/isolate/guest/', ROOT);
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

test('the host outlives SIGUSR1 without an inspector while a cell runs (R27)', async t => {
  const host = newHost(t);
  await host.load(handler('return new Response("fine")'));
  t.true(process.listenerCount('SIGUSR1') > 0);
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
