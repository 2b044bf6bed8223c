import { keyOf } from '../../client-arguments.js';
import { readAll, wholeBuffer } from '../../client-bytes.js';
import { jsonOf } from '../../client-json.js';
import type { ClientPlatform, ClientReply, ClientStream } from '../../client-platform.js';
import { isRecord } from '../../is-record.js';
import { checkKeyCount, checkKeyText, checkLength, checkMetadataSize } from '../check-text.js';
import { kvError } from '../errors.js';
import type { KvWireArguments, WireValue, WireValues } from './calls.js';
import { bodyOf, getOptions, isBulkType, type ParsedGetOptions, wireNumber } from './client-arguments.js';
import { type ListedKeys, pageOf } from './client-list.js';

/**
 * The namespace as a program sees it (KvNamespace): one implementation, for functions inside their realm and for the application. It uses no
 * types and objects of a platform except those that it is given.
 */

// Captured before function code runs, because it may replace them.
const { isArray } = Array;
const { parse, stringify } = JSON;

interface KvPlatform<Stream extends ClientStream, BlobType> extends Omit<ClientPlatform<Stream, BlobType>, 'call'> {
  readonly call: <Method extends keyof KvWireArguments>(
    method: Method,
    args: KvWireArguments[Method],
    body: string | Uint8Array | Stream | null,
    lengthOf?: (head: unknown) => number | undefined,
  ) => Promise<ClientReply<Stream>>;
}

interface WithMetadata {
  readonly value: unknown;
  readonly metadata: unknown;
  readonly cacheStatus: null;
}

/** An entry of many; it has no `cacheStatus`. */
type OneOfMany = Omit<WithMetadata, 'cacheStatus'>;

