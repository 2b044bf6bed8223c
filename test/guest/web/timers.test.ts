import test from 'ava';
import { TestRealm } from '../test-realm.js';

test('setTimeout() passes its arguments', async t => {
  const result = await new TestRealm().runAsync(
    'return new Promise(resolve => setTimeout((a, b) => resolve([a, b]), 0, 1, 2));',
  );
  t.deepEqual(result, [1, 2]);
});

test('setInterval() goes on until it is cleared', async t => {
  const result = await new TestRealm().runAsync(`let n = 0;
    return new Promise(resolve => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); resolve(n); } }, 0); });`);
  t.is(result, 3);
});

test('setTimeout() is refused in the global scope', t => {
  const realm = new TestRealm();
  realm.invocation = 0;
  const message = realm.run('try { setTimeout(() => {}, 0); } catch (error) { return error.message; }');
  t.regex(String(message), /global scope/);
});

test('setTimeout() reports what its callback throws, and code as a string', async t => {
  const realm = new TestRealm();
  await realm.runAsync(
    "setTimeout(() => { throw new Error('late'); }, 0); setTimeout('code', 0); await scheduler.wait(20);",
  );
  t.deepEqual(
    realm.logs.map(({ text }) => text.split('\n')[0]),
    ['Uncaught Error: late', 'Uncaught EvalError: A string is not compiled as the handler of a timer'],
  );
});

test('a timer is forgotten when its invocation is over', t => {
  const realm = new TestRealm();
  realm.run('globalThis.fired = 0; globalThis.id = setTimeout(() => globalThis.fired++, 0);');
  realm.close();
  t.false(realm.timers.has(Number(realm.run('return id;'))));
});

test('scheduler.wait() rejects when its signal aborts', async t => {
  const result = await new TestRealm().runAsync(`const controller = new AbortController();
    const waiting = scheduler.wait(1e6, { signal: controller.signal }); controller.abort('enough');
    return waiting.catch(reason => reason);`);
  t.is(result, 'enough');
});
