import { detached } from '../../quotas/guarded.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { describe } from '../../quotas/schema/describe.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import { cancelBody } from '../bodies/cancel-body.js';
import type { Service, ServiceCall, ServiceReply, UncheckedFields } from '../service.js';
import { JoinedContents } from '../stored-values/join-contents.js';
import { openContent } from '../stored-values/service-body.js';
import type { StoredContent } from '../stored-values/stored-content.js';
import { INLINE_BYTES } from '../stored-values/value-sizes.js';
import { wireTexts } from '../wire-texts.js';
import {
  checkCacheTtl,
  checkExpiration,
  checkFields,
  checkKey,
  checkKeys,
  checkLimit,
  checkMetadata,
  checkPrefix,
  checkString,
} from './check-arguments.js';
import type { WirePage, WireValue, WireValues } from './client/calls.js';
import type { KvEngine, KvFound, KvPage } from './engine.js';
import { type KvMethod, kvError } from './errors.js';
import { decodeCursor, encodeCursor } from './list-cursor.js';

/** How a namespace behaves for one function. */
export interface KvServiceOptions {
  /** The most that the account may have stored. @default no bounds */
  readonly limits?: StorageBounds;
  /** Called before each call; it is refused with what this throws. */
  readonly check?: () => void;
  /** Milliseconds since 1970, by which times of expiry are checked. @default Date.now */
  readonly now?: () => number;
}

type Answer = (
  namespace: KvEngine,
  args: UncheckedFields,
  call: ServiceCall,
  options: KvServiceOptions,
) => Promise<ServiceReply>;

/**
 * Answers the calls of a namespace's client (client/calls.ts). The namespace is opened at the first call. Rejects with TypeError for wrong arguments, KvError
 * by the codes of errors.ts, EdgeError for the storage itself.
 */
export function kvService(open: () => Promise<KvEngine>, options: KvServiceOptions = {}): Service {
  let opening: Promise<KvEngine> | undefined;
  let namespace: KvEngine | undefined;
  return async call => {
    const answer = ANSWERS.get(call.method);
    if (answer === undefined)
      throw new TypeError(`A key-value namespace has no method ${JSON.stringify(call.method.slice(0, 100))}`);
    try {
      options.check?.();
      const args = checkFields(answer.name, call.args);
      if (namespace === undefined) {
        opening ??= open().finally(() => {
          opening = undefined;
        });
        namespace = await opening;
      }
      return await answer.run(namespace, args, call, options);
    } catch (error) {
      cancelBody(call.body);
      throw error;
    }
  };
}

const ANSWERS: ReadonlyMap<string, { readonly name: KvMethod; readonly run: Answer }> = new Map([
  ['get', { name: 'get', run: get }],
  ['getMany', { name: 'get', run: getMany }],
  ['put', { name: 'put', run: put }],
  ['delete', { name: 'delete', run: remove }],
  ['list', { name: 'list', run: list }],
] as const);

async function get(namespace: KvEngine, args: UncheckedFields, call: ServiceCall): Promise<ServiceReply> {
  const key = checkKey('get', 'GET', args.key);
  checkCacheTtl('GET', args.cacheTtl);
  const found = await namespace.get(key, call.work);
  if (found === null) return { head: null };
  const { size, metadata, content } = found;
  const head: WireValue = metadata === undefined ? { size } : { size, metadata };
  if (args.text !== true || size > TEXT_BYTES) {
    if (size > 0) return { head, body: openContent(content, call) };
    content.release();
    return { head };
  }
  call.work.charge(costOf(size, HOST_COSTS.jsonMbMs));
  return { head: { ...head, text: textOf(content) } };
}

