import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { RemoteServices } from '../../../src/backend/client/remote-service.js';
import { bucketBinding } from '../../../src/bindings/bucket/bucket-binding.js';
import type { BucketEngine } from '../../../src/bindings/bucket/engine.js';
import { hostBucket } from '../../../src/bindings/bucket/host-bucket.js';
import { bucketService } from '../../../src/bindings/bucket/service.js';
import type { StoreBucket } from '../../../src/bindings/bucket/types.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import type { Storage } from '../../../src/storage/storage.js';
import { remoteBuckets, remotePair } from '../../backend/client/pair.js';
import { servedObjects } from '../../backend/client/served.js';
import { type BucketsOptions, bucketsOf, openBuckets } from './open-buckets.js';

/** What a test of the contract gets: one empty bucket of one storage. */
export interface Store {
  readonly storage: Storage;
  readonly engine: BucketEngine;
  /** The same bucket through the client. */
  readonly bucket: StoreBucket;
  /** Moves the clock of the storage. */
  readonly clock: { now: number };
}

/** 'remote': in memory, and used over a connection. */
export const STORE_KINDS = ['LevelDB', 'memory', 'remote'] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

/** Parts of contract tests need not be 5 MiB. */
export const MIN_PART_BYTES = 16;

export async function temporaryDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-test-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A store of its own, with a clock that the test may move. */
export async function openStore(t: ExecutionContext, kind: StoreKind, options: BucketsOptions = {}): Promise<Store> {
  const clock = { now: START };
  const location = kind === 'LevelDB' ? await temporaryDirectory(t) : ':memory:';
  const storage = await openBuckets(location, { now: () => clock.now, minPartBytes: MIN_PART_BYTES, ...options });
  t.teardown(() => storage.close());
  return { ...(await openBucket(kind, storage, 'files')), clock };
}

const START = Date.parse('2026-01-02T03:04:05.678Z');

async function openBucket(kind: StoreKind, storage: Storage, name: string): Promise<Omit<Store, 'clock'>> {
  if (kind === 'remote') return openRemote(storage, name);
  const engine = await bucketsOf(storage, 'acme').open(name);
  return { storage, engine, bucket: hostBucket(bucketService(async () => engine)) };
}

async function openRemote(storage: Storage, name: string): Promise<Omit<Store, 'clock'>> {
  const { link } = remotePair(servedObjects(storage, account => bucketsOf(storage, account)));
  const service = new RemoteServices(link).of({
    address: { binding: bucketBinding.id, account: 'acme', config: name },
    limits: () => LIMITS,
    isSafe: () => false,
  });
  return { storage, engine: await remoteBuckets(link, 'acme').open(name), bucket: hostBucket(service) };
}

const LIMITS = resolveLimits();

/** Opening a directory waits for the disk often, so the tests of a file share one, and each has a bucket of its own. */
const shared = new Map<StoreKind, Promise<Storage>>();
const directory = join(tmpdir(), `edgehost-test-${process.pid}`);
let buckets = 0;

function sharedStorage(kind: StoreKind): Promise<Storage> {
  const known = shared.get(kind);
  if (known !== undefined) return known;
  const options = { now: () => START, minPartBytes: MIN_PART_BYTES };
  const opening = openBuckets(kind === 'LevelDB' ? directory : ':memory:', options);
  shared.set(kind, opening);
  return opening;
}

/** Declares one test of the contract for each kind of store. */
export function contract(
  title: string,
  run: (t: ExecutionContext, store: Omit<Store, 'clock'> & { readonly now: number }) => Promise<void>,
): void {
  const macro = test.macro<[StoreKind]>({
    exec: async (t, kind) => {
      const store = await openBucket(kind, await sharedStorage(kind), `files-${buckets++}`);
      await run(t, { ...store, now: START });
    },
    title: (_, kind) => `${kind}: ${title}`,
  });
  for (const kind of STORE_KINDS) test(macro, kind);
}

/** Declares one test, for each kind of store, that moves the clock. */
export function contractWithClock(title: string, run: (t: ExecutionContext, store: Store) => Promise<void>): void {
  const macro = test.macro<[StoreKind]>({
    exec: async (t, kind) => run(t, await openStore(t, kind)),
    title: (_, kind) => `${kind}: ${title}`,
  });
  for (const kind of STORE_KINDS) test(macro, kind);
}

test.after.always(async () => {
  for (const opening of shared.values()) await (await opening).close();
  await rm(directory, { recursive: true, force: true });
});

/** Bytes that differ from place to place, the same for the same size. */
export function sampleBytes(size: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let state = seed * 2654435761;
  for (let index = 0; index < size; index++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

export function streamOf(
  chunks: readonly Uint8Array[],
  onCancel: (reason: unknown) => void = () => {},
): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = left.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: onCancel,
    },
    { highWaterMark: 0 },
  );
}

export async function keysOf(bucket: StoreBucket): Promise<string[]> {
  return (await bucket.list()).objects.map(object => object.key);
}
