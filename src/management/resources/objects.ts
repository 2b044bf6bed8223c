/** The stateful objects of an account that have stored something, by their classes. */

import { isIdOf } from '../../bindings/objects/object-id.js';
import type { ObjectNamespaceInfo, StoredObjectInfo } from '../../bindings/objects/store/object-directory.js';
import { objectStorageBinding } from '../../bindings/objects/store/object-storage-binding.js';
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import { pageOf } from '../state/records.js';

export async function listObjectNamespaces(context: Context): Promise<Reply> {
  const { items, info } = await pageOf(await directoryOf(context).list(), pageQuery(context));
  return { result: items.map(shownNamespace), resultInfo: info };
}

export async function getObjectNamespace(context: Context): Promise<Reply> {
  return { result: shownNamespace(await namespaceOf(context)) };
}

export async function listObjects(context: Context): Promise<Reply> {
  const { per_page: limit, cursor } = context.query;
  const { objects, hasMore } = await directoryOf(context).objects(await namespaceOf(context), limit, cursor);
  const resultInfo = { per_page: limit, count: objects.length };
  const last = objects.at(-1);
  return {
    result: objects.map(shownObject),
    resultInfo: hasMore && last !== undefined ? { ...resultInfo, cursor: last.id } : resultInfo,
  };
}

export async function deleteObject(context: Context): Promise<Reply> {
  const namespace = await namespaceOf(context);
  const id = param(context, 'object_id');
  // Ids of other classes do not belong to this one.
  if (!isIdOf(namespace.id, id) || !(await directoryOf(context).delete(namespace, id))) {
    throw new ApiError('NOT_FOUND', `No object ${JSON.stringify(id)} of this class has stored anything`);
  }
  await context.commit([]);
  return { result: { id } };
}

function directoryOf({ services, account }: Context) {
  return services.directoryOf(objectStorageBinding, account);
}

async function namespaceOf(context: Context): Promise<ObjectNamespaceInfo> {
  const id = param(context, 'namespace_id');
  const namespace = await directoryOf(context).find(id);
  if (namespace !== undefined) return namespace;
  throw new ApiError('NOT_FOUND', `There is no namespace ${JSON.stringify(id)} in which an object has stored anything`);
}

function shownNamespace({ id, functionName, className }: ObjectNamespaceInfo): unknown {
  return { id, function: functionName, class: className };
}

function shownObject({ id, bytes, keys, alarmMs }: StoredObjectInfo): unknown {
  return { id, bytes, keys, ...(alarmMs !== undefined && { alarm_on: new Date(alarmMs).toISOString() }) };
}
