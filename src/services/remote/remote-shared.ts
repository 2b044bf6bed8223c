/** What rows share among accounts, where their storage is in the services process: the same interfaces, with calls to it. */
import type { BindingBase } from '../../bindings/binding.js';
import { type AccountBuckets, bucketBinding } from '../../bindings/bucket/bucket-binding.js';
import { cacheBinding, type HostCaches } from '../../bindings/cache/cache-binding.js';
import { type AccountNamespaces, kvBinding } from '../../bindings/kv/kv-binding.js';
import { type HostObjectStorage, objectStorageBinding } from '../../bindings/objects/store/object-storage-binding.js';
import { type HostQueues, queueBinding } from '../../bindings/queue/queue-binding.js';
import { type HostDatabases, sqlBinding } from '../../bindings/sql/sql-binding.js';
import { remoteDirectory } from './remote-buckets.js';
import { RemoteCaches } from './remote-caches.js';
import { remoteDatabases } from './remote-databases.js';
import type { RemoteLink } from './remote-link.js';
import { remoteNamespaces } from './remote-namespaces.js';
import { remoteObjects } from './remote-objects.js';
import { remoteQueues } from './remote-queues.js';

/** Nothing of an account is kept here: the services process is told when it ends. */
const forget = (): void => {};
const close = async (): Promise<void> => {};

export function remoteShared(link: RemoteLink): ReadonlyMap<BindingBase, unknown> {
  const buckets: AccountBuckets = { of: account => remoteDirectory(link, account), forget };
  const namespaces: AccountNamespaces = { of: account => remoteNamespaces(link, account), forget, close };
  const caches: HostCaches = { of: account => new RemoteCaches(link, account), forget, close };
  const queues: HostQueues = { of: account => remoteQueues(link, account), forget, close: forget };
  const databases: HostDatabases = { of: account => remoteDatabases(link, account), forget, close };
  const objects: Pick<HostObjectStorage, 'of' | 'forget' | 'close'> = {
    of: account => remoteObjects(link, account),
    forget,
    close,
  };
  return new Map<BindingBase, unknown>([
    [bucketBinding, buckets],
    [kvBinding, namespaces],
    [cacheBinding, caches],
    [queueBinding, queues],
    [sqlBinding, databases],
    [objectStorageBinding, objects],
  ]);
}
