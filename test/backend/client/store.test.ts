import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { RemoteStore } from '../../../src/backend/client/remote-store.js';
import type { HostStore } from '../../../src/backend/host-store.js';
import { localStore } from '../../../src/backend/local-store.js';
import type { ServedObjects } from '../../../src/backend/server/applications/served-objects.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import type { Storage } from '../../../src/storage/storage.js';
import { bucketsOf, openBuckets } from '../../bindings/bucket/open-buckets.js';
import { sampleBytes, temporaryDirectory } from '../../bindings/bucket/stores.js';
import { type Pair, remotePair } from './pair.js';
import { servedObjects } from './served.js';

interface Opened {
  readonly storage: Storage;
  readonly store: HostStore;
  readonly pair: Pair;
}

async function open(
  t: ExecutionContext,
  location = ':memory:',
  takeRemoval?: ServedObjects['takeRemoval'],
): Promise<Opened> {
  const storage = await openBuckets(location);
  t.teardown(() => storage.close());
  const pair = remotePair(servedObjects(storage, account => bucketsOf(storage, account), takeRemoval));
  const { application } = pair;
  return { storage, store: await RemoteStore.open({ connection: async () => application }), pair };
}

/** Both kinds of store answer alike. */
const KINDS = ['local', 'remote'] as const;

for (const kind of KINDS) {
  const stores = async (t: ExecutionContext, location?: string): Promise<HostStore> => {
    const { storage, store } = await open(t, location);
    return kind === 'local' ? localStore(storage) : store;
  };

  test(`${kind}: records are read one by one, many at once, in pages, and by their keys`, async t => {
    const { records } = await stores(t);
    const keys = Array.from({ length: 2300 }, (_, at) => `yd${String(at).padStart(5, '0')}`);
    await records.commit(keys.map(key => ({ type: 'put', key, value: Buffer.from(key) })));
    await records.commit([{ type: 'del', key: 'yd00001' }]);
    t.deepEqual(await records.get('yd00000'), Buffer.from('yd00000'));
    t.is(await records.get('yd00001'), undefined);
    t.deepEqual(await records.getMany(['yd00002', 'none', 'yd00003']), [
      Buffer.from('yd00002'),
      undefined,
      Buffer.from('yd00003'),
    ]);
    const kept = keys.filter(key => key !== 'yd00001');
    for (const size of [undefined, 1000, 7]) {
      const found: string[] = [];
      for await (const page of records.pages({ gte: 'yd', lt: 'ye' }, size)) {
        t.true(page.length <= (size ?? 1000));
        for (const [key, value] of page) {
          t.is(value.toString(), key);
          found.push(key);
        }
      }
      t.deepEqual(found, kept);
    }
    const iterator = await records.keys({ gte: 'yd00000', lt: 'yd00005' });
    t.deepEqual(await iterator.nextv(2), ['yd00000', 'yd00002']);
    t.deepEqual(await iterator.nextv(10), ['yd00003', 'yd00004']);
    t.deepEqual(await iterator.nextv(10), []);
    await iterator.close();
  });

  test(`${kind}: sublevels, the key of the secrets, databases`, async t => {
    const folder = await temporaryDirectory(t);
    const store = await stores(t, join(folder, 'storage'));
    const counts = store.sublevel('counts');
    t.is(await counts.get('a'), undefined);
    await counts.put('a', { n: 1 });
    t.deepEqual(await counts.get('a'), { n: 1 });
    t.is(await store.sublevel('other').get('a'), undefined);
    await t.throwsAsync(async () => store.sublevel('Not Valid').get('a'), { instanceOf: TypeError });
    t.is(store.secretsKey.path, join(folder, 'storage', 'secrets.key'));
    t.is(await store.secretsKey.read(), 'missing');
    const key = await store.secretsKey.create();
    t.deepEqual(new Uint8Array(Buffer.from(key)), new Uint8Array(Buffer.from(await store.secretsKey.read())));
    await t.throwsAsync(store.secretsKey.create(), { instanceOf: EdgeError });
    t.false(await store.hasDatabase('management'));
    const database = store.database('management');
    t.is(store.database('management'), database);
    await database.put('k', 'v');
    t.true(await store.hasDatabase('management'));
    t.is(await database.get('k'), 'v');
    t.deepEqual(store.recounted, []);
  });

  test(`${kind}: an account is removed, with the step beside the storage`, async t => {
    const { storage, store: remote } = await open(t);
    const store = kind === 'local' ? localStore(storage) : remote;
    const engine = await bucketsOf(storage, 'acme').open('files');
    await engine.put('k', sampleBytes(100), {});
    t.deepEqual(await store.stored('acme'), { bytes: 100, objects: 1 });
    const error = new EdgeError('EDGE_ACCOUNT_REMOVED', 'gone');
    await t.throwsAsync(
      store.removeAccount('acme', {
        error,
        deleteData: true,
        beside: async () => {
          throw new RangeError('not now');
        },
      }),
      { instanceOf: RangeError, message: 'not now' },
    );
    t.deepEqual(await store.unfinishedRemovals(), ['acme']);
    let unfinished: string[] | undefined;
    const { deleted } = await store.removeAccount('acme', {
      error,
      deleteData: true,
      beside: async () => {
        unfinished = await store.unfinishedRemovals();
      },
    });
    await deleted;
    // Another application that opens the storage meanwhile is not to do it once more.
    t.deepEqual(unfinished, []);
    t.deepEqual(await store.unfinishedRemovals(), []);
    t.deepEqual(await store.stored('acme'), { bytes: 0, objects: 0 });
    await t.throwsAsync(engine.put('k', sampleBytes(1), {}), { code: 'EDGE_ACCOUNT_REMOVED', message: 'gone' });
  });
}

test('the step of an application that is lost in a removal is taken by another one; without one the removal is left to the next opening', async t => {
  for (const isThere of [true, false]) {
    const steps: unknown[] = [];
    const takeRemoval = async (step: unknown): Promise<void> => {
      steps.push(step);
      if (!isThere) throw new EdgeError('EDGE_CLOSED', 'There is no other application');
    };
    const { storage, store, pair } = await open(t, ':memory:', takeRemoval);
    await (await bucketsOf(storage, 'acme').open('files')).put('k', sampleBytes(100), {});
    const removal = store.removeAccount('acme', {
      error: new EdgeError('EDGE_ACCOUNT_REMOVED', 'gone'),
      deleteData: true,
      beside: async () => {
        pair.application.close();
      },
    });
    await t.throwsAsync(removal, { code: 'EDGE_SERVICES_LOST' });
    await Promise.allSettled([storage.context.sums.whenEnded('acme')]);
    t.deepEqual(steps, [{ account: 'acme', deleteData: true }]);
    t.deepEqual(await storage.unfinishedRemovals(), isThere ? [] : ['acme']);
    const { objects } = await storage.context.sums.read('acme');
    t.is(objects, isThere ? 0 : 1);
  }
});
