/** Each limit at its bound and past it, with the texts that programs of the hosted platform know. */
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { BUCKET_ERRORS } from '../../../src/bindings/bucket/errors.js';
import { KV_ERRORS } from '../../../src/bindings/kv/errors.js';
import type { KvNamespace } from '../../../src/bindings/kv/types.js';
import { statusIn } from '../../../src/bindings/numeric-code.js';
import { streamOf } from '../bucket/stores.js';
import { contract, START_SECONDS } from './stores.js';

test('a code is that of one kind of error, with its status', t => {
  for (const [code, { status }] of Object.entries(KV_ERRORS)) {
    t.false(Object.hasOwn(BUCKET_ERRORS, code));
    t.is(statusIn(KV_ERRORS, { code: Number(code) }), status);
  }
  t.is(statusIn(KV_ERRORS, { code: 10007 }), undefined);
  t.is(statusIn(KV_ERRORS, null), undefined);
});

test('docs/kv.md has the table of error codes', async t => {
  const page = await readFile('docs/kv.md', 'utf8');
  for (const [code, { status, text }] of Object.entries(KV_ERRORS)) {
    t.regex(page, new RegExp(`\\| ${code} +\\| ${status} +\\| ${text} +\\|`));
  }
});

contract('a key of 512 bytes is taken and one of 513 is refused, at every method', async (t, { kv }) => {
  for (const character of ['k', '\u00e9', '\u{1f600}']) {
    const most = character.repeat(512 / Buffer.byteLength(character));
    await kv.put(most, 'v');
    t.is(await kv.get(most), 'v');
    t.is((await kv.get([most])).get(most), 'v');
    t.is((await kv.list({ prefix: most })).keys.length, 1);
    await kv.delete(most);
    const over = `${most}k`;
    const text = 'UTF-8 encoded length of 513 exceeds key length limit of 512.';
    const refused = async (call: Promise<unknown>, operation: string): Promise<void> => {
      await t.throwsAsync(call, { message: `KV ${operation} failed: 414 ${text}`, code: 20005 } as object);
    };
    await refused(kv.put(over, 'v'), 'PUT');
    await refused(kv.get(over), 'GET');
    await refused(kv.getWithMetadata(over), 'GET');
    await refused(kv.get([over]), 'GET_BULK');
    await refused(kv.delete(over), 'DELETE');
    await refused(kv.list({ prefix: over }), 'GET');
  }
});

contract('keys of no value are TypeErrors, at every method', async (t, { kv }) => {
  const bad: [unknown, string][] = [
    ['', 'Key name cannot be empty.'],
    ['.', '"." is not allowed as a key name.'],
    ['..', '".." is not allowed as a key name.'],
  ];
  const loose: Record<'get' | 'put' | 'delete', (key: never, value: never) => Promise<unknown>> = kv;
  for (const [key, message] of bad) {
    for (const method of ['get', 'put', 'delete'] as const) {
      await t.throwsAsync(loose[method](key as never, 'text' as never), { name: 'TypeError', message });
    }
    await t.throwsAsync(kv.get([String(key)]), { name: 'TypeError', message });
  }
  await t.throwsAsync(loose.delete(undefined as never, '' as never), {
    name: 'TypeError',
    message: /the key is undefined/,
  });
});

contract(
  'a value of 25 MiB is taken and one byte more is refused, and nothing of it is kept',
  async (t, { kv, storage }) => {
    const most = new Uint8Array(26_214_400);
    await kv.put('a', most);
    t.is((await kv.get('a', 'arrayBuffer'))?.byteLength, most.byteLength);
    await kv.delete('a');
    const before = await storage.context.sums.read('acme');
    const over = { message: 'KV PUT failed: 413 Value length of 26214401 exceeds limit of 26214400.' };
    await t.throwsAsync(kv.put('a', new Uint8Array(26_214_401)), over);
    await t.throwsAsync(kv.put('a', streamOf([most, new Uint8Array(1)])), over);
    t.is(await kv.get('a'), null);
    t.deepEqual(await storage.context.sums.read('acme'), before);
  },
);

contract('metadata of 1024 bytes of JSON is taken and one more is refused', async (t, { kv }) => {
  for (const character of ['m', '\u00e9']) {
    const most = character.repeat(1022 / Buffer.byteLength(character));
    await kv.put('a', 'v', { metadata: most });
    t.is((await kv.getWithMetadata('a')).metadata, most);
    await t.throwsAsync(kv.put('b', 'v', { metadata: `${most}m` }), {
      message: 'KV PUT failed: 413 Metadata length of 1025 exceeds limit of 1024.',
    });
  }
  t.is(await kv.get('b'), null);
});

