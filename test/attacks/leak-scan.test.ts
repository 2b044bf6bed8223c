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
