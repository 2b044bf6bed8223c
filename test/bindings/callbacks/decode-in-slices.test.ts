import test from 'ava';
import fc from 'fast-check';
import { CallbackGate } from '../../../src/bindings/callbacks/callback-gate.js';
import { decodeValue, ValueDecoder } from '../../../src/bindings/callbacks/decode.js';
import { countedBytes, decodeInSlices } from '../../../src/bindings/callbacks/decode-in-slices.js';
import { encodeValue } from '../../../src/bindings/callbacks/encode.js';
import { isIndex, objectFrom } from '../../../src/quotas/host/chosen-names.js';
import { countedWork } from '../counted-work.js';

const NO_PARTS = { bytes: [], stream: undefined };
const NEVER = new AbortController().signal;
const MEBIBYTE = 1024 * 1024;

const names = fc.oneof(
  fc.string().filter(name => name !== '__proto__'),
  fc.constantFrom(
    'constructor',
    'toString',
    'valueOf',
    'length',
    '0',
    '1',
    '17',
    '1023',
    '2500',
    '4294967294',
    '4294967295',
    '01',
    '-1',
  ),
  fc.nat().map(String),
);

const values = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constantFrom(null, undefined, -0), fc.bigInt()),
    fc.date(),
    fc.array(tie('value')),
    fc.array(fc.tuple(names, tie('value'))).map(entries => Object.fromEntries(entries)),
    fc.array(fc.tuple(tie('value'), tie('value'))).map(entries => new Map(entries)),
    fc.array(tie('value')).map(items => new Set(items)),
    fc.tuple(fc.string(), tie('value')).map(([message, cause]) => new Error(message, { cause })),
  ),
})).value;

test('decodeValue() gives what was encoded, at once and in slices', t => {
  fc.assert(
    fc.property(values, value => {
      const json: unknown = JSON.parse(JSON.stringify(encodeValue(value, 'it').json));
      const whole = decodeValue(json, NO_PARTS);
      // The same text: names and items in their order.
      const again = JSON.stringify(encodeValue(whole, 'it').json);
      if (again !== JSON.stringify(json)) throw new Error(`${again} is not ${JSON.stringify(json)}`);
      const decoder = new ValueDecoder(json, NO_PARTS);
      while (!decoder.run(0)); // each run ends after a few steps
      if (JSON.stringify(encodeValue(decoder.value, 'it').json) !== again)
        throw new Error('In slices it is another value');
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('decodeInSlices() lets others go on between slices, and waits for the turn of the account', async t => {
  const work = countedWork();
  const encoded = ['a', ...Array.from({ length: 60_000 }, (_, i) => ['m', `a${i}`, i, `b${i}`, i])];
  let rounds = 0;
  const count = (): void => {
    rounds++;
    round = setImmediate(count);
  };
  let round = setImmediate(count);
  t.teardown(() => clearImmediate(round));
  work.hold();
  let isDone = false;
  const decoding = decodeInSlices(encoded, NO_PARTS, work).then(({ value }) => {
    isDone = true;
    return value;
  });
  while (work.held === 0) await new Promise(setImmediate);
  t.false(isDone);
  t.true(work.spentMs > 0);
  const before = rounds;
  work.go();
  const value = await decoding;
  t.true(Array.isArray(value) && value.length === 60_000);
  t.true(rounds > before);
});

test('a cell cannot have the host make objects that are larger than their indexes are many', t => {
  const encoded = ['a', ...Array.from({ length: 4_000 }, () => ['o', '1023', 0, '2500', 0])];
  const before = process.memoryUsage().heapUsed;
  const value = decodeValue(encoded, NO_PARTS);
  const grown = process.memoryUsage().heapUsed - before;
  // With lists for the indexes it was 120 MB.
  t.true(grown < 40 * MEBIBYTE, `${grown}`);
  t.true(Array.isArray(value));
  t.deepEqual(Array.isArray(value) && value[3_999], { 1023: 0, 2500: 0 });
  t.true(countedBytes(encoded, countedWork()) > 1_500_000);
});

test('objectFrom() makes what Object.fromEntries() makes', t => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.oneof(names, fc.constant('__proto__')), fc.nat())), entries => {
      const made = Object.entries(objectFrom(entries));
      if (JSON.stringify(made) !== JSON.stringify(Object.entries(Object.fromEntries(entries))))
        throw new Error('They differ');
      if (Object.getPrototypeOf(objectFrom(entries)) !== Object.prototype) throw new Error('It has another prototype');
    }),
  );
  t.true(isIndex('4294967294'));
  for (const name of ['4294967295', '01', '', '1a', '-1', '1.5']) t.false(isIndex(name), name);
});

test('CallbackGate.takeBytes() has calls wait in order for memory, but not one that is alone', async t => {
  const gate = new CallbackGate('acme', 10);
  t.is(gate.takeBytes(100 * MEBIBYTE, NEVER), undefined);
  const order: string[] = [];
  const large = gate.takeBytes(20 * MEBIBYTE, NEVER)?.then(() => order.push('large'));
  const abort = new AbortController();
  const gone = gate.takeBytes(1, abort.signal);
  const small = gate.takeBytes(MEBIBYTE, NEVER)?.then(() => order.push('small'));
  const waits = gate.takeBytes(20 * MEBIBYTE, NEVER)?.then(() => order.push('second'));
  abort.abort(new Error('gone'));
  await t.throwsAsync(async () => gone, { message: 'gone' });
  t.deepEqual(order, []);
  gate.giveBytes(100 * MEBIBYTE);
  await Promise.all([large, small]);
  t.deepEqual(order, ['large', 'small']);
  gate.giveBytes(20 * MEBIBYTE);
  await waits;
  t.deepEqual(order, ['large', 'small', 'second']);
});

test('CallbackGate.takeBytes() refuses a call that has waited for memory for too long', async t => {
  const gate = new CallbackGate('acme', 10, 1);
  t.is(gate.takeBytes(20 * MEBIBYTE, NEVER), undefined);
  await t.throwsAsync(async () => gate.takeBytes(10 * MEBIBYTE, NEVER), {
    code: 'EDGE_OVERLOADED',
    message: /account "acme": the arguments of its calls take 20971520 bytes/,
  });
  gate.giveBytes(20 * MEBIBYTE);
  t.is(gate.takeBytes(10 * MEBIBYTE, NEVER), undefined, 'who has given up holds nothing');
});
