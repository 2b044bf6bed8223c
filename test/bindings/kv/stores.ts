import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { remoteDirectory } from '../../../src/backend/client/contract-client.js';
import { KV_CONTRACT } from '../../../src/bindings/kv/contract.js';
import type { KvDirectory, KvEngine } from '../../../src/bindings/kv/engine.js';
import { hostKv } from '../../../src/bindings/kv/host-kv.js';
import { kvService } from '../../../src/bindings/kv/service.js';
import type { KvNamespace } from '../../../src/bindings/kv/types.js';
import type { Storage } from '../../../src/storage/storage.js';
import { remotePair } from '../../backend/client/pair.js';
import { servedObjects } from '../../backend/client/served.js';
import { temporaryDirectory } from '../bucket/stores.js';
import { closeNamespaces, namespacesOf, openNamespaces } from './open-namespaces.js';

/** What a test of the contract gets: one empty namespace of one storage. */
export interface Store {
  readonly storage: Storage;
  readonly engine: KvEngine;
  /** The same namespace through the client. */
  readonly kv: KvNamespace;
  /** Moves the clock of the storage and of the service. */
  readonly clock: { now: number };
}

/** 'remote': in memory, and used over a connection. */
const STORE_KINDS = ['LevelDB', 'memory', 'remote'] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

export const START = Date.parse('2026-01-02T03:04:05.678Z');
/** The second that a store begins in. */
export const START_SECONDS = Math.floor(START / 1000);

/** A store of its own, with a clock that the test may move. */
export async function openStore(t: ExecutionContext, kind: StoreKind): Promise<Store> {
  const clock = { now: START };
  const location = kind === 'LevelDB' ? await temporaryDirectory(t) : ':memory:';
  const storage = await openNamespaces(location, { now: () => clock.now });
  t.teardown(() => closeNamespaces(storage));
  return openNamespace(kind, storage, 'sessions', clock);
}

async function openNamespace(kind: StoreKind, storage: Storage, name: string, clock: { now: number }): Promise<Store> {
  const directory = kind === 'remote' ? remoteNamespaces(storage) : namespacesOf(storage, 'acme');
  const engine = await directory.open(name);
  const kv = hostKv(kvService(async () => engine, { now: () => clock.now }));
  return { storage, engine, kv, clock };
}

function remoteNamespaces(storage: Storage): KvDirectory {
  const noBuckets = (): never => {
    throw new TypeError('There are no buckets');
  };
  const { link } = remotePair({
    ...servedObjects(storage, noBuckets),
    directoryOf: (_row, account) => namespacesOf(storage, account),
  });
  return remoteDirectory(link, 'kv', KV_CONTRACT, 'acme');
}

/** Opening a directory waits for the disk often, so the tests of a file share one, and each has a namespace of its own. */
const shared = new Map<StoreKind, Promise<Storage>>();
const directory = join(tmpdir(), `edgehost-kv-test-${process.pid}`);
let namespaces = 0;

function sharedStorage(kind: StoreKind): Promise<Storage> {
  const opening = shared.get(kind) ?? openNamespaces(kind === 'LevelDB' ? directory : ':memory:', { now: () => START });
  shared.set(kind, opening);
  return opening;
}

/** In this process: the account of calls and its removal do not cross a connection. */
export const LOCAL_KINDS: readonly StoreKind[] = ['LevelDB', 'memory'];

/** Declares one test of the contract for each kind of store. */
export function contract(
  title: string,
  run: (t: ExecutionContext, store: Store) => Promise<void>,
  kinds: readonly StoreKind[] = STORE_KINDS,
): void {
  const macro = test.macro<[StoreKind]>({
    exec: async (t, kind) =>
      run(t, await openNamespace(kind, await sharedStorage(kind), `namespace-${namespaces++}`, { now: START })),
    title: (_, kind) => `${kind}: ${title}`,
  });
  for (const kind of kinds) test(macro, kind);
}

/** Declares one test, for each kind of store, that moves the clock. */
export function contractWithClock(
  title: string,
  run: (t: ExecutionContext, store: Store) => Promise<void>,
  kinds: readonly StoreKind[] = STORE_KINDS,
): void {
  const macro = test.macro<[StoreKind]>({
    exec: async (t, kind) => run(t, await openStore(t, kind)),
    title: (_, kind) => `${kind}: ${title}`,
  });
  for (const kind of kinds) test(macro, kind);
}

test.after.always(async () => {
  for (const opening of shared.values()) await closeNamespaces(await opening);
  await rm(directory, { recursive: true, force: true });
});

/** The names of all keys, page by page. */
export async function namesOf(
  kv: KvNamespace,
  options: { readonly prefix?: string; readonly limit?: number } = {},
): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await kv.list({ ...options, ...(cursor === undefined ? {} : { cursor }) });
    names.push(...page.keys.map(({ name }) => name));
    if (page.list_complete) return names;
    cursor = page.cursor;
  }
}
