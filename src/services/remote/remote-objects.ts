/** What the stateful objects of an account have stored, where their storage is in the services process. */
import type { ObjectDirectory } from '../../bindings/objects/store/object-directory.js';
import type { RemoteLink } from './remote-link.js';

export function remoteObjects(link: RemoteLink, account: string): ObjectDirectory {
  const list: ObjectDirectory['list'] = () => link.call('objectStorage.namespaces', account);
  return {
    list,
    find: async id => (await list()).find(each => each.id === id),
    objects: (of, limit, after) => link.call('objectStorage.list', account, of, limit, after),
    delete: (of, id) => link.call('objectStorage.delete', account, of, id),
  };
}
