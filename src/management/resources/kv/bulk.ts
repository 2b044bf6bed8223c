/** Many pairs or keys of a namespace in one request: all of it is checked before anything is written. */

import { checkExpiration, checkKey, checkMetadata } from '../../../bindings/kv/check-arguments.js';
import type { KvEngine } from '../../../bindings/kv/engine.js';
import { KvError, kvError } from '../../../bindings/kv/errors.js';
import { KV_LIMITS } from '../../../bindings/kv/limits.js';
import { errorCode } from '../../../quotas/errors.js';
import { accountWork, type CallWork } from '../../../quotas/host/call-work.js';
import { anything, list, object, text, wholeNumber } from '../../../quotas/schema/schema.js';
import type { Context } from '../../context.js';
import { checkJsonType, parseJson } from '../../http/body.js';
import { ApiError, type OneReply } from '../../http/envelope.js';
import { type ElementBounds, type JsonElement, jsonElements } from '../../http/json-elements.js';
import { Slices } from '../../http/slices.js';
import { one, type Resource, routeWithLongBody } from '../../route.js';
import { body, boolean, integer, type NamedSchema, named, string, type ValueOf } from '../../schemas.js';
import { isBody, problems } from '../../validator.js';
import { withBody } from './body.js';
import { KV_PARAMETERS, NAMESPACE_PATH, namespaceOf } from './namespaces.js';

/** A value in base64, or as a text in which each byte is escaped by another one. */
const VALUE_BOUNDS: ElementBounds = {
  elements: KV_LIMITS.bulkPairs,
  elementBytes: 2 * KV_LIMITS.valueBytes + 64 * 1024,
  structureBytes: 4096,
};
const KEY_BOUNDS: ElementBounds = { elements: KV_LIMITS.bulkPairs, elementBytes: 8192, structureBytes: 4096 };
/** A batch has at most this many pairs, or this many bytes of JSON. */
const BATCH_PAIRS = 64;
const BATCH_BYTES = 2 * 1024 * 1024;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** A pair that was checked. Its value stays in the body until it is written. */
interface CheckedPair {
  readonly metadata: string | undefined;
  readonly expiration: number | undefined;
}

const kvKeyName = text({ minLength: 1 });
const kvPair = object({
  key: kvKeyName,
  value: string,
  'base64?': boolean,
  'expiration?': wholeNumber(1, KV_LIMITS.maxExpiration, 'seconds'),
  'expiration_ttl?': wholeNumber(1, KV_LIMITS.maxExpiration, 'seconds'),
  'metadata?': anything(),
});

const KV_PAIR = body('KvPair', kvPair, { key: 'user/1', value: 'aGVsbG8=', base64: true });
const KV_PAIRS = body('KvPairs', list(kvPair, { maxItems: KV_LIMITS.bulkPairs }), [
  { key: 'user/1', value: 'hello', expiration_ttl: 3600, metadata: { plan: 'free' } },
  { key: 'user/2', value: 'aGVsbG8=', base64: true },
]);
const KV_KEY_NAME = body('KvKeyName', kvKeyName, 'user/1');
const KV_KEY_NAMES = body('KvKeyNames', list(kvKeyName, { maxItems: KV_LIMITS.bulkPairs }), ['user/1', 'user/2']);
const KV_BULK = named('KvBulk', object({ successful_key_count: integer, unsuccessful_keys: list(string) }));

export const KV_BULK_API: Resource = {
  parameters: KV_PARAMETERS,
  // biome-ignore format: a table, one route a row
  routes: [
    routeWithLongBody({ method: 'PUT', path: `${NAMESPACE_PATH}/bulk`, id: 'kv-bulk-put', access: 'kv:edit', summary: 'Set the values of up to 10,000 keys', answer: one(KV_BULK) }, KV_PAIRS, putPairs),
    routeWithLongBody({ method: 'POST', path: `${NAMESPACE_PATH}/bulk/delete`, id: 'kv-bulk-delete', access: 'kv:edit', summary: 'Delete up to 10,000 keys', answer: one(KV_BULK) }, KV_KEY_NAMES, deleteKeys),
  ],
  schemas: [KV_PAIR, KV_KEY_NAME],
};

async function putPairs(context: Context): Promise<OneReply<typeof KV_BULK>> {
  checkJsonType(context.request);
  const namespace = await namespaceOf(context);
  const bounds = context.services.functions.storageBounds(context.account);
  return withBody(context, KV_LIMITS.bulkPutBytes, async body => {
    const pairs = await checkedElements(context, body, VALUE_BOUNDS, KV_PAIR, pair => {
      return [checkKey('put', 'PUT', pair.key), checkedPair(pair)];
    });
    return written(context, pairs, async (key, { start, end, metadata, expiration }, work) => {
      const pair = parseJson(body.subarray(start, end));
      // It was checked, and its bytes are those that were.
      if (!isBody(context.services.schemas, KV_PAIR, pair)) throw new TypeError('The body has changed');
      await namespace.put(key, bytesOf(pair), { metadata, expiration, bounds }, work);
    });
  });
}