export function createKvClient<Stream extends ClientStream, BlobType>(platform: KvPlatform<Stream, BlobType>) {
  const { call } = platform;

  const one = async (key: unknown, { type, cacheTtl }: ParsedGetOptions): Promise<WithMetadata | null> => {
    const args: KvWireArguments['get'] = { key: keyOf('get', key) };
    checkKeyText('GET', args.key);
    if (cacheTtl !== undefined) args.cacheTtl = cacheTtl;
    if (type === 'text' || type === 'json') args.text = true;
    const { head, body } = await call('get', args, null, sizeOf);
    if (head === null) return null;
    const { size, metadata, text } = uncheckedValue(head);
    return {
      value:
        text === undefined
          ? await asType(type, body ?? new Uint8Array(0), size, args.key)
          : ofText(type, text, args.key),
      metadata: metadata === undefined ? null : parse(metadata),
      cacheStatus: null,
    };
  };

  const many = async (
    keys: readonly unknown[],
    { type, cacheTtl }: ParsedGetOptions,
  ): Promise<Map<string, OneOfMany | null>> => {
    if (!isBulkType(type)) {
      throw kvError('GET_BULK', 20001, `"${type}" is not a valid type. Use "json" or "text"`);
    }
    checkKeyCount(keys.length);
    const found = new Map<string, OneOfMany | null>();
    for (let at = 0; at < keys.length; at++) {
      const key = keyOf('get', keys[at]);
      checkKeyText('GET_BULK', key);
      found.set(key, null);
    }
    const args: KvWireArguments['getMany'] = { keys: [...found.keys()] };
    if (cacheTtl !== undefined) args.cacheTtl = cacheTtl;
    const { head, body } = await call('getMany', args, null);
    const { sizes, metadata, texts: given } = uncheckedValues(head);
    const texts = given ?? (await textsOf(body ?? new Uint8Array(0), sizes));
    const allMetadata: unknown[] = metadata === undefined ? [] : parse(metadata);
    let index = 0;
    for (const key of found.keys()) {
      const text = texts[index] ?? null;
      const metadata = allMetadata[index++] ?? null;
      if (text !== null) found.set(key, { value: type === 'json' ? bulkJson(text) : text, metadata });
    }
    return found;
  };

  const asType = async (
    type: ParsedGetOptions['type'],
    body: Uint8Array | Stream,
    size: number,
    key: string,
  ): Promise<unknown> => {
    if (type === 'stream') return body instanceof Uint8Array ? streamOf(body) : body;
    const bytes = await bytesOf(body, size);
    if (type === 'arrayBuffer') return wholeBuffer(bytes).buffer;
    return ofText(type, new platform.TextDecoder().decode(bytes), key);
  };

  /** Values end to end, as texts; null for a key that is not there. */
  const textsOf = async (body: Uint8Array | Stream, sizes: readonly number[]): Promise<(string | null)[]> => {
    let total = 0;
    for (let at = 0; at < sizes.length; at++) total += sizes[at] === -1 ? 0 : (sizes[at] ?? 0);
    const bytes = await bytesOf(body, total);
    const texts: (string | null)[] = [];
    let end = 0;
    for (let at = 0; at < sizes.length; at++) {
      const size = sizes[at] ?? -1;
      texts[at] = size === -1 ? null : new platform.TextDecoder().decode(bytes.subarray(end, end + size));
      if (size !== -1) end += size;
    }
    return texts;
  };

  const bytesOf = async (body: Uint8Array | Stream, size: number): Promise<Uint8Array> =>
    body instanceof Uint8Array ? body : readAll(body, size);

  const streamOf = (bytes: Uint8Array): Stream =>
    new platform.ReadableStream(
      {
        type: 'bytes',
        pull(controller) {
          if (bytes.byteLength > 0) controller.enqueue(bytes);
          controller.close();
          // A reader that brought its own buffer waits for an answer.
          controller.byobRequest?.respond(0);
        },
        cancel() {},
      },
      { highWaterMark: 0 },
    );

  return {
    async get(key: unknown, options?: unknown): Promise<unknown> {
      const given = getOptions(options);
      if (!isArray(key)) return (await one(key, given))?.value ?? null;
      const values = new Map<string, unknown>();
      for (const [name, entry] of await many(key, given)) values.set(name, entry?.value ?? null);
      return values;
    },

    async getWithMetadata(key: unknown, options?: unknown): Promise<unknown> {
      const given = getOptions(options);
      if (isArray(key)) return many(key, given);
      return (await one(key, given)) ?? { value: null, metadata: null, cacheStatus: null };
    },

    async put(key: unknown, value: unknown, options?: unknown): Promise<void> {
      const args: KvWireArguments['put'] = { key: keyOf('put', key) };
      checkKeyText('PUT', args.key);
      if (options !== undefined && options !== null) {
        if (!isRecord(options))
          throw new TypeError(`put: the options are of type ${typeof options}, expected an object`);
        const { expiration, expirationTtl, metadata } = options;
        if (expiration !== undefined && expiration !== null) args.expiration = wireNumber(expiration);
        if (expirationTtl !== undefined && expirationTtl !== null) args.expirationTtl = wireNumber(expirationTtl);
        const json = metadata === undefined ? undefined : stringify(metadata);
        if (json !== undefined) {
          checkMetadataSize(json);
          args.metadata = json;
        }
      }
      await call('put', args, bodyOf<Stream>(value));
    },

    async delete(key: unknown): Promise<void> {
      const args: KvWireArguments['delete'] = { key: keyOf('delete', key) };
      checkKeyText('DELETE', args.key);
      await call('delete', args, null);
    },

    async list(options?: unknown): Promise<ListedKeys> {
      const args: KvWireArguments['list'] = {};
      if (options !== undefined && options !== null) {
        if (!isRecord(options)) {
          throw new TypeError(`list: the options are of type ${typeof options}, expected an object`);
        }
        const { prefix, limit, cursor } = options;
        if (prefix !== undefined && prefix !== null) {
          args.prefix = `${prefix}`;
          checkLength('GET', args.prefix);
        }
        if (limit !== undefined && limit !== null) args.limit = wireNumber(limit);
        if (cursor !== undefined && cursor !== null) args.cursor = `${cursor}`;
      }
      return pageOf((await call('list', args, null)).head);
    },
  };
}

function ofText(type: ParsedGetOptions['type'], text: string, key: string): unknown {
  return type === 'json' ? jsonOf(text, key) : text;
}

function bulkJson(text: string): unknown {
  try {
    return parse(text);
  } catch {
    throw kvError('GET_BULK', 20001, 'At least one of the requested keys corresponds to a non-json value');
  }
}

function sizeOf(head: unknown): number | undefined {
  return head === null ? undefined : uncheckedValue(head).size;
}

// Heads come from the service of the host, which the client trusts and never the other way round: these are casts by name.
function uncheckedValue(head: unknown): WireValue {
  return head as WireValue;
}

function uncheckedValues(head: unknown): WireValues {
  return head as WireValues;
}
