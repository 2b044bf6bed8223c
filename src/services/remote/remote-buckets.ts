/** The buckets of accounts whose storage is in the services process. */
import type { BucketDirectory, BucketEngine } from '../../bindings/bucket/engine.js';
import type { OpenedBucket } from './calls.js';
import { RemoteBucket } from './remote-bucket.js';
import type { RemoteLink } from './remote-link.js';

export function remoteDirectory(link: RemoteLink, account: string): BucketDirectory {
  const bucket = (name: string, { id, storageClass }: OpenedBucket): BucketEngine =>
    new RemoteBucket(link, { account, name, id }, storageClass);
  return {
    open: async name => bucket(name, await link.call('directory.open', account, name)),
    find: async name => {
      const found = await link.call('directory.find', account, name);
      return found === null ? null : bucket(name, found);
    },
    create: async (name, { storageClass } = {}) => ({
      created: await link.call('directory.create', account, name, storageClass),
    }),
    delete: name => link.call('directory.delete', account, name),
    list: () => link.call('directory.list', account),
  };
}
