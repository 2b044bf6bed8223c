/** The key-value namespaces of an account. */

import type { KvEngine, KvInfo } from '../../../bindings/kv/engine.js';
import { kvBinding } from '../../../bindings/kv/kv-binding.js';
import { NAMESPACE_NAMES } from '../../../bindings/kv/store/stored-namespaces.js';
import { object } from '../../../quotas/schema/schema.js';
import { type Context, param } from '../../context.js';
import type { OneReply } from '../../http/envelope.js';
import { parameter } from '../../http/parameters.js';
import { ACCOUNT_PATH, created, many, one, type Resource, route, routeWithBody } from '../../route.js';
import { body, DELETED, dateTime, named, string, type ValueOf } from '../../schemas.js';
import { namedThings } from '../named-things.js';

export const NAMESPACE_PATH = `${ACCOUNT_PATH}/kv/namespaces/{namespace_id}`;

export const KV_PARAMETERS = {
  namespace_id: parameter('^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$', 'sessions'),
  /** Any text, percent-encoded. */
  key_name: parameter('^[^]{1,512}$', 'user:1'),
};

const KV_NAMESPACE_CREATE = body('KvNamespaceCreate', object({ name: NAMESPACE_NAMES.schema }), { name: 'sessions' });
const KV_NAMESPACE = named('KvNamespace', object({ id: string, created_on: dateTime }));

const NAMESPACES = namedThings({
  noun: 'namespace',
  parameter: 'namespace_id',
  directoryOf,
  shown: ({ name, created }: KvInfo): ValueOf<typeof KV_NAMESPACE> => ({
    id: name,
    created_on: new Date(created).toISOString(),
  }),
});

export const KV_NAMESPACES_API: Resource = {
  parameters: KV_PARAMETERS,
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/kv/namespaces`, id: 'kv-namespace-list', access: 'kv:read', summary: 'Key-value namespaces of an account', answer: many(KV_NAMESPACE) }, NAMESPACES.list),
    routeWithBody({ method: 'POST', path: `${ACCOUNT_PATH}/kv/namespaces`, id: 'kv-namespace-create', access: 'kv:edit', summary: 'Make a key-value namespace', answer: created(KV_NAMESPACE) }, KV_NAMESPACE_CREATE, createNamespace),
    route({ method: 'GET', path: NAMESPACE_PATH, id: 'kv-namespace-get', access: 'kv:read', summary: 'A key-value namespace', answer: one(KV_NAMESPACE) }, NAMESPACES.get),
    route({ method: 'DELETE', path: NAMESPACE_PATH, id: 'kv-namespace-delete', access: 'kv:edit', summary: 'Delete a key-value namespace with all that is in it', answer: one(DELETED) }, NAMESPACES.delete),
  ],
};

function createNamespace(
  context: Context,
  { name }: ValueOf<typeof KV_NAMESPACE_CREATE>,
): Promise<OneReply<typeof KV_NAMESPACE>> {
  return NAMESPACES.create(context, name, directory => directory.create(name));
}

/** The namespace of the path. @throws ApiError NOT_FOUND */
export async function namespaceOf(context: Context): Promise<KvEngine> {
  const name = param(context, 'namespace_id');
  const namespace = await directoryOf(context).find(name);
  if (namespace === null) throw NAMESPACES.unknown(name);
  return namespace;
}

function directoryOf({ services, account }: Context) {
  return services.directoryOf(kvBinding, account);
}
