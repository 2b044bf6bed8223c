/** How each call whose body, if any, is part of its values is answered. */
import type { BucketDirectory } from '../../../bindings/bucket/engine.js';
import type { AccountChange } from '../../account-changes.js';
import type { HostStore } from '../../host-store.js';
import type { ValueCalls } from '../calls.js';
import { bindingHandlers } from './binding-handlers.js';
import type { ServedBuckets } from './served-buckets.js';
import { databaseHandlers } from './served-databases.js';
import { ServedLevels } from './served-levels.js';
import type { ServedLocks } from './served-locks.js';
import type { ServedObjects } from './served-objects.js';
import type { ServedQueues } from './served-queues.js';
import type { ServedRemovals } from './served-removals.js';
import type { ServedServices } from './served-services.js';
import type { ValueHandlers } from './value-handlers.js';

/** The parts of one connection that have a state of their own. */
export interface ConnectionParts {
  readonly buckets: ServedBuckets;
  readonly queues: ServedQueues;
  readonly removals: ServedRemovals;
  readonly announce: (change: AccountChange) => Promise<void>;
  readonly services: ServedServices;
  readonly locks: ServedLocks;
  /** The application has changed a database. */
  readonly onChange: (name: string, keys: readonly string[] | undefined) => void;
  /** The names under which the application has claimed runs of cron triggers and alarms. */
  readonly owners: Set<string>;
}

export function valueHandlers(objects: ServedObjects, parts: ConnectionParts): ValueHandlers {
  const { store, workOf } = objects;
  return {
    ...storeHandlers(store, parts),
    ...countingHandlers(objects),
    ...bucketHandlers(parts, account => workOf?.(account)),
    ...bindingHandlers(objects, parts.queues),
    ...databaseHandlers(objects),
  };
}

type BucketCall = Extract<keyof ValueCalls, `bucket.${string}` | `directory.${string}`>;
type CountingCall = Extract<keyof ValueCalls, `usage.${string}` | `counts.${string}`>;
type StoreCall = Exclude<
  keyof ValueCalls,
  BucketCall | CountingCall | `${'kv' | 'cache' | 'queue' | 'sql' | 'objectStorage'}.${string}`
>;

function countingHandlers({ usage, counters }: ServedObjects): Pick<ValueHandlers, CountingCall> {
  return {
    'usage.add': async (sender, number, entries) => void (await usage.add(sender, number, entries)),
    'usage.left': async sender => void (await usage.left(sender)),
    'usage.measure': async accounts => void (await usage.measure(accounts)),
    'counts.set': (application, counts) => counters.set(application, counts),
    'counts.read': key => counters.read(key),
  };
}

function storeHandlers(
  store: HostStore,
  { removals, announce, services, locks, owners, onChange }: ConnectionParts,
): Pick<ValueHandlers, StoreCall> {
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
    'crons.track': (target, crons, sinceMs) => store.crons.track(target, crons, sinceMs),
    'crons.claim': (owner, wishes) => {
      owners.add(owner);
      return store.crons.claim(owner, wishes);
    },
    'crons.finished': async (owner, target) => void (await store.crons.finished(owner, target)),
    'crons.left': async owner => void (await store.crons.left(owner)),
    'alarms.serve': async (owner, served) => {
      owners.add(owner);
      await store.alarms.serve(owner, served);
      return undefined;
    },
    'objects.claim': (owner, of) => {
      owners.add(owner);
      return store.objects.claim(owner, of);
    },
    'objects.release': async (owner, of) => void (await store.objects.release(owner, of)),
    'objects.left': async owner => void (await store.objects.left(owner)),
    'alarms.drop': async (owner, served) => void (await store.alarms.drop(owner, served)),
    'alarms.claim': (owner, most) => store.alarms.claim(owner, most),
    'alarms.settle': async (owner, claim, outcome) => void (await store.alarms.settle(owner, claim, outcome)),
    'alarms.left': async owner => void (await store.alarms.left(owner)),
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

function bucketHandlers(
  { buckets }: ConnectionParts,
  workOf: NonNullable<ServedObjects['workOf']>,
): Pick<ValueHandlers, BucketCall> {
  const directory = (account: string): BucketDirectory => buckets.directory(account);
  return {
    'directory.open': async (account, name) => buckets.opened(account, await directory(account).open(name)),
    'directory.find': async (account, name) => {
      const engine = await directory(account).find(name);
      return engine === null ? null : buckets.opened(account, engine);
    },
    'directory.create': async (account, name, storageClass) => {
      const options = storageClass === undefined ? {} : { storageClass };
      return (await directory(account).create(name, options)).created;
    },
    'directory.delete': async (account, name) => void (await directory(account).delete(name)),
    'directory.list': account => directory(account).list(),
    'bucket.head': async (at, key) => (await buckets.of(at)).head(key, workOf(at.account)),
    'bucket.delete': async (at, keys) => void (await (await buckets.of(at)).delete(keys, workOf(at.account))),
    'bucket.list': async (at, query) => (await buckets.of(at)).list(query, workOf(at.account)),
    'bucket.createUpload': async (at, key, options) =>
      (await buckets.of(at)).createUpload(key, options, workOf(at.account)),
    'bucket.completeUpload': async (at, key, uploadId, named, options) =>
      (await buckets.of(at)).completeUpload(key, uploadId, named, options, workOf(at.account)),
    'bucket.abortUpload': async (at, key, uploadId) =>
      void (await (await buckets.of(at)).abortUpload(key, uploadId, workOf(at.account))),
    'bucket.findCompleted': async (at, key, uploadId) => (await buckets.of(at)).findCompleted(key, uploadId),
    'bucket.findUpload': async (at, key, uploadId) => (await buckets.of(at)).findUpload(key, uploadId),
    'bucket.listParts': async (at, uploadId, after, limit) => (await buckets.of(at)).listParts(uploadId, after, limit),
    'bucket.listUploads': async (at, query) => (await buckets.of(at)).listUploads(query),
  };
}
