/**
 * Checks the arguments of a namespace's methods as the function sent them, without relying on the client. Wrong shapes are TypeErrors; the others are KvErrors.
 */
import { describe, isObject } from '../../quotas/schema/describe.js';
import type { UncheckedFields } from '../service.js';
import { checkKeyCount, checkKeyText, checkLength, checkMetadataSize } from './check-text.js';
import { type KvMethod, type KvOperation, kvError } from './errors.js';
import { KV_LIMITS } from './limits.js';

export function checkFields(method: KvMethod, args: unknown): UncheckedFields {
  if (isObject(args)) return args;
  throw new TypeError(`${method}: the argument is ${describe(args)}, it must be an object`);
}

/** The key in the form in which it is kept: lone surrogates have no UTF-8 and become U+FFFD, as everywhere on the web. */
export function checkKey(method: KvMethod, operation: KvOperation, value: unknown): string {
  const key = wellFormed(checkString(method, 'the key', value));
  checkKeyText(operation, key);
  return key;
}

export function checkKeys(value: unknown): string[] {
  if (!Array.isArray(value)) throw new TypeError(`get: the keys are ${describe(value)}, they must be an array`);
  checkKeyCount(value.length);
  return value.map(key => checkKey('get', 'GET_BULK', key));
}

export function checkPrefix(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const prefix = wellFormed(checkString('list', 'the prefix', value));
  checkLength('GET', prefix);
  return prefix;
}

export function checkCacheTtl(operation: KvOperation, value: unknown): void {
  const least = KV_LIMITS.minCacheTtlSeconds;
  if (value === undefined || (isInteger(value) && value >= least)) return;
  throw kvError(operation, 20001, `Invalid cache_ttl of ${shown(value)}. Cache TTL must be at least ${least}.`);
}

/** The largest number of keys of a page. 0 and less stand for the default, as does undefined. */
export function checkLimit(value: unknown): number {
  const most = KV_LIMITS.listKeys;
  if (value === undefined) return most;
  if (typeof value !== 'number') {
    throw kvError('GET', 20001, `Invalid key_count_limit of ${shown(value)}. Please specify an integer.`);
  }
  const limit = Math.trunc(value);
  if (limit <= 0) return most;
  if (limit <= most) return limit;
  throw kvError('GET', 20001, `Invalid key_count_limit of ${limit}. Please specify an integer less than ${most}.`);
}

/** JSON that the client sends as text: others of the account will parse it. */
export function checkMetadata(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const json = checkString('put', 'the metadata', value);
  checkMetadataSize(json);
  try {
    JSON.parse(json);
  } catch (error) {
    throw new TypeError('put: the metadata is not valid JSON', { cause: error });
  }
  return json;
}

/**
 * The second since 1970 at which a key expires; undefined: it does not.
 *
 * @param now in milliseconds
 */
export function checkExpiration({ expiration, expirationTtl }: UncheckedFields, now: number): number | undefined {
  const seconds = Math.floor(now / 1000);
  const least = KV_LIMITS.minTtlSeconds;
  if (expirationTtl !== undefined) {
    const what = `Invalid expiration_ttl of ${shown(expirationTtl)}.`;
    if (!isInteger(expirationTtl) || expirationTtl <= 0) {
      throw kvError('PUT', 20001, `${what} Please specify integer greater than 0.`);
    }
    if (expirationTtl < least) {
      throw kvError('PUT', 20001, `${what} Expiration TTL must be at least ${least}.`);
    }
    return checkLatest(what, seconds + expirationTtl);
  }
  if (expiration === undefined) return undefined;
  const what = `Invalid expiration of ${shown(expiration)}.`;
  if (!isInteger(expiration) || expiration <= seconds) {
    throw kvError(
      'PUT',
      20001,
      `${what} Please specify integer greater than the current number of seconds since the UNIX epoch.`,
    );
  }
  if (expiration < seconds + least) {
    throw kvError('PUT', 20001, `${what} Expiration times must be at least ${least} seconds in the future.`);
  }
  return checkLatest(what, expiration);
}

function checkLatest(what: string, expiration: number): number {
  if (expiration <= KV_LIMITS.maxExpiration) return expiration;
  throw kvError('PUT', 20001, `${what} The last time of expiry is ${KV_LIMITS.maxExpiration}.`);
}

export function checkString(method: KvMethod, what: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new TypeError(`${method}: ${what} is ${describe(value)}, it must be a string`);
}

function isInteger(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 100) : typeof value === 'number' ? `${value}` : describe(value);
}

/** Most keys are well-formed already. */
function wellFormed(text: string): string {
  return LONE.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}

const LONE = /\p{Surrogate}/u;
