/** What function code threw, as the host gets it: bounded text, whatever was thrown. */
import test from 'ava';
import { guestModules } from './guest-modules.js';

interface Modules {
  failure: { describeFailure(error: unknown, code: string): string };
}

const newRealm = await guestModules<Modules>('failure');
const CODE = 'EDGE_HANDLER_THREW';

for (const [what, expression, expected] of [
  ['an object like an error', `{ name: 'Mine', message: 'm', stack: 's' }`, { name: 'Mine', message: 'm', stack: 's' }],
  ['a function', `Object.assign(() => {}, { message: 'm' })`, { message: 'm' }],
  [
    'members that are no text',
    `{ name: 1, message: { toString() { throw 1 } }, stack: Symbol() }`,
    { name: 'Error', stack: '' },
  ],
  [
    'getters that throw',
    `{ get name() { throw 1 }, get message() { throw 2 }, get stack() { throw 3 } }`,
    { name: 'Error', stack: '' },
  ],
  ['an object that is no error', `{ status: 400 }`, { name: 'Error', message: '{ status: 400 }', stack: '' }],
  [
    'causes',
    `{ message: 'm', stack: 's', cause: { stack: 'of the cause', cause: 'a text' } }`,
    { stack: 's\n[cause]: of the cause\n[cause]: a text' },
  ],
  [
    'causes in a circle',
    `(() => { const e = { message: 'm', stack: 's' }; e.cause = e; return e; })()`,
    { stack: `s${'\n[cause]: s'.repeat(4)}` },
  ],
  [
    'a cause whose getter throws',
    `{ message: 'm', stack: 's', get cause() { throw 1 } }`,
    { message: 'm', stack: 's' },
  ],
  ['undefined', 'undefined', { name: 'Error', message: 'undefined', stack: '' }],
  ['null', 'null', { message: 'null' }],
  ['a text', `'boo'`, { message: 'boo' }],
  ['a BigInt', '12n', { message: '12' }],
  ['a symbol', `Symbol('x')`, { message: 'a Symbol was thrown' }],
  ['line breaks and quotes', `new Error('"a"\\n\\u2028b')`, { message: '"a"\n\u2028b' }],
] as const) {
  test(`describeFailure() describes ${what}`, t => {
    const { modules, evaluate } = newRealm();
    const text = modules.failure.describeFailure(evaluate(expression), CODE);
    t.like(JSON.parse(text), { ...expected, code: CODE });
  });
}

test('describeFailure() describes what cannot be read', t => {
  const { modules, evaluate } = newRealm();
  const revoked = evaluate('(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()');
  const described = JSON.parse(modules.failure.describeFailure(revoked, CODE));
  t.deepEqual(described, { name: 'Error', message: '[value that cannot be inspected]', stack: '', code: CODE });
});

test('describeFailure() bounds what it takes over', t => {
  const { modules, evaluate } = newRealm();
  const huge = evaluate(`{ name: 'n'.repeat(1e6), message: 'm'.repeat(1e6), stack: 's'.repeat(1e6) }`);
  const { name, message, stack } = JSON.parse(modules.failure.describeFailure(huge, CODE));
  t.true(name.length <= 200 && message.length <= 4096 && stack.length <= 16_384);
  t.true(message.length > 0);
});

test('describeFailure() calls no toJSON() and sets no inherited member', t => {
  const { modules, evaluate } = newRealm();
  evaluate(`(() => {
    Object.prototype.toJSON = String.prototype.toJSON = () => 'caught';
    Object.defineProperty(Object.prototype, 'name', { set() { throw new Error('caught'); }, configurable: true });
  })()`);
  const text = modules.failure.describeFailure(evaluate(`{ __proto__: null, message: 'm' }`), CODE);
  t.notRegex(text, /caught/);
});
