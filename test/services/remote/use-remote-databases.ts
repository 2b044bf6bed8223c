/** To be imported before tests of the management API: their databases are used over a connection. */
import { RemoteLevel } from '../../../src/services/remote/remote-level.js';
import { RemoteLink } from '../../../src/services/remote/remote-link.js';
import { openBuckets } from '../../bindings/bucket/open-buckets.js';
import { useStorage } from '../../management/support/api.js';
import { remotePair } from './pair.js';
import { servedObjects } from './served.js';

useStorage(() => {
  const pair = openBuckets(':memory:').then(storage =>
    remotePair(
      servedObjects(storage, () => {
        throw new Error('There are no buckets');
      }),
    ),
  );
  const level: object = new RemoteLevel(new RemoteLink(async () => (await pair).application), 'management');
  return level as ReturnType<Parameters<typeof useStorage>[0]>; // only the types of hooks, which are not used, name the class itself
});
