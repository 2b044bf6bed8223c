import test from 'ava';
import { TestRealm } from './test-realm.js';

for (const name of [
  'WebAssembly',
  'SharedArrayBuffer',
  'Atomics',
  'FinalizationRegistry',
  'ShadowRealm',
  'process',
  'require',
  'Buffer',
]) {
  test(`globalThis has no ${name}`, t => {
    t.is(new TestRealm().run(`return typeof globalThis[${JSON.stringify(name)}];`), 'undefined');
  });
}

test('eval() and Function() are refused', t => {
  const result = new TestRealm().run(`const names = [];
    for (const code of [() => (0, eval)('1'), () => new Function('1'), () => (async () => {}).constructor('1')]) {
      try { code(); names.push('ran'); } catch (error) { names.push(error instanceof EvalError); }
    }
    return names;`);
  t.deepEqual(result, [true, true, true]);
});

test('the then and constructor of promises cannot be replaced', t => {
  const result = new TestRealm().run(`const { then } = Promise.prototype;
    Promise.prototype.then = () => 'patched';
    const tries = [];
    for (const key of ['then', 'constructor']) {
      try { Object.defineProperty(Promise.prototype, key, { value: 1 }); tries.push('defined'); } catch { tries.push('refused'); }
      try { delete Promise.prototype[key]; tries.push('deleted'); } catch { tries.push('refused'); }
    }
    return [Promise.prototype.then === then, Promise.resolve().constructor === Promise, ...tries];`);
  t.deepEqual(result, [true, true, 'refused', 'refused', 'refused', 'refused']);
});

test('a promise and a subclass can have a then of their own', t => {
  const result = new TestRealm().run(`const promise = Promise.resolve(); promise.then = 1;
    class Mine extends Promise { then() { return 2; } }
    return [promise.then, Mine.resolve().then(), Mine.resolve().constructor === Mine];`);
  t.deepEqual(result, [1, 2, true]);
});

test('ArrayBuffer() refuses to be resizable', t => {
  const result = new TestRealm().run(`const messages = [];
    for (const make of [() => new ArrayBuffer(1, { maxByteLength: 2 }), () => Reflect.construct(ArrayBuffer, [1, { maxByteLength: 2 }]),
      () => new (new Uint8Array(1).buffer.constructor)(1, { maxByteLength: 2 })]) {
      try { make(); messages.push('made'); } catch (error) { messages.push(error.message); }
    }
    return [...messages, new ArrayBuffer(3).byteLength, new ArrayBuffer(3) instanceof ArrayBuffer, ArrayBuffer.isView(new DataView(new ArrayBuffer(1)))];`);
  const refused = 'A resizable ArrayBuffer is not supported';
  t.deepEqual(result, [refused, refused, refused, 3, true, true]);
});

test('Error.stackTraceLimit of the engine cannot be set by any constructor in reach', t => {
  const result = new TestRealm().run(`const limits = [];
    for (let c = TypeError; typeof c === 'function' && c !== Function.prototype; c = Object.getPrototypeOf(c)) c.stackTraceLimit = 10;
    try { undefined.x; } catch (error) { return typeof error.stack; }`);
  t.is(result, 'undefined');
});

test('a guest promise has no own keys', t => {
  t.is(new TestRealm().run('return Reflect.ownKeys(Promise.resolve()).length;'), 0);
});
