import test from 'ava';
import { TestRealm } from '../test-realm.js';

function logged(code: string): string | undefined {
  const realm = new TestRealm();
  realm.run(code);
  return realm.logs[0]?.text;
}

test('console.log() shows values as Node does', t => {
  t.is(
    logged(
      "console.log('a', 1, { b: [1, 'x'], m: new Map([[1, { c: null }]]) }, undefined, 10n, Symbol('s'), class A {}, -0);",
    ),
    "a 1 { b: [ 1, 'x' ], m: Map(1) { 1 => { c: null } } } undefined 10n Symbol(s) [Function: A] -0",
  );
});

test('console.log() substitutes', t => {
  t.is(
    logged("console.log('%s is %d%% of %i, %o%c', 'x', '4.5', '7.9', { a: 1 }, 'css', 'rest');"),
    'x is 4.5% of 7, { a: 1 } rest',
  );
});

test('console.log() shows the stack of an error', t => {
  t.regex(String(logged("console.log(new RangeError('r'));")), /^RangeError: r\n {4}at function\.js/);
});

test('console.log() shows what an error was caused by, and the errors of an AggregateError', t => {
  const cause = String(
    logged("console.log(new Error('outer', { cause: new TypeError('inner', { cause: { code: 7 } }) }));"),
  );
  t.regex(cause, /^Error: outer\n {4}at function\.js[^{]*\{\n {2}\[cause\]: TypeError: inner\n/);
  t.regex(cause, /\[cause\]: \{ code: 7 \}/);
  const errors = String(logged("console.log(new AggregateError([new Error('one'), 'two'], 'all'));"));
  t.regex(errors, /^AggregateError: all\n/);
  t.regex(errors, /\[errors\]: \[\n? *\[Error: one\n[\s\S]*'two'/);
});

test('console.log() shows causes that go in circles, throw, or are none', t => {
  const text = String(
    logged(`const circle = new Error('a'); circle.cause = circle;
      const getter = new Error('b'); Object.defineProperty(getter, 'cause', { get() { throw 1; } });
      console.log(circle, getter, new Error('c', { cause: undefined }));`),
  );
  t.regex(text, /cause: \[Circular\]/);
  t.regex(text, /\[cause\]: \[Getter\]/);
  t.regex(text, /\[cause\]: undefined/);
});

test('console.log() survives hostile and circular values', t => {
  const text = logged(`const o = {}; o.self = o;
    console.log(o, new Proxy({}, { getPrototypeOf() { throw 1; }, ownKeys() { throw 2; } }), { get x() { throw 3; } });`);
  t.is(text, '{ self: [Circular] } [value that cannot be inspected] { x: [Getter] }');
});

test('console.log() is bounded for values of any size', t => {
  const text = logged("console.log(new Array(1e6).fill('x'.repeat(1000)), 'y'.repeat(1e6).length);");
  t.true(String(text).length < 200_000);
});

test('console.group() indents until console.groupEnd()', t => {
  const realm = new TestRealm();
  realm.run("console.group('g'); console.warn('in\\nside'); console.groupEnd(); console.error('out');");
  t.deepEqual(realm.logs, [
    { level: 2, text: 'g' },
    { level: 3, text: '  in\n  side' },
    { level: 4, text: 'out' },
  ]);
});
