/** A storage in this process, as the host uses it. */
import { StoredCronClaims } from '../bindings/cron/cron-claims.js';
import { LiveObjectClaims } from '../bindings/objects/object-claims.js';
import { objectStoreOf } from '../bindings/objects/store/object-store.js';
import type { Storage } from '../storage/storage.js';
import type { HostStore } from './host-store.js';

/** @param now the clock by which cron triggers are due */
export function localStore(storage: Storage, now: () => number = Date.now): HostStore {
  return {
    crons: new StoredCronClaims(storage.context, now),
    // Made when objects are first used.
    get alarms() {
      return objectStoreOf(storage.context).alarms;
    },
    objects: new LiveObjectClaims(),
    records: storage.context.records,
    secretsKey: storage.secretsKey,
    recounted: storage.recounted,
    sublevel: name => storage.sublevel(name),
    database: name => storage.database(name),
    hasDatabase: async name => storage.hasDatabase(name),
    stored: account => storage.context.sums.read(account),
    removeAccount: (account, steps) => storage.removeAccount(account, steps),
    unfinishedRemovals: () => storage.unfinishedRemovals(),
    close: () => storage.close(),
  };
}
