import test from 'ava';
import { conditionHolds } from '../../../src/bindings/bucket/conditions.js';
import type { Condition } from '../../../src/bindings/bucket/engine.js';
import type { StoreGetOptions } from '../../../src/bindings/bucket/types.js';
import { contract } from './stores.js';

const object = { etag: 'abc', uploaded: 10_500 };
const strong = (value: string) => [{ kind: 'strong', value } as const];
const any = [{ kind: 'any' } as const];

const TABLE: readonly (readonly [string, Condition, boolean, boolean])[] = [
  // what, condition, with the object, with none
  ['no field', {}, true, true],
  ['etagMatches the etag', { etagMatches: strong('abc') }, true, false],
  ['etagMatches another', { etagMatches: strong('x') }, false, false],
  ['etagMatches any', { etagMatches: any }, true, false],
  ['etagMatches weakly', { etagMatches: [{ kind: 'weak', value: 'abc' }] }, false, false],
  ['etagDoesNotMatch the etag', { etagDoesNotMatch: strong('abc') }, false, true],
  ['etagDoesNotMatch another', { etagDoesNotMatch: strong('x') }, true, true],
  ['etagDoesNotMatch any', { etagDoesNotMatch: any }, false, true],
  ['etagDoesNotMatch weakly', { etagDoesNotMatch: [{ kind: 'weak', value: 'abc' }] }, false, true],
  ['uploadedBefore later', { uploadedBefore: 10_501 }, true, true],
  ['uploadedBefore the same', { uploadedBefore: 10_500 }, false, true],
  ['uploadedBefore earlier', { uploadedBefore: 10_499 }, false, true],
  ['uploadedBefore earlier, etag held', { uploadedBefore: 1, etagMatches: strong('abc') }, true, false],
  ['uploadedBefore later, etag failed', { uploadedBefore: 99_999, etagMatches: strong('x') }, false, false],
  ['uploadedAfter earlier', { uploadedAfter: 10_499 }, true, false],
  ['uploadedAfter the same', { uploadedAfter: 10_500 }, false, false],
  ['uploadedAfter later', { uploadedAfter: 10_501 }, false, false],
  ['uploadedAfter later, etag held', { uploadedAfter: 99_999, etagDoesNotMatch: strong('x') }, true, false],
  ['uploadedAfter earlier, etag failed', { uploadedAfter: 1, etagDoesNotMatch: strong('abc') }, false, false],
  ['both dates, one failing', { uploadedAfter: 1, uploadedBefore: 2 }, false, false],
  ['unmodified since its second', { uploadedBefore: 10_000, secondsGranularity: true }, true, true],
  ['unmodified since the second before', { uploadedBefore: 9_999, secondsGranularity: true }, false, true],
  ['modified since its second', { uploadedAfter: 10_000, secondsGranularity: true }, false, false],
  ['modified since the second before', { uploadedAfter: 9_999, secondsGranularity: true }, true, false],
];

for (const [title, condition, withObject, withNone] of TABLE) {
  test(`conditionHolds() decides when the condition is: ${title}`, t => {
    t.is(conditionHolds(condition, object), withObject);
    t.is(conditionHolds(condition, undefined), withNone);
  });
}

contract('get() returns the metadata alone when the condition fails', async (t, { bucket }) => {
  await bucket.put('key', 'value');
  const object = await bucket.get('key', { onlyIf: { etagMatches: 'other' }, range: { offset: 99 } });
  t.is(object?.size, 5);
  t.false(object === null || 'body' in object);
});

