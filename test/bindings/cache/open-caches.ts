/** A storage with caches, as a host opens it. */
import type { ExecutionContext } from 'ava';
import { type CacheEngine, cacheKey, type KeptResponse } from '../../../src/bindings/cache/engine.js';
import { SharedCaches } from '../../../src/bindings/cache/shared-caches.js';
import { cacheKeys, hashOf } from '../../../src/bindings/cache/store/cache-keys.js';
import { cacheStorage } from '../../../src/bindings/cache/store/cache-storage.js';
import { decodeEntry } from '../../../src/bindings/cache/store/entry-codec.js';
import type { ServiceBody } from '../../../src/bindings/service.js';
import { Storage, type StorageOptions } from '../../../src/storage/storage.js';

export interface Caches {
  readonly storage: Storage;
  readonly shared: SharedCaches;
  readonly close: () => Promise<void>;
}

export async function openCachesAt(location: string, options: StorageOptions = {}): Promise<Caches> {
  const storage = await Storage.open(location, { owners: [cacheStorage], ...options });
  const shared = new SharedCaches(async () => storage);
  const close = async (): Promise<void> => {
    await shared.close();
    await storage.close();
  };
  return { storage, shared, close };
}

export async function openCaches(
  t: ExecutionContext,
  location = ':memory:',
  options: StorageOptions = {},
): Promise<Caches> {
  const caches = await openCachesAt(location, options);
  t.teardown(caches.close);
  return caches;
}

export const PUT = {
  bodyBytes: 2 ** 29,
  limit: 'cacheObjectBytes',
  plan: 'standard',
  cacheBytes: 2 ** 30,
} as const;

/** A response of the default cache that stays fresh for a minute. */
export function kept(url: string, more: Partial<KeptResponse> = {}): KeptResponse {
  return {
    cache: cacheKey.default,
    url,
    status: 200,
    statusText: '',
    headers: [],
    ageSeconds: 0,
    freshMs: 60_000,
    staleMs: 0,
    tags: [],
    ...more,
  };
}

/** The text that is kept for a URL; undefined when there is none. */
export async function textAt(
  engine: CacheEngine,
  url: string,
  cache: string = cacheKey.default,
): Promise<string | undefined> {
  const found = await engine.match({ cache, url, headers: [] });
  return found.kind === 'miss' ? undefined : bytesOf(found.body).then(String);
}

export async function bytesOf(body: ServiceBody | null): Promise<Buffer> {
  if (body === null || body instanceof Uint8Array) return Buffer.from(body ?? []);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The keys of everything that caches have in the storage. */
export async function keysIn({ context }: Storage, prefix = 'zc'): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of context.records.pages({ gte: prefix, lt: `${prefix}~` }))
    for (const [key] of page) keys.push(key);
  return keys;
}

/** What the records of one store that do not belong to its entries, or are missing, and what its sum should be. Empty when all is as it must be. */
export async function disorderIn(storage: Storage, account: string): Promise<string[]> {
  const { records } = storage.context;
  const id = (await records.get(cacheKeys.store(account)))?.toString();
  if (id === undefined) return (await keysIn(storage)).map(key => `${key} belongs to nothing`);
  const expected = new Set([cacheKeys.store(account), cacheKeys.sum(id)]);
  let bytes = 0;
  let entries = 0;
  const prefix = cacheKeys.entries(id);
  for await (const page of records.pages({ gte: prefix, lt: `${prefix}~` })) {
    for (const [key, record] of page) {
      const hash = hashOf(key);
      const { head } = decodeEntry(record);
      const order = (await records.get(cacheKeys.order(id, hash)))?.toString();
      if (order !== undefined) expected.add(cacheKeys.order(id, hash));
      expected.add(key).add(cacheKeys.use(id, order ?? head.order, hash));
      expected.add(cacheKeys.expiry(head.staleUntil, id, hash)).add(cacheKeys.url(id, head.url, hash));
      for (const tag of head.tags ?? []) expected.add(cacheKeys.tag(id, tag, hash));
      bytes += head.bytes;
      entries++;
    }
  }
  const found = new Set(await keysIn(storage));
  const sum = (await records.get(cacheKeys.sum(id)))?.toString();
  // The first entry brings the sum.
  if (entries === 0 && sum === undefined) expected.delete(cacheKeys.sum(id));
  return [
    ...[...found].filter(key => !expected.has(key)).map(key => `${key} belongs to nothing`),
    ...[...expected].filter(key => !found.has(key)).map(key => `${key} is missing`),
    ...((sum ?? '0 0') === `${bytes} ${entries}` ? [] : [`the sum is ${sum}, not ${bytes} ${entries}`]),
  ];
}
