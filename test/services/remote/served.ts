/** The objects of a storage with buckets, as the services process serves them. */
import { bucketBinding } from '../../../src/bindings/bucket/bucket-binding.js';
import type { BucketDirectory } from '../../../src/bindings/bucket/engine.js';
import { bindingDirectories } from '../../../src/bindings/registry.js';
import { localStore } from '../../../src/services/local-store.js';
import { ConsumerSeats } from '../../../src/services/remote/serve/consumer-seats.js';
import type { ServedObjects } from '../../../src/services/remote/serve/served-objects.js';
import type { Storage } from '../../../src/storage/storage.js';

export function servedObjects(storage: Storage, buckets: (account: string) => BucketDirectory): ServedObjects {
  const shared = { of: buckets, forget: () => {} };
  return {
    store: localStore(storage),
    directories: {
      ...bindingDirectories(() => {
        throw new TypeError('No such service');
      }),
      buckets,
    },
    seats: new ConsumerSeats(),
    service: ({ account, config, limits }) => {
      if (typeof config !== 'string' || bucketBinding.remote === undefined) throw new TypeError('No such service');
      return bucketBinding.remote.service({ account, limits, shared }, config);
    },
  };
}
