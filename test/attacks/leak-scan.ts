/** Walks everything that guest code can reach, by every road of the language (rule R19). */
import type { TestRealm } from '../guest/test-realm.js';
import { WALK } from './walk.js';

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

const SCAN = `(roots => {
  ${WALK}
  const found = walk(roots, roots.length, true, 1_000_000);
  const list = (items, length) => Object.assign(new Array(length), items);
  return { objects: list(found.objects, found.count), paths: list(found.paths, found.count), leaks: list(found.leaks, found.leakCount) };
})`;

/** Scans a realm. What comes back are guest values: look at them only by identity and by `Reflect.getPrototypeOf`. */
export function scan(realm: TestRealm, roots = SAMPLES): Scan {
  const result = realm.evaluate(`${SCAN}(${roots})`);
  realm.close();
  return result as Scan; // what SCAN returns
}
