/** Compiled, these are tests of the types: what must not compile says so with @ts-expect-error. */
import test from 'ava';
import type {
  StoreBucket,
  StoreGetOptions,
  StoreObject,
  StoreObjectBody,
  StoreObjects,
  StoreRange,
} from '../../../src/index.js';
import { openStore } from './stores.js';

/** Compiles when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;

async function read(bucket: StoreBucket, options: StoreGetOptions) {
  const plain = await bucket.get('key');
  const ranged = await bucket.get('key', { range: { offset: 1, length: 2 } });
  const conditional = await bucket.get('key', { onlyIf: { etagMatches: 'x' } });
  const either = await bucket.get('key', options);
  return { plain, ranged, conditional, either };
}

type Read = Awaited<ReturnType<typeof read>>;

test('get() has a body in its type unless there are conditions', async t => {
  const exact: [
    Same<Read['plain'], StoreObjectBody | null>,
    Same<Read['ranged'], StoreObjectBody | null>,
    Same<Read['conditional'], StoreObjectBody | StoreObject | null>,
    Same<Read['either'], StoreObjectBody | StoreObject | null>,
  ] = [true, true, true, true];
  t.is(exact.length, 4);
  const { bucket } = await openStore(t, 'memory');
  await bucket.put('key', 'value');
  const { plain, ranged, conditional, either } = await read(bucket, {});
  t.is(await plain?.text(), 'value');
  t.is(await ranged?.text(), 'al');
  t.false(conditional === null || 'body' in conditional);
  t.true(either !== null && 'body' in either);
  // @ts-expect-error: with conditions there may be no body
  t.is(conditional?.text, undefined);
});

test('the types of a range, a value and a page are those of the specification', t => {
  const ranges: StoreRange[] = [{ offset: 1 }, { offset: 1, length: 2 }, { length: 2 }, { suffix: 3 }];
  // @ts-expect-error: a range has a suffix, or an offset or length
  ranges.push({});
  type Put = Parameters<StoreBucket['put']>[1];
  const values: Put[] = [null, '', new Uint8Array(1), new ArrayBuffer(1), new Blob([]), new ReadableStream()];
  // @ts-expect-error: a number is not a value
  values.push(1);
  const same: [
    Same<StoreObjects['cursor'], string | undefined>,
    Same<Parameters<StoreBucket['delete']>, [keys: string | string[]]>,
  ] = [true, true];
  t.deepEqual([ranges.length, values.length, same.length], [5, 7, 2]);
});