async function getMany(namespace: KvEngine, args: UncheckedFields, call: ServiceCall): Promise<ServiceReply> {
  // Also when they are too many: they were read all the same.
  if (Array.isArray(args.keys)) call.work.charge(args.keys.length * HOST_COSTS.keyMs);
  const keys = checkKeys(args.keys);
  checkCacheTtl('GET_BULK', args.cacheTtl);
  const found = await namespace.getMany(keys, call.work);
  const sizes = found.map(one => one?.size ?? -1);
  const hasMetadata = found.some(one => one?.metadata !== undefined);
  const head: WireValues = hasMetadata ? { sizes, metadata: jsonArray(found.map(metadataOf)) } : { sizes };
  const length = sizes.reduce((sum, size) => sum + Math.max(0, size), 0);
  if (length <= TEXTS_BYTES) {
    call.work.charge(costOf(length, HOST_COSTS.jsonMbMs));
    return { head: { ...head, texts: found.map(one => (one === null ? null : textOf(one.content))) } };
  }
  // Those that are not in files are in memory already.
  const heldBytes = sizes.reduce((sum, size) => (size <= INLINE_BYTES ? sum + Math.max(0, size) : sum), 0);
  call.work.countBytes(heldBytes);
  const joined = new JoinedContents(
    found.flatMap(one => (one === null ? [] : [one.content])),
    () => call.work.countBytes(-heldBytes),
  );
  const content: StoredContent = { offset: 0, length, open: () => joined, release: () => detached(joined.return()) };
  return { head, body: openContent(content, call) };
}

async function put(
  namespace: KvEngine,
  args: UncheckedFields,
  call: ServiceCall,
  { limits, now = Date.now }: KvServiceOptions,
): Promise<ServiceReply> {
  const key = checkKey('put', 'PUT', args.key);
  const { body } = call;
  const options = {
    metadata: checkMetadata(args.metadata),
    expiration: checkExpiration(args, now()),
    // One that is all there is not waited for.
    signal: body === null || body instanceof Uint8Array ? undefined : call.signal,
    bounds: limits,
  };
  await namespace.put(key, body ?? NO_BYTES, options, call.work);
  return DONE;
}

async function remove(namespace: KvEngine, args: UncheckedFields, { work }: ServiceCall): Promise<ServiceReply> {
  await namespace.delete(checkKey('delete', 'DELETE', args.key), work);
  return DONE;
}

async function list(namespace: KvEngine, args: UncheckedFields, { work }: ServiceCall): Promise<ServiceReply> {
  const prefix = checkPrefix(args.prefix);
  const limit = checkLimit(args.limit);
  return { head: wirePage(await namespace.list({ limit, prefix, after: checkCursor(args.cursor) }, work)) };
}

/** An empty cursor means the first page. */
function checkCursor(value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined;
  const cursor = checkString('list', 'the cursor', value);
  const after = decodeCursor(cursor);
  if (after !== undefined) return after;
  throw kvError('GET', 20001, `Invalid cursor. It is ${describe(cursor)}, it must be the cursor of an earlier page.`);
}

function wirePage({ entries, last }: KvPage): WirePage {
  const names: string[] = [];
  const expirations: [number, number][] = [];
  const withMetadata: number[] = [];
  const metadata: string[] = [];
  for (const entry of entries) {
    if (entry.expiration !== undefined) expirations.push([names.length, entry.expiration]);
    if (entry.metadata !== undefined) {
      withMetadata.push(names.length);
      metadata.push(entry.metadata);
    }
    names.push(entry.key);
  }
  const page = { names: wireTexts(names), expirations, withMetadata, metadata: jsonArray(metadata) };
  return last === undefined ? page : { ...page, cursor: encodeCursor(last) };
}

function metadataOf(found: KvFound | null): string {
  return found?.metadata ?? 'null';
}

/** Each of the texts is JSON that was checked when it was stored. */
function jsonArray(texts: readonly string[]): string {
  return `[${texts.join(',')}]`;
}

/** A value that is read as a whole, as Body.text() decodes it: without its byte order mark. */
function textOf(content: StoredContent): string {
  const bytes = content.open();
  if (!(bytes instanceof Uint8Array)) throw new TypeError('get: a small value is not whole');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/** Values up to this many bytes are in the head of the answer, as text. */
const TEXT_BYTES = 8 * 1024;
/** The values of several keys together are in the head of the answer up to this many bytes. */
const TEXTS_BYTES = INLINE_BYTES;

const DONE: ServiceReply = { head: null };
