/** Walks everything that guest code can reach, by every road of the language (rule R19). */
import type { TestRealm } from '../isolate/guest/test-realm.js';

/**
 * The walk, as guest code: answers an array of all objects found and an array of how the suspicious ones are reached. `roots` is
 * what to begin with beside the global object.
 */
const WALK = `(roots => {
  const { apply, getPrototypeOf, getOwnPropertyDescriptor, ownKeys } = Reflect;
  const ObjectPrototype = Object.prototype;
  const seen = new Map();
  const queue = [];
  const leaks = [];
  const add = (value, path) => {
    // A promise that is rejected and that nobody looks at would end the test.
    if (value instanceof Promise) value.then(() => {}, () => {});
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
    seen.set(value, path);
    queue.push(value);
  };
  const endsAtHome = value => {
    let object = value;
    for (let hops = 0; hops < 100; hops++) {
      const next = getPrototypeOf(object);
      if (next === null) return object === ObjectPrototype || (hops === 0 && typeof object !== 'function');
      object = next;
    }
    return false;
  };
  add(globalThis, 'globalThis');
  for (const [index, root] of roots.entries()) add(root, 'root ' + index);
  while (queue.length > 0) {
    const object = queue.pop();
    const path = seen.get(object);
    if (path.length > 2000) continue;
    if (!endsAtHome(object)) leaks.push(path);
    add(getPrototypeOf(object), path + '.__proto__');
    for (const key of ownKeys(object)) {
      const name = path + '.' + String(key);
      const descriptor = getOwnPropertyDescriptor(object, key);
      if (descriptor === undefined) continue;
      add(descriptor.value, name);
      add(descriptor.get, 'get ' + name);
      add(descriptor.set, 'set ' + name);
      if (descriptor.get !== undefined) {
        try { add(apply(descriptor.get, object, []), name + '()'); } catch (error) { add(error, 'error of ' + name); }
      }
    }
    if (object instanceof Map) for (const [key, value] of object) { add(key, path + ' key'); add(value, path + ' value'); }
    if (object instanceof Set) for (const value of object) add(value, path + ' item');
  }
  return { objects: [...seen.keys()], paths: [...seen.values()], leaks };
})`;

/** One of everything that function code can make, and the errors of everything that fails. */
export const SAMPLES = `(() => {
  const samples = [];
  const make = code => {
    try {
      const sample = code();
      if (sample instanceof Promise) sample.then(() => {}, () => {});
      samples.push(sample);
    } catch (error) { samples.push(error); }
  };
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const value = globalThis[name];
    if (typeof value !== 'function') continue;
    make(() => new value());
    make(() => new value('a', 'b'));
    make(() => new value({}, []));
    make(() => value());
    make(() => value(Symbol()));
    for (const key of Reflect.ownKeys(value)) if (typeof value[key] === 'function') make(() => value[key]());
    if (typeof value.prototype !== 'object' || value.prototype === null) continue;
    for (const key of Reflect.ownKeys(value.prototype)) {
      let member;
      make(() => (member = value.prototype[key]));
      if (typeof member === 'function') make(() => value.prototype[key]());
    }
  }
  make(() => new URL('https://example.com/?a=b'));
  make(() => new URL('https://example.com/?a=b').searchParams.entries());
  make(() => new TextEncoder().encode('text'));
  make(() => new TextDecoder('shift_jis').decode(new Uint8Array(4)));
  make(() => new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])));
  make(() => structuredClone({ map: new Map([[{}, new Set([new Date(), /x/g])]]), error: new TypeError('x') }));
  make(() => structuredClone(() => {}));
  make(() => new MessageChannel().port1);
  make(() => AbortSignal.abort());
  make(() => AbortSignal.any([AbortSignal.abort(), AbortSignal.timeout(1)]));
  make(() => new URLPattern({ pathname: '/:id' }).exec({ pathname: '/x' }));
  make(() => performance.mark('m', { detail: { a: 1 } }));
  make(() => crypto.getRandomValues(new Uint8Array(8)));
  make(() => crypto.subtle.digest('SHA-256', new Uint8Array(8)));
  make(() => new crypto.DigestStream('SHA-256'));
  make(() => new crypto.DigestStream('nothing'));
  make(() => crypto.subtle.timingSafeEqual(new Uint8Array(1), new Uint8Array(2)));
  make(() => eval('1'));
  make(() => new Function('return 1'));
  make(() => null.property);
  make(() => undefinedName);
  make(() => { const recurse = () => recurse(); recurse(); });
  make(() => { const recurse = () => { try { recurse(); } catch (error) { samples.push(error); throw new URL('nothing'); } }; recurse(); });
  make(() => new Array(-1));
  make(() => 'x'.repeat(2 ** 30));
  make(() => JSON.parse('{'));
  make(() => (function* () {})());
  make(() => (async function* () {})());
  make(() => new Intl.DateTimeFormat());
  make(() => new Intl.Segmenter().segment('a b'));
  return samples;
})()`;

export interface Scan {
  readonly objects: readonly unknown[];
  readonly paths: readonly string[];
  readonly leaks: readonly string[];
}

/** Scans a realm. What comes back are guest values: look at them only by identity and by `Reflect.getPrototypeOf`. */
export function scan(realm: TestRealm, roots = SAMPLES): Scan {
  const result = realm.evaluate(`${WALK}(${roots})`);
  realm.close();
  return result as Scan; // what WALK returns
}
