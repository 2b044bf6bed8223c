import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import { cancelBody } from '../bodies/cancel-body.js';
import { isInForce } from '../compatibility-flags.js';
import type { Service, ServiceCall, ServiceReply, UncheckedFields } from '../service.js';
import { openContent } from '../stored-values/service-body.js';
import {
  checkCondition,
  checkFields,
  checkHashes,
  checkKeys,
  checkMetadata,
  checkNamedParts,
  checkPartNumber,
  checkRange,
  checkString,
  describe,
  receivedNumber,
} from './check-arguments.js';
import type { WireList } from './client/calls.js';
import type { BucketEngine, GetOutcome, ListQuery } from './engine.js';
import { BucketError, type BucketMethod, bucketErrorCode } from './errors.js';
import { type BucketPlanLimits, DEFAULT_PLAN_LIMITS } from './limits.js';
import { decodeCursor } from './list-cursor.js';
import { normalKey } from './normal-key.js';
import { wireColumns, wireObject } from './wire-objects.js';

/** How a bucket behaves for one function. */
export interface BucketServiceOptions {
  /** false: list returns both kinds of metadata whatever `include` says. See the flag `store_list_honor_include`. @default true */
  readonly honorsInclude?: boolean;
  /** Whether delimitedPrefixes end with the delimiter (flag `store_list_prefix_keeps_delimiter`). @default false */
  readonly keepsDelimiter?: boolean;
  /** @default the specification's limits */
  readonly limits?: BucketPlanLimits;
  /** Called before each call; it is refused with what this throws. */
  readonly check?: () => void;
}

/**
 * The options that a function's compatibility date and flags ask for (specification, "List rules", 3): `include` is
 * honoured from 2022-08-04 on, or with the flag `store_list_honor_include`.
 */
export function bucketBehaviour(compatibility: {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly flags: readonly string[];
}): Required<Pick<BucketServiceOptions, 'honorsInclude' | 'keepsDelimiter'>> {
  const { date, flags } = compatibility;
  return {
    honorsInclude: isInForce('store_list_honor_include', date, flags),
    keepsDelimiter: isInForce('store_list_prefix_keeps_delimiter', date, flags),
  };
}

type Answer = (
  bucket: BucketEngine,
  args: UncheckedFields,
  call: ServiceCall,
  options: BucketServiceOptions,
) => Promise<ServiceReply>;

/**
 * Answers the calls of a bucket's client (client/calls.ts). The bucket is opened at the first call. Rejects with TypeError and
 * RangeError for wrong arguments, BucketError by the codes of errors.ts, EdgeError for the storage itself.
 */
export function bucketService(open: () => Promise<BucketEngine>, options: BucketServiceOptions = {}): Service {
  let opening: Promise<BucketEngine> | undefined;
  let bucket: BucketEngine | undefined;
  return async call => {
    const answer = ANSWERS.get(call.method);
    if (answer === undefined) throw new TypeError(`A bucket has no method ${describe(call.method)}`);
    try {
      options.check?.();
      const args = checkFields(answer.name, 'the argument', call.args);
      if (bucket === undefined) {
        opening ??= open().finally(() => {
          opening = undefined;
        });
        bucket = await opening;
      }
      return await answer.run(bucket, args, call, options);
    } catch (error) {
      cancelBody(call.body);
      throw error;
    }
  };
}

const ANSWERS: ReadonlyMap<string, { readonly name: BucketMethod; readonly run: Answer }> = new Map(
  (
    [
      ['head', head],
      ['get', get],
      ['put', put],
      ['delete', remove],
      ['list', list],
      ['createMultipartUpload', createUpload],
      ['uploadPart', uploadPart],
      ['completeMultipartUpload', completeUpload],
      ['abortMultipartUpload', abortUpload],
    ] as const
  ).map(([name, run]) => [name, { name, run }]),
);

async function head(bucket: BucketEngine, args: UncheckedFields, { work }: ServiceCall): Promise<ServiceReply> {
  const object = await bucket.head(checkString('head', 'the key', args.key), work);
  return { head: object === null ? null : wireObject(object, { offset: 0, length: object.size }) };
}

async function get(bucket: BucketEngine, args: UncheckedFields, call: ServiceCall): Promise<ServiceReply> {
  const key = checkString('get', 'the key', args.key);
  const condition = checkCondition('get', args.onlyIf);
  const { range, isHeader } = checkRange('get', args.range);
  const given = condition === undefined ? {} : { condition };
  let outcome: GetOutcome;
  try {
    outcome = await bucket.get(key, range === undefined ? given : { ...given, range }, call.work);
  } catch (error) {
    if (!isHeader || bucketErrorCode(error) !== 10039) throw error;
    outcome = await bucket.get(key, given, call.work);
  }
  if (outcome.kind === 'missing') return { head: null };
  if (outcome.kind === 'failed') return { head: wireObject(outcome.object) };
  const { object, content } = outcome;
  const { offset, length } = content;
  return {
    head: wireObject(object, { offset, length }, true),
    body: openContent(content, call),
  };
}

async function put(
  bucket: BucketEngine,
  args: UncheckedFields,
  call: ServiceCall,
  { limits = DEFAULT_PLAN_LIMITS }: BucketServiceOptions,
): Promise<ServiceReply> {
  const key = checkString('put', 'the key', args.key);
  const condition = checkCondition('put', args.onlyIf);
  const hashes = checkHashes(args);
  const options = {
    ...checkMetadata('put', args),
    ...(condition === undefined ? undefined : { condition }),
    ...(hashes === undefined ? undefined : { hashes }),
    // One that is all there is not waited for.
    ...(call.body === null || call.body instanceof Uint8Array ? undefined : { signal: call.signal }),
    bounds: limits,
  };
  const object = await bucket.put(key, call.body ?? NO_BYTES, options, call.work);
  return { head: object === null ? null : wireObject(object) };
}

