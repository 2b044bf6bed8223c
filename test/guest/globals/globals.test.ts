import test from 'ava';
import { inGuest } from '../guest.js';
import { TestRealm } from '../test-realm.js';

/** What functions of the hosted platform are written for. */
const PLATFORM =
  `fetch Request Response Headers FormData Blob File ReadableStream ReadableByteStreamController WritableStream TransformStream
  ByteLengthQueuingStrategy CountQueuingStrategy TextEncoderStream TextDecoderStream CompressionStream DecompressionStream FixedLengthStream
  IdentityTransformStream URL URLSearchParams URLPattern TextEncoder TextDecoder crypto.getRandomValues crypto.randomUUID crypto.DigestStream
  crypto.subtle.generateKey crypto.subtle.importKey crypto.subtle.exportKey crypto.subtle.deriveKey crypto.subtle.deriveBits crypto.subtle.sign
  crypto.subtle.verify crypto.subtle.encrypt crypto.subtle.decrypt crypto.subtle.wrapKey crypto.subtle.unwrapKey crypto.subtle.digest
  crypto.subtle.timingSafeEqual AbortController AbortSignal.timeout AbortSignal.any Event EventTarget CustomEvent MessageChannel setTimeout
  setInterval clearTimeout clearInterval scheduler.wait queueMicrotask reportError structuredClone atob btoa performance.now
  performance.timeOrigin console.log navigator.userAgent addEventListener`
    .split(/\s+/)
    .filter(name => name !== '');

test('a function finds every name of the platform', async t => {
  const find = `return ${JSON.stringify(PLATFORM)}.filter(path => path.split('.').reduce((object, name) => object?.[name], globalThis) === undefined);`;
  t.deepEqual(await inGuest(t, find), []);
});

test('interfaces are not enumerable properties of globalThis, operations are', t => {
  const result =
    new TestRealm().run(`return ['URL', 'AbortSignal', 'console', 'setTimeout', 'structuredClone'].map(name => {
    const { writable, configurable, enumerable } = Object.getOwnPropertyDescriptor(globalThis, name);
    return [writable, configurable, enumerable];
  });`);
  t.deepEqual(result, [
    [true, true, false],
    [true, true, false],
    [true, true, false],
    [true, true, true],
    [true, true, true],
  ]);
});

test('every interface has its name, its tag and enumerable members', t => {
  const result = new TestRealm().run(`const wrong = [];
    for (const name of Object.getOwnPropertyNames(globalThis)) {
      const value = globalThis[name];
      if (typeof value !== 'function' || !/^[A-Z]/.test(name) || typeof value.prototype !== 'object') continue;
      if (value.toString().includes('[native code]')) continue;
      if (/^function (Wrapped|FixedArrayBuffer)/.test(value.toString())) continue;
      if (value.name !== name) wrong.push(name + ' is named ' + value.name);
      if (value.prototype[Symbol.toStringTag] !== name) wrong.push(name + ' has the tag ' + value.prototype[Symbol.toStringTag]);
      if (value.prototype.constructor !== value) wrong.push(name + ' has another constructor');
      for (const key of Object.getOwnPropertyNames(value.prototype)) {
        if (key !== 'constructor' && !Object.getOwnPropertyDescriptor(value.prototype, key).enumerable) wrong.push(name + '.' + key);
      }
    }
    return wrong;`);
  t.deepEqual(result, []);
});

test('self is globalThis, and events of the global scope have it as their target', t => {
  const result = new TestRealm().run(`const seen = [];
    addEventListener('custom', event => seen.push(event.target === globalThis, event.currentTarget === self));
    dispatchEvent(new Event('custom'));
    return [self === globalThis, ...seen];`);
  t.deepEqual(result, [true, true, true]);
});

test('reportError() logs what no listener of error cancels', t => {
  const realm = new TestRealm();
  realm.run(
    "reportError(new TypeError('first')); addEventListener('error', e => e.preventDefault()); reportError(new Error('second'));",
  );
  t.is(realm.logs.length, 1);
  t.regex(String(realm.logs[0]?.text), /^Uncaught TypeError: first/);
});

test('queueMicrotask() reports what the callback throws', async t => {
  const realm = new TestRealm();
  await realm.runAsync("queueMicrotask(() => { throw new Error('in microtask'); }); await 0; await 0;");
  t.regex(String(realm.logs[0]?.text), /^Uncaught Error: in microtask/);
});
