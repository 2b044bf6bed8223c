/** The function that uses a bucket, and how it is called. */
import type { EdgeFunction, StoreBucket, StoreObjectBody } from '../../src/index.js';

/** `/put`, `/get`, `/head`, `/list`, `/groups`, `/warmGroups` call the bucket `count` times, one after the other; `/upload` and `/download` stream. */
export const BUCKET_FUNCTION = `
const value = 'v'.repeat(1024);
const actions = {
  put: (bucket, key) => bucket.put(key, value),
  get: async (bucket, key) => (await bucket.get(key)).text(),
  head: (bucket, key) => bucket.head(key),
  list: (bucket, _, serial) => bucket.list({ startAfter: String(Math.floor(serial / 100)).padStart(6, '0') }),
  groups: bucket => bucket.list({ delimiter: '/' }),
  warmGroups: bucket => bucket.list({ delimiter: '/', prefix: 'warm/' }),
};

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const name = pathname.slice(1);
    if (name === 'upload') {
      await env.FILES.put('large', request.body);
      return new Response('done');
    }
    if (name === 'download') return new Response((await env.FILES.get('large')).body);
    const count = Number(searchParams.get('count'));
    const serial = Number(searchParams.get('serial'));
    for (let at = serial; at < serial + count; at++) await actions[name](env.FILES, 'key-' + (at % 1000), at);
    return new Response('done');
  },
};
`;

export type BucketAction = 'put' | 'get' | 'head' | 'list' | 'groups' | 'warmGroups';

/** Calls the function, which makes `count` calls to its bucket with keys from `serial` on. */
export async function callBucket(fn: EdgeFunction, action: BucketAction, count: number, serial: number): Promise<void> {
  const response = await fn.fetch(`https://example.com/${action}?count=${count}&serial=${serial}`);
  const text = await response.text();
  if (text !== 'done') throw new Error(`The function's ${action} answered ${response.status} ${text.slice(0, 200)}`);
}

/** An object that is there, with its body. */
export async function content(bucket: StoreBucket, key: string): Promise<StoreObjectBody> {
  const object = await bucket.get(key);
  if (object === null) throw new Error(`The bucket has no object "${key}"`);
  return object;
}
