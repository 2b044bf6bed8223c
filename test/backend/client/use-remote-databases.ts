/** To be imported before tests of the management API: their databases are used over a connection. */
import { remoteDatabase } from '../../../src/backend/client/remote-level.js';
import { RemoteLink } from '../../../src/backend/client/remote-link.js';
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
  return remoteDatabase(new RemoteLink(async () => (await pair).application), 'management');
});
