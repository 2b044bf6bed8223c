/** The stateful objects of an account that have stored something, by their classes. */

import { isIdOf } from '../../bindings/objects/object-id.js';
import type { ObjectNamespaceInfo, StoredObjectInfo } from '../../bindings/objects/store/object-directory.js';
import { objectStorageBinding } from '../../bindings/objects/store/object-storage-binding.js';
import { object } from '../../quotas/schema/schema.js';
import { type Context, type CursorValues, pageQuery, param } from '../context.js';
import { ApiError, type ListReply, type OneReply } from '../http/envelope.js';
import { parameter } from '../http/parameters.js';
import { ACCOUNT_PATH, many, one, type Resource, route } from '../route.js';
import { DELETED, dateTime, integer, named, string, type ValueOf } from '../schemas.js';
import { pageOf } from '../state/records.js';

const OBJECTS_PATH = `${ACCOUNT_PATH}/objects/namespaces/{namespace_id}`;

const OBJECT_NAMESPACE = named('ObjectNamespace', object({ id: string, function: string, class: string }));
const STORED_OBJECT = named(
  'StoredObject',
  object({ id: string, bytes: integer, keys: integer, 'alarm_on?': dateTime }),
);

export const OBJECTS_API: Resource = {
  parameters: { namespace_id: parameter('^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', 'sessions') },
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/objects/namespaces`, id: 'object-namespace-list', access: 'objects:read', summary: 'Classes of which stateful objects have stored something', answer: many(OBJECT_NAMESPACE) }, listObjectNamespaces),
    route({ method: 'GET', path: OBJECTS_PATH, id: 'object-namespace-get', access: 'objects:read', summary: 'One of these classes', answer: one(OBJECT_NAMESPACE) }, getObjectNamespace),
    route({ method: 'GET', path: `${OBJECTS_PATH}/objects`, id: 'object-list', access: 'objects:read', summary: 'Its objects that have stored something, by id', answer: many(STORED_OBJECT, 'cursor') }, listObjects),
    route({ method: 'DELETE', path: `${OBJECTS_PATH}/objects/{object_id}`, id: 'object-delete', access: 'objects:edit', summary: 'Delete all that an object has stored, and its alarm', answer: one(DELETED) }, deleteObject),
  ],
};

async function listObjectNamespaces(context: Context): Promise<ListReply<typeof OBJECT_NAMESPACE>> {
  const { items, info } = await pageOf(await directoryOf(context).list(), pageQuery(context));
  return { result: items.map(shownNamespace), resultInfo: info };
}

async function getObjectNamespace(context: Context): Promise<OneReply<typeof OBJECT_NAMESPACE>> {
  return { result: shownNamespace(await namespaceOf(context)) };
}

export async function listObjects(context: Context<CursorValues>): Promise<ListReply<typeof STORED_OBJECT>> {
  const { per_page: limit, cursor } = context.query;
  const { objects, hasMore } = await directoryOf(context).objects(await namespaceOf(context), limit, cursor);
  const resultInfo = { per_page: limit, count: objects.length };
  const last = objects.at(-1);
  return {
    result: objects.map(shownObject),
    resultInfo: hasMore && last !== undefined ? { ...resultInfo, cursor: last.id } : resultInfo,
  };
}

async function deleteObject(context: Context): Promise<OneReply<typeof DELETED>> {
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

function shownNamespace({ id, functionName, className }: ObjectNamespaceInfo): ValueOf<typeof OBJECT_NAMESPACE> {
  return { id, function: functionName, class: className };
}

function shownObject({ id, bytes, keys, alarmMs }: StoredObjectInfo): ValueOf<typeof STORED_OBJECT> {
  return { id, bytes, keys, ...(alarmMs !== undefined && { alarm_on: new Date(alarmMs).toISOString() }) };
}
