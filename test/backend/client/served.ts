/** The objects of a storage with buckets, as the backend process serves them. */

import { localStore } from '../../../src/backend/local-store.js';
import { ConsumerSeats } from '../../../src/backend/server/applications/consumer-seats.js';
import type { ServedObjects } from '../../../src/backend/server/applications/served-objects.js';
import { KeptUsage } from '../../../src/backend/server/kept-usage.js';
import { RequestCounters } from '../../../src/backend/server/request-counters.js';
import { storedSums } from '../../../src/backend/stored-sums.js';
import { bucketBinding } from '../../../src/bindings/bucket/bucket-binding.js';
import type { BucketDirectory } from '../../../src/bindings/bucket/engine.js';
import { REGISTRY } from '../../../src/bindings/registry.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { KeyedMutex } from '../../../src/storage/records/keyed-mutex.js';
import type { Storage } from '../../../src/storage/storage.js';
import { StoredHoursMeter } from '../../../src/usage/stored-bytes.js';
import { UsageStore } from '../../../src/usage/usage-store.js';

/** @param takeRemoval @default as without another application */
export function servedObjects(
  storage: Storage,
  buckets: (account: string) => BucketDirectory,
  takeRemoval: ServedObjects['takeRemoval'] = async () => {
    throw new EdgeError('EDGE_CLOSED', 'There is no other application');
  },
): ServedObjects {
  const store = localStore(storage);
  const { records } = storage.context;
  const meter = new StoredHoursMeter(
    storedSums(async () => records),
    { now: Date.now, keepDays: 400 },
  );
  const shared = { of: buckets, forget: () => {} };
  return {
    store,
    usage: new KeptUsage({ store: new UsageStore(records), meter, now: Date.now }),
    counters: new RequestCounters(store.sublevel('counts')),
    rows: REGISTRY.rows,
    directoryOf: (row, account) => {
      if (row !== bucketBinding) throw new TypeError('No such service');
      return buckets(account);
    },
    seats: new ConsumerSeats(),
    locks: new KeyedMutex(),
    announce: async () => {},
    takeRemoval,
    service: ({ account, config, limits }) => {
      if (typeof config !== 'string' || bucketBinding.remote === undefined) throw new TypeError('No such service');
      return bucketBinding.remote.service({ account, limits, shared }, config);
    },
  };
}