async function deleteKeys(context: Context): Promise<OneReply<typeof KV_BULK>> {
  checkJsonType(context.request);
  const namespace: KvEngine = await namespaceOf(context);
  return withBody(context, KV_LIMITS.bulkPutBytes, async body => {
    const keys = await checkedElements(context, body, KEY_BOUNDS, KV_KEY_NAME, name => {
      return [checkKey('delete', 'DELETE', name), {}];
    });
    return written(context, keys, (key, _place, work) => namespace.delete(key, work));
  });
}

/** The elements by key: among several for one key the last one wins. @throws ApiError BAD_JSON, BODY_INVALID with the place of the first defect */
async function checkedElements<T, Checked extends object>(
  { account, services: { schemas, functions } }: Context,
  body: Uint8Array,
  bounds: ElementBounds,
  schema: NamedSchema<T>,
  check: (value: T) => readonly [key: string, checked: Checked],
): Promise<Map<string, Checked & JsonElement>> {
  const found = new Map<string, Checked & JsonElement>();
  const slices = new Slices(functions.work(account));
  let index = -1;
  for (const place of jsonElements(body, bounds)) {
    index++;
    const value = parseJson(body.subarray(place.start, place.end));
    if (!isBody(schemas, schema, value)) {
      const [problem = 'it does not fit'] = problems(schemas, schema, value);
      const what = problem.startsWith('/') ? `/${index}${problem}` : problem.replace('the body', `/${index}`);
      throw new ApiError('BODY_INVALID', what);
    }
    try {
      const [key, checked] = check(value);
      // At the end again, in the order of the last ones.
      found.delete(key);
      found.set(key, { ...checked, ...place });
    } catch (error) {
      if (!(error instanceof TypeError || error instanceof KvError)) throw error;
      throw new ApiError('BODY_INVALID', `/${index}: ${error.message}`, { cause: error });
    }
    await slices.pause();
  }
  slices.end();
  return found;
}

function checkedPair(pair: ValueOf<typeof KV_PAIR>): CheckedPair {
  const { value, base64 = false, expiration, expiration_ttl: expirationTtl, metadata } = pair;
  if (base64 && !BASE64.test(value)) throw new TypeError('put: the value is not valid base64');
  const size = Buffer.byteLength(value, base64 ? 'base64' : 'utf8');
  const most = KV_LIMITS.valueBytes;
  if (size > most) throw kvError('PUT', 20004, `Value length of ${size} exceeds limit of ${most}.`);
  return {
    metadata: checkMetadata(metadata === undefined ? undefined : JSON.stringify(metadata)),
    expiration: checkExpiration({ expiration, expirationTtl }, Date.now()),
  };
}

function bytesOf({ value, base64 = false }: ValueOf<typeof KV_PAIR>): Uint8Array {
  return Buffer.from(value, base64 ? 'base64' : 'utf8');
}

/**
 * Writes the checked elements, some at once. A key that could not be written does not stop the others, but an error of the namespace or the account does. Fails
 * as the first has failed when none was written.
 */
async function written<Checked extends JsonElement>(
  context: Context,
  checked: ReadonlyMap<string, Checked>,
  write: (key: string, checked: Checked, work: CallWork | undefined) => Promise<void>,
): Promise<OneReply<typeof KV_BULK>> {
  const failed: string[] = [];
  let failure: unknown;
  let isOver = false;
  const share = context.services.functions.work(context.account);
  const work = share && accountWork(share);
  const slices = new Slices(share);
  for (const batch of batches(checked)) {
    if (isOver) {
      failed.push(...batch.map(([key]) => key));
      continue;
    }
    const writing = batch.map(([key, one]) => write(key, one, work));
    // Until here it was work of this thread. From here on it waits for the storage, which charges for itself.
    slices.end();
    const outcomes = await Promise.allSettled(writing);
    // A storage in memory answers without a round of the event loop.
    await slices.next();
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') continue;
      failure ??= outcome.reason;
      isOver ||= outcome.reason instanceof KvError || errorCode(outcome.reason) !== undefined;
      failed.push(batch[index]?.[0] ?? '');
    }
  }
  if (failure !== undefined && failed.length === checked.size) throw failure;
  await context.commit([]);
  return { result: { successful_key_count: checked.size - failed.length, unsuccessful_keys: failed } };
}

function* batches<Checked extends JsonElement>(
  all: ReadonlyMap<string, Checked>,
): Generator<(readonly [string, Checked])[]> {
  let batch: (readonly [string, Checked])[] = [];
  let bytes = 0;
  for (const entry of all) {
    const [, { start, end }] = entry;
    if (batch.length >= BATCH_PAIRS || (batch.length > 0 && bytes + end - start > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += end - start;
  }
  if (batch.length > 0) yield batch;
}
