/** The keys and values of a key-value namespace. */

import {
  checkExpiration,
  checkKey,
  checkLimit,
  checkMetadata,
  checkPrefix,
} from '../../../bindings/kv/check-arguments.js';
import type { KvEntry, KvFound } from '../../../bindings/kv/engine.js';
import type { KvMethod, KvOperation } from '../../../bindings/kv/errors.js';
import { KV_LIMITS } from '../../../bindings/kv/limits.js';
import { decodeCursor, encodeCursor } from '../../../bindings/kv/list-cursor.js';
import { anything, object, type Schema, text } from '../../../quotas/schema/schema.js';
import { type Context, param } from '../../context.js';
import type { ApiCode } from '../../http/codes.js';
import { ApiError, type ListReply, type OneReply, type RawReply } from '../../http/envelope.js';
import { many, one, type QueryOf, type Resource, route } from '../../route.js';
import { DELETED, integer, named, shortText, string, type ValueOf } from '../../schemas.js';
import { withBody } from './body.js';
import { KV_PARAMETERS, NAMESPACE_PATH, namespaceOf } from './namespaces.js';

const KEY_QUERY = {
  prefix: text({ maxLength: KV_LIMITS.keyBytes }),
  cursor: text({ pattern: '^[A-Za-z0-9_-]{2,700}$' }),
};

const positive: Schema<number> = { type: 'integer', minimum: 1 };

const PUT_QUERY = {
  expiration: positive,
  expiration_ttl: positive,
  metadata: shortText(KV_LIMITS.metadataBytes),
};

const KV_KEY = named('KvKey', object({ name: string, 'expiration?': integer, 'metadata?': anything() }));

export const KV_VALUES_API: Resource = {
  parameters: KV_PARAMETERS,
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${NAMESPACE_PATH}/keys`, id: 'kv-key-list', access: 'kv:read', summary: 'Keys of a namespace, in the order of their UTF-8 bytes', query: KEY_QUERY, answer: many(KV_KEY, 'cursor') }, listKeys),
    route({ method: 'GET', path: `${NAMESPACE_PATH}/values/{key_name}`, id: 'kv-value-get', access: 'kv:read', summary: 'The value of a key', answer: { kind: 'raw', mediaType: 'application/octet-stream' } }, getValue),
    route({ method: 'PUT', path: `${NAMESPACE_PATH}/values/{key_name}`, id: 'kv-value-put', access: 'kv:edit', summary: 'Set the value of a key to the bytes of the body', query: PUT_QUERY, answer: one(KV_KEY) }, putValue, 'bytes'),
    route({ method: 'DELETE', path: `${NAMESPACE_PATH}/values/{key_name}`, id: 'kv-value-delete', access: 'kv:edit', summary: 'Delete a key', answer: one(DELETED) }, deleteValue),
    route({ method: 'GET', path: `${NAMESPACE_PATH}/metadata/{key_name}`, id: 'kv-metadata-get', access: 'kv:read', summary: 'Expiry and metadata of a key', answer: one(KV_KEY) }, getMetadata),
  ],
};

async function listKeys(context: Context<QueryOf<typeof KEY_QUERY>>): Promise<ListReply<typeof KV_KEY>> {
  const { prefix, cursor, per_page: limit } = context.query;
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  const query = { limit: checkLimit(limit), prefix: checked('QUERY_INVALID', () => checkPrefix(prefix)), after };
  const { entries, last } = await (await namespaceOf(context)).list(query);
  const resultInfo = { per_page: limit, count: entries.length };
  return {
    result: entries.map(shownKey),
    resultInfo: last === undefined ? resultInfo : { ...resultInfo, cursor: encodeCursor(last) },
  };
}

async function getValue(context: Context): Promise<RawReply> {
  const { content } = await foundOf(context);
  const body = content.open();
  return {
    result: null,
    raw: body instanceof Uint8Array ? new Uint8Array(body) : ReadableStream.from(body),
    mediaType: 'application/octet-stream',
  };
}

async function getMetadata(context: Context): Promise<OneReply<typeof KV_KEY>> {
  const { content, metadata, expiration } = await foundOf(context);
  content.release();
  const key = keyOf(context, 'get', 'GET');
  return {
    result: shownKey({
      key,
      ...(metadata === undefined ? undefined : { metadata }),
      ...(expiration === undefined ? undefined : { expiration }),
    }),
  };
}

async function putValue(context: Context<QueryOf<typeof PUT_QUERY>>): Promise<OneReply<typeof KV_KEY>> {
  const { expiration, expiration_ttl: expirationTtl, metadata: given } = context.query;
  const key = keyOf(context, 'put', 'PUT');
  const metadata = checked('QUERY_INVALID', () => checkMetadata(given));
  const expires = checkExpiration({ expiration, expirationTtl }, Date.now());
  const namespace = await namespaceOf(context);
  const bounds = context.services.functions.storageBounds(context.account);
  await withBody(context, KV_LIMITS.valueBytes, body =>
    namespace.put(key, body, { metadata, expiration: expires, bounds }),
  );
  await context.commit([]);
  return {
    result: shownKey({
      key,
      ...(metadata === undefined ? undefined : { metadata }),
      ...(expires === undefined ? undefined : { expiration: expires }),
    }),
  };
}

async function deleteValue(context: Context): Promise<OneReply<typeof DELETED>> {
  const key = keyOf(context, 'delete', 'DELETE');
  await (await namespaceOf(context)).delete(key);
  await context.commit([]);
  return { result: { id: key } };
}

async function foundOf(context: Context): Promise<KvFound> {
  const key = keyOf(context, 'get', 'GET');
  const found = await (await namespaceOf(context)).get(key);
  if (found === null) throw new ApiError('NOT_FOUND', `There is no key ${JSON.stringify(key.slice(0, 100))}`);
  return found;
}

function keyOf(context: Context, method: KvMethod, operation: KvOperation): string {
  return checked('PATH_INVALID', () => checkKey(method, operation, param(context, 'key_name')));
}

/** A TypeError about what a request brought is an error of the request. */
function checked<T>(code: ApiCode, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof TypeError) throw new ApiError(code, error.message, { cause: error });
    throw error;
  }
}

function shownKey({ key, metadata, expiration }: KvEntry): ValueOf<typeof KV_KEY> {
  return {
    name: key,
    ...(expiration === undefined ? undefined : { expiration }),
    ...(metadata === undefined ? undefined : { metadata: JSON.parse(metadata) }),
  };
}
