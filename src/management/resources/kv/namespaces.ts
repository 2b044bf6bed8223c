/** The key-value namespaces of an account. */

import type { KvEngine, KvInfo } from '../../../bindings/kv/engine.js';
import { kvBinding } from '../../../bindings/kv/kv-binding.js';
import { type Context, pageQuery, param } from '../../context.js';
import { ApiError, type Reply } from '../../http/envelope.js';
import type { Bodies } from '../../schemas.js';
import { pageOf } from '../../state/records.js';

export async function listNamespaces(context: Context): Promise<Reply> {
  const { items, info } = await pageOf(await directoryOf(context).list(), pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

export async function getNamespace(context: Context): Promise<Reply> {
  return { result: shown(await infoOf(context, param(context, 'namespace_id'))) };
}

export async function createNamespace(context: Context, { name }: Bodies['KvNamespaceCreate']): Promise<Reply> {
  const { created } = await directoryOf(context).create(name);
  if (!created) throw new ApiError('ALREADY_EXISTS', `The namespace ${JSON.stringify(name)} exists already`);
  await context.commit([]);
  return { result: shown(await infoOf(context, name)) };
}

export async function deleteNamespace(context: Context): Promise<Reply> {
  const name = param(context, 'namespace_id');
  await directoryOf(context).delete(name);
  await context.commit([]);
  return { result: { id: name } };
}

/** The namespace of the path. @throws ApiError NOT_FOUND */
export async function namespaceOf(context: Context): Promise<KvEngine> {
  const name = param(context, 'namespace_id');
  const namespace = await directoryOf(context).find(name);
  if (namespace === null) throw unknown(name);
  return namespace;
}

function directoryOf({ services, account }: Context) {
  return services.directoryOf(kvBinding, account);
}

async function infoOf(context: Context, name: string): Promise<KvInfo> {
  const info = (await directoryOf(context).list()).find(one => one.name === name);
  if (info === undefined) throw unknown(name);
  return info;
}

function unknown(name: string): ApiError {
  return new ApiError('NOT_FOUND', `There is no namespace ${JSON.stringify(name)}`);
}

function shown({ name, created }: KvInfo): unknown {
  return { id: name, created_on: new Date(created).toISOString() };
}
