import test from 'ava';
import { inGuest } from '../guest.js';
import { TestRealm } from '../test-realm.js';

/** Every global name of the hosted platform, and the members that are its own. */
const PLATFORM =
  `AbortController AbortSignal.abort AbortSignal.any AbortSignal.timeout Blob Body ByteLengthQueuingStrategy Cache CacheStorage CloseEvent Cloudflare
  Cloudflare.compatibilityFlags CompressionStream CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DecompressionStream ErrorEvent Event
  EventSource EventSource.from EventTarget ExtendableEvent FetchEvent File FinalizationRegistry FixedLengthStream FormData HTMLRewriter Headers
  IdentityTransformStream MessageChannel MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark PerformanceMeasure
  PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming PromiseRejectionEvent ReadableByteStreamController ReadableStream
  ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController ReadableStreamDefaultReader Request Response Response.json
  Response.redirect Response.error ScheduledEvent ServiceWorkerGlobalScope SubtleCrypto TailEvent TextDecoder TextDecoderStream TextEncoder
  TextEncoderStream TraceEvent TransformStream TransformStreamDefaultController URL URL.canParse URL.parse URLPattern URLSearchParams WeakRef WebAssembly
  WebSocket WebSocketPair WebSocketRequestResponsePair WorkerGlobalScope WritableStream WritableStreamDefaultController WritableStreamDefaultWriter
  addEventListener atob btoa caches.default caches.open clearInterval clearTimeout console.assert console.clear console.count console.countReset
  console.debug console.dir console.dirxml console.error console.group console.groupCollapsed console.groupEnd console.info console.log console.table
  console.time console.timeEnd console.timeLog console.timeStamp console.trace console.warn crypto.DigestStream crypto.getRandomValues crypto.randomUUID
  crypto.subtle.decrypt crypto.subtle.deriveBits crypto.subtle.deriveKey crypto.subtle.digest crypto.subtle.encrypt crypto.subtle.exportKey
  crypto.subtle.generateKey crypto.subtle.importKey crypto.subtle.sign crypto.subtle.timingSafeEqual crypto.subtle.unwrapKey crypto.subtle.verify
  crypto.subtle.wrapKey dispatchEvent fetch navigator.hardwareConcurrency navigator.sendBeacon navigator.userAgent origin
  performance.getEntries performance.mark performance.measure performance.now performance.timeOrigin queueMicrotask removeEventListener reportError
  scheduler.wait self setInterval setTimeout structuredClone`
    .split(/\s+/)
    .filter(name => name !== '');

/** The names that functions do not have, each with its reason. */
const MISSING: Readonly<Record<string, string>> = {
  Body: 'not in the standard, where Request and Response have the members themselves',
  FinalizationRegistry: 'its callbacks would run outside of events',
  PerformanceResourceTiming: 'requests make no performance entries',
  ServiceWorkerGlobalScope: 'the global object has no class of its own',
  TailEvent: 'tails are handlers of modules',
  TraceEvent: 'tails are handlers of modules',
  WebAssembly: 'it compiles code',
  WorkerGlobalScope: 'the global object has no class of its own',
};

test('a function finds every name of the platform but those of a list', async t => {
  const find = `return ${JSON.stringify(PLATFORM)}.filter(path => path.split('.').reduce((object, name) => object?.[name], globalThis) === undefined);`;
  const missing = await inGuest(t, find);
  t.deepEqual(missing, Object.keys(MISSING));
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
