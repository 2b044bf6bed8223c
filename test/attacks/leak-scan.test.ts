import test from 'ava';
import { TestRealm } from '../guest/test-realm.js';
import { scan } from './leak-scan.js';

test('everything that guest code reaches is of its own realm', t => {
  const realm = new TestRealm();
  const { objects, leaks } = scan(realm);
  t.deepEqual([...leaks], []);
  t.true(objects.length > 1500, `only ${objects.length} objects were found`);
});

test('the scan finds a host object that is put there on purpose', t => {
  const realm = new TestRealm();
  const define: unknown = realm.evaluate('value => { globalThis.planted = { deep: [value] }; }');
  if (typeof define === 'function') define({ host: 'object' });
  t.true(scan(realm, '[]').leaks.some(path => path.includes('planted.deep')));
});

test('no prototype of the host realm is on the chain of anything that guest code reaches', t => {
  const realm = new TestRealm();
  const { objects, paths } = scan(realm);
  const own = new Set<unknown>([
    Object.prototype,
    Function.prototype,
    Error.prototype,
    Array.prototype,
    Uint8Array.prototype,
  ]);
  const found = objects.flatMap((object, index) => {
    if ((typeof object !== 'object' && typeof object !== 'function') || object === null) return [];
    const prototype: unknown = Reflect.getPrototypeOf(object);
    return own.has(object) || own.has(prototype) || object === realm.hostCall ? [paths[index]] : [];
  });
  t.deepEqual(found, []);
});

test('no error that is made at the edge of the stack is of the host realm', t => {
  const realm = new TestRealm();
  const { leaks } = scan(
    realm,
    `(() => {
      const errors = [];
      const calls = [
        () => new URL('https://example.com'), () => btoa('x'), () => new TextEncoder().encode('é'.repeat(100)),
        () => crypto.randomUUID(), () => new Error().stack, () => structuredClone({}), () => console.log('x'),
        () => performance.now(), () => new TextDecoder().decode(new Uint8Array(100)), () => setTimeout(() => {}, 1),
        () => crypto.subtle.digest('SHA-1', new Uint8Array(1)), () => new Event('x'), () => queueMicrotask(1),
      ];
      for (const call of calls) {
        const recurse = depth => {
          try { recurse(depth + 1); } catch (error) { errors.push(error); }
          if (errors.length < 40) { try { errors.push(call()); } catch (error) { errors.push(error); } }
        };
        try { recurse(0); } catch (error) { errors.push(error); }
        errors.splice(40);
      }
      return errors;
    })()`,
  );
  t.deepEqual([...leaks], []);
});

/** The modules of Node, the answers and errors of their functions and classes, and the prototypes of these classes. */
const NODE_SAMPLES = `(() => {
  const samples = [];
  const make = code => {
    try {
      const sample = code();
      if (sample instanceof Promise) sample.then(() => {}, () => {});
      samples.push(sample);
    } catch (error) { samples.push(error); }
  };
  const inputs = [[], ['a', 'b'], [new Uint8Array(4)], [{}, []], [() => {}], [1, 2, 3], [Symbol()]];
  const quiet = () => {};
  for (const name of [...require('module').builtinModules, 'node:sqlite', 'node:test']) {
    const module = require(name);
    samples.push(module);
    for (const key of Object.getOwnPropertyNames(module)) {
      let value;
      make(() => (value = module[key]));
      if (typeof value !== 'function') continue;
      for (const input of inputs) {
        make(() => module[key](...input));
        make(() => module[key](...input, quiet));
        make(() => new value(...input));
      }
      const { prototype } = value;
      if (typeof prototype !== 'object' || prototype === null) continue;
      for (const member of Reflect.ownKeys(prototype)) {
        if (member === 'constructor') continue;
        let method;
        make(() => (method = prototype[member]));
        if (typeof method === 'function') make(() => prototype[member]());
      }
    }
  }
  const { createHash, createHmac, createSecretKey, randomBytes, generateKeyPairSync, createECDH } = require('crypto');
  make(() => createHash('sha256').update('a').digest());
  make(() => createHmac('sha256', 'key').update('a').digest('hex'));
  make(() => createSecretKey(randomBytes(16)).export({ format: 'jwk' }));
  make(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }));
  make(() => createECDH('prime256v1').generateKeys());
  make(() => require('zlib').gunzipSync(require('zlib').gzipSync('text')));
  make(() => require('zlib').gunzipSync('no gzip'));
  make(() => new (require('async_hooks').AsyncLocalStorage)().run({}, () => process.nextTick(() => {})));
  make(() => Buffer.from('text').toString('base64'));
  make(() => process.memoryUsage());
  make(() => process.stdout);
  return samples;
})()`;

test("everything that Node's modules reach is of the function's realm", async t => {
  const realm = new TestRealm();
  realm.installNode();
  const { objects, paths, leaks } = scan(realm, NODE_SAMPLES);
  t.deepEqual([...leaks], []);
  t.true(objects.length > 5000, `only ${objects.length} objects were found`);
  const own = new Set<unknown>([
    Object.prototype,
    Function.prototype,
    Error.prototype,
    Array.prototype,
    Buffer.prototype,
  ]);
  const found = objects.flatMap((object, index) => {
    if ((typeof object !== 'object' && typeof object !== 'function') || object === null) return [];
    const prototype: unknown = Reflect.getPrototypeOf(object);
    return own.has(object) || own.has(prototype) || object === realm.hostCall ? [paths[index]] : [];
  });
  t.deepEqual(found, []);
});
