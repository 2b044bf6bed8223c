import type { StorageOwner } from '../../../storage/storage-owner.js';
import { expireEntries } from './expire-entries.js';
import { KV_KEYSPACE } from './kv-keys.js';
import { rebuildExpiries } from './rebuild-expiries.js';
import { clearRemovedNamespaces, detachNamespaces } from './remove-namespaces.js';
import { accountsWithNamespaces, countStored } from './stored-namespaces.js';

/** The keyspace and the jobs that namespaces register with the storage. */
export const kvStorage: StorageOwner = {
  name: 'kv',
  keyspace: KV_KEYSPACE,
  accounts: accountsWithNamespaces,
  count: countStored,
  detach: detachNamespaces,
  clear: clearRemovedNamespaces,
  jobs: [
    { kind: 'rebuild', run: rebuildExpiries },
    { kind: 'sweep', run: storage => expireEntries(storage) },
  ],
};
