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
import { type Context, param } from '../../context.js';
import type { ApiCode } from '../../http/codes.js';
import { ApiError, type Reply } from '../../http/envelope.js';
import { withBody } from './body.js';
import { namespaceOf } from './namespaces.js';

export const KEY_QUERY = {
  prefix: { type: 'string', maxLength: KV_LIMITS.keyBytes },
  cursor: { type: 'string', pattern: '^[A-Za-z0-9_-]{2,700}$' },
};

export const PUT_QUERY = {
  expiration: { type: 'integer', minimum: 1 },
  expiration_ttl: { type: 'integer', minimum: 1 },
  metadata: { type: 'string', minLength: 1, maxLength: KV_LIMITS.metadataBytes },
};

export async function listKeys(context: Context): Promise<Reply> {
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

export async function getValue(context: Context): Promise<Reply> {
  const { content } = await foundOf(context);
  const body = content.open();
  return {
    result: null,
    raw: body instanceof Uint8Array ? new Uint8Array(body) : ReadableStream.from(body),
    mediaType: 'application/octet-stream',
  };
}

export async function getMetadata(context: Context): Promise<Reply> {
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

export async function putValue(context: Context): Promise<Reply> {
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

export async function deleteValue(context: Context): Promise<Reply> {
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

function shownKey({ key, metadata, expiration }: KvEntry): unknown {
  return {
    name: key,
    ...(expiration === undefined ? undefined : { expiration }),
    ...(metadata === undefined ? undefined : { metadata: JSON.parse(metadata) }),
  };
}
