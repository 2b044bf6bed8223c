/** Answers each call of backend/wire/calls.ts. */

import type { HostStore } from '../../host-store.js';
import type { AccountChange } from '../../wire/account-changes.js';
import { ServedLevels } from './served-levels.js';
import type { ServedLocks } from './served-locks.js';
import type { ServedQueues } from './served-queues.js';
import type { ServedRemovals } from './served-removals.js';
import type { ServedServices } from './served-services.js';
import type { ValueHandlers } from './value-handlers.js';

/** The parts of one connection that have a state of their own. */
export interface ConnectionParts {
  readonly queues: ServedQueues;
  readonly removals: ServedRemovals;
  readonly announce: (change: AccountChange) => Promise<void>;
  readonly services: ServedServices;
  readonly locks: ServedLocks;
  /** The application has changed a database. */
  readonly onChange: (name: string, keys: readonly string[] | undefined) => void;
}

export function valueHandlers(
  store: HostStore,
  { removals, announce, services, locks, onChange }: ConnectionParts,
): ValueHandlers {
  const { records, secretsKey } = store;
  const levels = new ServedLevels(store, onChange);
  return {
    'store.describe': () => ({ recounted: store.recounted, secretsKeyPath: secretsKey.path }),
    'store.stored': account => store.stored(account),
    'key.read': () => secretsKey.read(),
    'key.create': () => secretsKey.create(),
    'records.get': key => records.get(key),
    'records.getMany': keys => records.getMany(keys),
    'records.commit': async operations => void (await records.commit(operations)),
    'records.page': async (range, size) => {
      for await (const page of records.pages(range, size)) return page;
      return [];
    },
    'records.keys': async (range, size) => {
      const keys = await records.keys(range);
      try {
        return await keys.nextv(size);
      } finally {
        await keys.close();
      }
    },
    'sublevel.get': (name, key) => store.sublevel(name).get(key),
    'sublevel.put': async (name, key, value) => void (await store.sublevel(name).put(key, value)),
    'locks.take': (number, keys) => locks.take(number, keys),
    'locks.give': async number => {
      locks.give(number);
    },
    'account.update': async (account, update) => void (await announce({ account, update })),
    'removal.unfinished': () => store.unfinishedRemovals(),
    'removal.begin': order => removals.begin(order),
    'removal.finish': (id, failure) => removals.finish(id, failure),
    'removal.deleted': id => removals.deleted(id),
    'level.exists': name => levels.exists(name),
    'level.getMany': (name, keys) => levels.getMany(name, keys),
    'level.batch': (name, changes, sync) => levels.batch(name, changes, sync),
    'level.page': (name, query) => levels.page(name, query),
    'level.compact': (name, from, to) => levels.compact(name, from, to),
    'service.open': (number, address) => services.open(number, address),
    'service.close': number => services.close(number),
  };
}
