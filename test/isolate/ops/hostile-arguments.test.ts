import vm from 'node:vm';
import test from 'ava';
import { Op } from '../../../src/isolate/ops/table.js';
import { TestRealm } from '../../guest/test-realm.js';

/** Values of the guest realm that an op must never act upon. */
function hostileValues(realm: TestRealm): unknown[] {
  const values: unknown = vm.runInContext(
    `[
      undefined, null, true, -1, 0, 1, 0.5, NaN, Infinity, -0, 2 ** 31, 2 ** 53, '', 'x', '\\ud800', 'x'.repeat(300), 1n, Symbol('s'),
      {}, [], () => {}, new Uint8Array(0), new Uint8Array(3), new Uint16Array(3), new ArrayBuffer(3), new DataView(new ArrayBuffer(3)),
      new Proxy({}, { get() { throw 1; } }), { valueOf() { throw 1; }, toString() { throw 1; } },
      Object.defineProperty(new Uint8Array(3), 'byteLength', { value: 2 ** 40 }),
      Object.setPrototypeOf(new Uint8Array(3), null),
      '[{"k":1}]', '[{"b":[0,99999999]}]', '[{"b":[-5,"x"]}]', '[{"o":{"__proto__":{"o":{}}}}]', '[[[[[[1]]]]]]', 'importKey',
    ]`,
    realm.realm.context,
  );
  return Array.isArray(values) ? values : [];
}

const operations = Array.from({ length: Op.Count }, (_, op) => op);

for (const op of operations) {
  test(`hostCall(${Op[op] ?? op}) answers with a primitive whatever its arguments are`, t => {
    const realm = new TestRealm();
    const values = hostileValues(realm);
    t.true(values.length > 30);
    for (const a of values) {
      for (const b of values) {
        const answer = realm.hostCall(op, a, b, a, b);
        if (!['number', 'string', 'undefined'].includes(typeof answer)) t.fail(`answered with ${typeof answer}`);
      }
    }
    realm.close();
    t.pass();
  });
}

for (const op of [-1, 0.5, Op.Count, 2 ** 32, Number.NaN, '1', {}, undefined]) {
  test(`hostCall() refuses ${String(op)} as the number of an operation`, t => {
    t.is(new TestRealm().hostCall(op, 1, 2, 3, 4), -0x7fffffff);
  });
}
