import fc from 'fast-check';
import type { StoreBucket, StoreObject } from '../../../src/bindings/bucket/types.js';
import { contract } from './stores.js';

const METHODS = ['put', 'putNew', 'putOver', 'delete', 'deleteAll', 'multipart', 'get', 'head'] as const;
const KEYS = ['a', 'b'] as const;
type Call = readonly [method: (typeof METHODS)[number], key: (typeof KEYS)[number]];

/** Does one call; answers the object it made. */
async function run(bucket: StoreBucket, [method, key]: Call, value: string): Promise<StoreObject | null> {
  switch (method) {
    case 'put':
      return bucket.put(key, value);
    case 'putNew':
      return bucket.put(key, value, { onlyIf: { etagDoesNotMatch: '*' } });
    case 'putOver': {
      const etag = (await bucket.head(key))?.etag ?? 'none';
      return bucket.put(key, value, { onlyIf: { etagMatches: etag } });
    }
    case 'delete':
      await bucket.delete(key);
      return null;
    case 'deleteAll':
      await bucket.delete([...KEYS]);
      return null;
    case 'multipart': {
      const upload = await bucket.createMultipartUpload(key);
      return upload.complete([await upload.uploadPart(1, value)]);
    }
    case 'get':
      await (await bucket.get(key))?.text();
      return null;
    case 'head':
      await bucket.head(key);
      return null;
  }
}

contract('head(), get() and list() see one state, whatever was called at once before', async (t, { bucket }) => {
  const call: fc.Arbitrary<Call> = fc.tuple(fc.constantFrom(...METHODS), fc.constantFrom(...KEYS));
  const rounds = fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 5 });
  let serial = 0;
  await fc.assert(
    fc.asyncProperty(rounds, async list => {
      const values = new Map<string, string>();
      for (const calls of list) {
        await Promise.all(
          calls.map(async each => {
            const value = `value ${serial++}`;
            const made = await run(bucket, each, value);
            if (made !== null) values.set(`${each[1]} ${made.version}`, value);
          }),
        );
        // A listing reads the records themselves.
        const listed = new Map((await bucket.list()).objects.map(({ key, version }) => [key, version]));
        for (const key of KEYS) {
          const version = listed.get(key);
          const object = await bucket.get(key);
          if (object?.version !== version || (await bucket.head(key))?.version !== version) return false;
          const known = values.get(`${key} ${version}`);
          if (known !== undefined && object !== null && 'text' in object && (await object.text()) !== known)
            return false;
        }
      }
      return true;
    }),
    { numRuns: 60 },
  );
  t.pass();
});

contract('put() that is create-only has one winner when the key was just read and deleted', async (t, { bucket }) => {
  for (let round = 0; round < 20; round++) {
    await bucket.put('key', 'before');
    t.not(await bucket.head('key'), null);
    await bucket.delete('key');
    const puts = Array.from({ length: 8 }, (_, at) =>
      bucket.put('key', `${at}`, { onlyIf: { etagDoesNotMatch: '*' } }),
    );
    const winners = (await Promise.all(puts)).filter(made => made !== null);
    t.is(winners.length, 1);
    t.is((await bucket.head('key'))?.version, winners[0]?.version);
  }
});
