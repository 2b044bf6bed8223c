/** How calls of key-value namespaces, caches and queues are answered whose bodies, if any, are part of their values. */
import type { KvDirectory, KvEngine, KvFound } from '../../../bindings/kv/engine.js';
import { kvError } from '../../../bindings/kv/errors.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { KvValue, NamedAddress, ValueCalls } from '../calls.js';
import type { ServedObjects } from './served-objects.js';
import type { ServedQueues } from './served-queues.js';
import type { ValueHandlers } from './value-handlers.js';

type BindingCall = Extract<keyof ValueCalls, `${'kv' | 'cache' | 'queue' | 'objectStorage'}.${string}`>;

export function bindingHandlers(objects: ServedObjects, queues: ServedQueues): Pick<ValueHandlers, BindingCall> {
  return {
    ...kvHandlers(objects),
    ...cacheHandlers(objects),
    ...queueHandlers(objects, queues),
    ...objectHandlers(objects),
  };
}

/** Rejects with 20002 when there is none of the name. */
export async function namespaceAt({ directories }: ServedObjects, { account, name }: NamedAddress): Promise<KvEngine> {
  const namespace = await directories.namespaces(account).find(name);
  if (namespace === null) throw kvError('GET', 20002, `There is no namespace "${name}".`);
  return namespace;
}

function kvHandlers(objects: ServedObjects): Pick<ValueHandlers, Extract<BindingCall, `kv.${string}`>> {
  const { directories, workOf } = objects;
  const of = (account: string): KvDirectory => directories.namespaces(account);
  const at = (address: NamedAddress): Promise<KvEngine> => namespaceAt(objects, address);
  return {
    'kv.open': async ({ account, name }) => void (await of(account).open(name)),
    'kv.exists': async ({ account, name }) => (await of(account).find(name)) !== null,
    'kv.create': async ({ account, name }) => (await of(account).create(name)).created,
    'kv.remove': async ({ account, name }) => void (await of(account).delete(name)),
    'kv.namespaces': account => of(account).list(),
    'kv.getMany': async (address, keys) => {
      const found = await (await at(address)).getMany(keys, workOf?.(address.account));
      const values: (KvValue | null)[] = [];
      for (const one of found) values.push(one && (await kvValueOf(one)));
      return values;
    },
    'kv.delete': async (address, key) => void (await (await at(address)).delete(key, workOf?.(address.account))),
    'kv.list': async (address, query) => (await at(address)).list(query, workOf?.(address.account)),
  };
}

function cacheHandlers({
  directories,
  workOf,
}: ServedObjects): Pick<ValueHandlers, Extract<BindingCall, `cache.${string}`>> {
  return {
    'cache.delete': (account, cache, url) => directories.caches(account).delete(cache, url, workOf?.(account)),
    'cache.purge': (account, purge) => directories.caches(account).purge(purge),
    'cache.usage': account => directories.caches(account).usage(),
  };
}

function queueHandlers(
  { workOf }: ServedObjects,
  queues: ServedQueues,
): Pick<ValueHandlers, Extract<BindingCall, `queue.${string}`>> {
  const workFor = (account: string): CallWork => workOf?.(account) ?? OWN_WORK;
  return {
    'queue.open': async ({ account, name }) => (await queues.directory(account).open(name)).info(),
    'queue.find': async ({ account, name }) => (await queues.directory(account).find(name))?.info() ?? null,
    'queue.create': async ({ account, name }, settings) =>
      (await queues.directory(account).create(name, settings)).created,
    'queue.remove': async ({ account, name }) => void (await queues.directory(account).delete(name)),
    'queue.list': account => queues.directory(account).list(),
    'queue.send': async (address, messages, options) =>
      (await queues.of(address)).send(messages, options, workFor(address.account)),
    'queue.receive': (address, receipt, request) => queues.receive(address, receipt, request),
    'queue.stopReceiving': receipt => queues.stopReceiving(receipt),
    'queue.pull': async (address, request) => (await queues.of(address)).pull(request),
    'queue.settle': async (address, request) => {
      const result = await (await queues.of(address)).settle(request, workFor(address.account));
      queues.settled(request);
      return result;
    },
    'queue.metrics': async address => (await queues.of(address)).metrics(workFor(address.account)),
    'queue.backlog': async address => (await queues.of(address)).backlog(),
    'queue.change': async (address, settings) => (await queues.of(address)).change(settings),
    'queue.purge': async address => (await queues.of(address)).purge(workFor(address.account)),
  };
}

function objectHandlers({
  directories,
}: ServedObjects): Pick<ValueHandlers, Extract<BindingCall, `objectStorage.${string}`>> {
  return {
    'objectStorage.namespaces': account => directories.objects(account).list(),
    'objectStorage.list': (account, namespace, limit, after) =>
      directories.objects(account).objects(namespace, limit, after),
    'objectStorage.delete': (account, namespace, id) => directories.objects(account).delete(namespace, id),
  };
}

async function kvValueOf({ content, ...rest }: KvFound): Promise<KvValue> {
  const body = content.open();
  if (body instanceof Uint8Array) return { ...rest, bytes: body };
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return { ...rest, bytes: Buffer.concat(chunks) };
}