contract('get() takes 1 to 100 keys', async (t, { kv }) => {
  const keys = Array.from({ length: 100 }, (_, n) => `k${n}`);
  t.is((await kv.get(keys)).size, 100);
  const failed = 'KV GET_BULK failed: 400';
  await t.throwsAsync(kv.get([...keys, 'more']), { message: `${failed} You can request a maximum of 100 keys` });
  await t.throwsAsync(kv.get([]), { message: `${failed} You must request a minimum of 1 key` });
  const loose: { get(keys: string[], type: string): Promise<unknown> } = kv as never;
  await t.throwsAsync(loose.get(['a'], 'arrayBuffer'), {
    message: `${failed} "arrayBuffer" is not a valid type. Use "json" or "text"`,
  });
  await t.throwsAsync(loose.get(['a'], 'stream'), { message: /"stream" is not a valid type/ });
});

contract('get() of many keys returns 25 MiB together and no more', async (t, { kv }) => {
  await kv.put('a', new Uint8Array(26_214_399));
  await kv.put('b', '1');
  await kv.put('c', '2');
  t.is((await kv.get(['a', 'b'])).get('b'), '1');
  await t.throwsAsync(kv.get(['a', 'b', 'c']), { message: /^KV GET_BULK failed: 413 / });
  await kv.delete('a');
});

contract('get() refuses types that are none, and a cacheTtl below 30', async (t, { kv }) => {
  const loose: { get(key: unknown, options: unknown): Promise<unknown> } = kv as never;
  for (const type of ['xml', 1, { type: 'blob' }]) {
    await t.throwsAsync(loose.get('a', type), {
      name: 'TypeError',
      message: 'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".',
    });
  }
  t.is(await kv.get('a', { cacheTtl: 30 }), null);
  await t.throwsAsync(kv.get('a', { cacheTtl: 29 }), {
    message: 'KV GET failed: 400 Invalid cache_ttl of 29. Cache TTL must be at least 30.',
  });
  await t.throwsAsync(kv.get('a', { cacheTtl: Number.NaN }), { message: /Invalid cache_ttl of NaN/ });
});

contract('expirationTtl is 60 seconds at least', async (t, { kv }) => {
  await kv.put('a', 'v', { expirationTtl: 60 });
  t.deepEqual((await kv.list()).keys, [{ name: 'a', expiration: START_SECONDS + 60 }]);
  const failed = 'KV PUT failed: 400 Invalid expiration_ttl of';
  await t.throwsAsync(kv.put('b', 'v', { expirationTtl: 59 }), {
    message: `${failed} 59. Expiration TTL must be at least 60.`,
  });
  for (const expirationTtl of [0, -1, 60.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    await t.throwsAsync(kv.put('b', 'v', { expirationTtl }), {
      message: `${failed} ${expirationTtl}. Please specify integer greater than 0.`,
    });
  }
  t.is(await kv.get('b'), null);
});

contract('expiration is 60 seconds ahead at least, and expirationTtl goes before it', async (t, { kv }) => {
  await kv.put('a', 'v', { expiration: START_SECONDS + 60 });
  await kv.put('b', 'v', { expiration: START_SECONDS + 60, expirationTtl: 100 });
  await kv.put('c', 'v', { expiration: 253_402_300_799 });
  t.deepEqual(
    (await kv.list()).keys.map(({ expiration }) => expiration),
    [START_SECONDS + 60, START_SECONDS + 100, 253_402_300_799],
  );
  const failed = 'KV PUT failed: 400 Invalid expiration of';
  await t.throwsAsync(kv.put('d', 'v', { expiration: START_SECONDS + 59 }), {
    message: `${failed} ${START_SECONDS + 59}. Expiration times must be at least 60 seconds in the future.`,
  });
  for (const expiration of [START_SECONDS, 0, -1, Number.NaN]) {
    await t.throwsAsync(kv.put('d', 'v', { expiration }), {
      message: `${failed} ${expiration}. Please specify integer greater than the current number of seconds since the UNIX epoch.`,
    });
  }
  await t.throwsAsync(kv.put('d', 'v', { expiration: 253_402_300_800 }), { message: /The last time of expiry is/ });
  await t.throwsAsync(kv.put('d', 'v', { expirationTtl: Number.MAX_SAFE_INTEGER }), { message: /The last time/ });
  t.is(await kv.get('d'), null);
});

contract('list() has 1000 keys at most, and as many when the limit is 0 or less', async (t, { kv }) => {
  await t.notThrowsAsync(kv.list({ limit: 1000 }));
  await t.throwsAsync(kv.list({ limit: 1001 }), {
    message: 'KV GET failed: 400 Invalid key_count_limit of 1001. Please specify an integer less than 1000.',
  });
  for (const limit of [0, -5, null]) t.deepEqual((await kv.list({ limit })).keys, []);
  const loose: { list(options: unknown): Promise<unknown> } = kv as KvNamespace;
  await t.throwsAsync(loose.list({ limit: Number.NaN }), { message: /Invalid key_count_limit of NaN/ });
  await t.throwsAsync(loose.list({ cursor: '%' }), {
    message: /^KV GET failed: 400 Invalid cursor. It is the string "%"/,
  });
  await t.throwsAsync(loose.list(5), { name: 'TypeError' });
});