contract('get() takes conditions as Headers', async (t, { bucket, now }) => {
  const etag = (await bucket.put('key', 'value'))?.httpEtag ?? '';
  const date = (ms: number) => new Date(now + ms).toUTCString();
  const cases: readonly [Record<string, string>, boolean][] = [
    [{ 'If-Match': etag }, true],
    [{ 'If-Match': `"x", ${etag}` }, true],
    [{ 'If-Match': `W/${etag}` }, false],
    [{ 'If-Match': '*' }, true],
    [{ 'If-None-Match': etag }, false],
    [{ 'If-None-Match': `W/${etag}` }, false],
    [{ 'If-None-Match': '"x","y"' }, true],
    [{ 'If-Modified-Since': date(0) }, false],
    [{ 'If-Modified-Since': date(-1000) }, true],
    [{ 'If-Unmodified-Since': date(0) }, true],
    [{ 'If-Unmodified-Since': date(-1000) }, false],
    [{ 'If-Unmodified-Since': date(-1000), 'If-Match': etag }, true],
    [{ 'If-Modified-Since': 'nonsense' }, true],
    [{ 'If-Modified-Since': new Date(now + 60_000).toISOString() }, true],
    [{ 'If-Unmodified-Since': new Date(now - 60_000).toISOString() }, true],
    [{ 'If-Range': '"x"' }, true],
  ];
  for (const [headers, holds] of cases) {
    const found = await bucket.get('key', { onlyIf: new Headers(headers) });
    t.is(found !== null && 'body' in found, holds, JSON.stringify(headers));
  }
});

for (const list of ['abc', '"a" "b"', '"a",', '"a', 'W/a', '']) {
  contract(`get() refuses the If-Match list ${list}`, async (t, { bucket }) => {
    const onlyIf = { get: (name: string) => (name === 'if-match' ? list : null), set: () => {}, has: () => true };
    await t.throwsAsync(Reflect.apply(bucket.get, bucket, ['key', { onlyIf }]), {
      instanceOf: TypeError,
      message: /^get: the If-Match header/,
    });
  });
}

contract('put() answers null and stores nothing when the condition fails', async (t, { bucket }) => {
  await bucket.put('key', 'old');
  for (const value of ['new', 'n'.repeat(100_000)]) {
    t.is(await bucket.put('key', value, { onlyIf: { etagMatches: 'other' } }), null);
    t.is(await bucket.put('key', value, { onlyIf: { etagDoesNotMatch: '*' } }), null);
  }
  t.is((await bucket.head('key'))?.size, 3);
});

contract('put() has one winner when many create the same key', async (t, { bucket }) => {
  const puts = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      bucket.put('key', `${index}`.repeat(index * 5000 + 1), { onlyIf: new Headers({ 'If-None-Match': '*' }) }),
    ),
  );
  const winners = puts.filter(put => put !== null);
  t.is(winners.length, 1);
  t.is((await bucket.head('key'))?.version, winners[0]?.version);
});

contract('put() loses no update when many compare and swap one counter', async (t, { bucket }) => {
  await bucket.put('counter', '0');
  const increment = async () => {
    for (;;) {
      const object = await bucket.get('counter');
      if (object === null || !('body' in object)) throw new Error('the counter is gone');
      const next = `${Number(await object.text()) + 1}`;
      if ((await bucket.put('counter', next, { onlyIf: { etagMatches: object.etag } })) !== null) return;
    }
  };
  await Promise.all(Array.from({ length: 10 }, increment));
  const object = await bucket.get('counter');
  t.is(object !== null && 'body' in object ? await object.text() : '', '10');
});

contract('put() reports a wrong checksum before a failed condition', async (t, { bucket }) => {
  await t.throwsAsync(bucket.put('key', 'x', { md5: '0'.repeat(32), onlyIf: { etagMatches: 'x' } }), {
    message: /\(10037\)$/,
  });
});

contract('onlyIf refuses an etag in quotes and what is no string or Date', async (t, { bucket }) => {
  const wrong: readonly unknown[] = [
    { etagMatches: '"x"' },
    { etagDoesNotMatch: 1 },
    { uploadedBefore: 'now' },
    'x',
    1,
  ];
  for (const onlyIf of [...wrong, { uploadedAfter: new Date(Number.NaN) }]) {
    const options: StoreGetOptions = {};
    Reflect.set(options, 'onlyIf', onlyIf);
    await t.throwsAsync(bucket.get('key', options), { instanceOf: TypeError, message: /^get: onlyIf/ });
  }
});
