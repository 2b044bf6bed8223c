import test from 'ava';
import { TestRealm } from './test-realm.js';

test("stack has the function's own frames when an error is made", t => {
  const stack = new TestRealm().run('function inner() { return new Error("boom"); } return inner().stack;');
  t.regex(String(stack), /^Error: boom\n {4}at inner \(function\.js:1:\d+\)\n {4}at function\.js:1:\d+/);
  t.notRegex(String(stack), /node:|edgehost|file:|\/test|test-realm/);
});

test('stack names the class and message of a subclass', t => {
  const stack = new TestRealm().run(
    'class Mine extends TypeError { get name() { return "Mine"; } } return new Mine("m").stack;',
  );
  t.true(String(stack).startsWith('Mine: m\n    at '));
});

test('stack can be replaced by assignment', t => {
  t.is(new TestRealm().run('const e = new Error(); e.stack = "own"; return e.stack + Object.keys(e).length;'), 'own0');
});

test('Error.captureStackTrace() gives an object its stack', t => {
  const stack = new TestRealm().run(
    'const o = { name: "N", message: "m" }; Error.captureStackTrace(o); return o.stack;',
  );
  t.regex(String(stack), /^N: m\n {4}at function\.js:/);
});

test('Error.stackTraceLimit can be set and brings no native stacks back', t => {
  const result = new TestRealm().run(`Error.stackTraceLimit = 50;
    try { null.x; } catch (error) { return [typeof error.stack, error.message, error instanceof TypeError]; }`);
  t.deepEqual(result, ['undefined', "Cannot read properties of null (reading 'x')", true]);
});

test('an error constructor looks native in all that code relies on', t => {
  const result = new TestRealm().run(`
    const error = TypeError('m', { cause: 1 });
    return [error instanceof TypeError, error instanceof Error, error.cause, TypeError.name, TypeError.length,
      Object.getPrototypeOf(TypeError) === Error, error.constructor === TypeError, Object.prototype.toString.call(error),
      Object.hasOwn(error, 'stack'), new AggregateError([1]).errors.length];`);
  t.deepEqual(result, [true, true, 1, 'TypeError', 1, true, true, '[object Error]', false, 1]);
});

test('stack has no frames any more when many errors came after', t => {
  const stack = new TestRealm().run(
    'const e = new Error("old"); for (let i = 0; i < 100; i++) new Error(); return e.stack;',
  );
  t.is(stack, 'Error: old');
});