async function remove(bucket: BucketEngine, args: UncheckedFields, { work }: ServiceCall): Promise<ServiceReply> {
  // Also when they are too many: they were read all the same.
  if (Array.isArray(args.keys)) work.charge(args.keys.length * HOST_COSTS.keyMs);
  await bucket.delete(checkKeys(args.keys), work);
  return { head: null };
}

async function list(
  bucket: BucketEngine,
  args: UncheckedFields,
  { work }: ServiceCall,
  options: BucketServiceOptions,
): Promise<ServiceReply> {
  const include = checkInclude(args.include);
  const honorsInclude = options.honorsInclude ?? true;
  const includeHttpMetadata = !honorsInclude || include.has('httpMetadata');
  const includeCustomMetadata = !honorsInclude || include.has('customMetadata');
  const cursor = optionalString(args, 'cursor');
  if (cursor !== undefined && decodeCursor(cursor) === undefined) {
    throw new TypeError(`list: the cursor is ${describe(cursor)}, it must be the cursor of an earlier page`);
  }
  const delimiter = optionalString(args, 'delimiter');
  const prefix = optionalString(args, 'prefix');
  const startAfter = optionalString(args, 'startAfter');
  const query: ListQuery = {
    limit: checkLimit(args.limit, (options.limits ?? DEFAULT_PLAN_LIMITS).listEntries),
    includeHttpMetadata,
    includeCustomMetadata,
    ...(prefix === undefined ? undefined : { prefix }),
    ...(cursor === undefined ? undefined : { cursor }),
    ...(startAfter === undefined ? undefined : { startAfter }),
    ...(delimiter === undefined ? undefined : { delimiter }),
  };
  const page = await bucket.list(query, work);
  const cut = options.keepsDelimiter ? 0 : normalKey(delimiter ?? '').length;
  const head: WireList = {
    objects: wireColumns(page.objects, includeHttpMetadata, includeCustomMetadata),
    delimitedPrefixes:
      cut === 0 ? page.delimitedPrefixes : page.delimitedPrefixes.map(group => group.slice(0, group.length - cut)),
    truncated: page.truncated,
    ...(page.cursor === undefined ? undefined : { cursor: page.cursor }),
  };
  return { head };
}

async function createUpload(
  bucket: BucketEngine,
  args: UncheckedFields,
  { work }: ServiceCall,
  options: BucketServiceOptions,
): Promise<ServiceReply> {
  const key = checkString('createMultipartUpload', 'the key', args.key);
  const bounds = options.limits ?? DEFAULT_PLAN_LIMITS;
  const given = { ...checkMetadata('createMultipartUpload', args), ageMs: bounds.multipartUploadMs, bounds };
  const { uploadId } = await bucket.createUpload(key, given, work);
  return { head: { uploadId } };
}

async function uploadPart(
  bucket: BucketEngine,
  args: UncheckedFields,
  call: ServiceCall,
  { limits = DEFAULT_PLAN_LIMITS }: BucketServiceOptions,
): Promise<ServiceReply> {
  const key = checkString('uploadPart', 'the key', args.key);
  const uploadId = checkString('uploadPart', 'the uploadId', args.uploadId);
  const partNumber = checkPartNumber('uploadPart', args.partNumber);
  const { body, signal, work } = call;
  if (body === null) throw new TypeError('uploadPart: there is no value, a part needs one');
  const { etag } = await bucket.uploadPart(key, uploadId, partNumber, body, { signal, bounds: limits }, work);
  return { head: { partNumber, etag } };
}

async function completeUpload(
  bucket: BucketEngine,
  args: UncheckedFields,
  { work }: ServiceCall,
): Promise<ServiceReply> {
  const key = checkString('completeMultipartUpload', 'the key', args.key);
  const uploadId = checkString('completeMultipartUpload', 'the uploadId', args.uploadId);
  if (Array.isArray(args.parts)) work.charge(args.parts.length * HOST_COSTS.keyMs);
  const parts = checkNamedParts(args.parts);
  return { head: wireObject(await bucket.completeUpload(key, uploadId, parts, {}, work)) };
}

async function abortUpload(bucket: BucketEngine, args: UncheckedFields, { work }: ServiceCall): Promise<ServiceReply> {
  const key = checkString('abortMultipartUpload', 'the key', args.key);
  await bucket.abortUpload(key, checkString('abortMultipartUpload', 'the uploadId', args.uploadId), work);
  return { head: null };
}

function optionalString(args: UncheckedFields, name: string): string | undefined {
  const value = args[name];
  return value === undefined ? undefined : checkString('list', name, value);
}

function checkLimit(sent: unknown, most: number): number {
  if (sent === undefined) return most;
  const value = receivedNumber(sent);
  if (typeof value !== 'number') {
    throw new TypeError(`list: limit is ${describe(value)}, it must be a whole number from 1 to ${most}`);
  }
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new BucketError('list', 10022, `limit is ${describe(value)}, it must be a whole number from 1 to ${most}`);
  }
  return value;
}

function checkInclude(value: unknown): ReadonlySet<string> {
  if (value === undefined) return new Set();
  if (!Array.isArray(value)) throw new TypeError(`list: include is ${describe(value)}, it must be an array`);
  for (const word of value) {
    if (word !== 'httpMetadata' && word !== 'customMetadata') {
      throw new RangeError(`list: include holds ${describe(word)}, it may hold "httpMetadata" and "customMetadata"`);
    }
  }
  return new Set(value);
}
