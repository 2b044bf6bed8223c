/** Turns the arguments of calls of a namespace into plain data and bytes. */
import { isArrayBuffer } from '../../client-arguments.js';
import type { ClientStream } from '../../client-platform.js';
import { isRecord } from '../../is-record.js';

type ValueType = 'text' | 'json' | 'arrayBuffer' | 'stream';

export interface ParsedGetOptions {
  readonly type: ValueType;
  readonly cacheTtl: unknown;
}

/** @param options the second argument of get(): a type or an object. @throws TypeError */
export function getOptions(options: unknown): ParsedGetOptions {
  if (options === undefined || options === null) return { type: 'text', cacheTtl: undefined };
  if (!isRecord(options)) return { type: typeOf(options), cacheTtl: undefined };
  const { type, cacheTtl } = options;
  return {
    type: type === undefined || type === null ? 'text' : typeOf(type),
    cacheTtl: cacheTtl === undefined || cacheTtl === null ? undefined : wireNumber(cacheTtl),
  };
}

function typeOf(type: unknown): ValueType {
  if (type === 'text' || type === 'json' || type === 'arrayBuffer' || type === 'stream') return type;
  throw new TypeError('Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".');
}

export function isBulkType(type: ValueType): type is 'text' | 'json' {
  return type === 'text' || type === 'json';
}

/** A number, or as text what none can be made of: JSON has null for NaN and the infinities. */
export function wireNumber(value: unknown): number | string {
  const number = typeof value === 'number' ? value : Number(value);
  return number - number === 0 ? number : `${number}`;
}

export function bodyOf<Stream extends ClientStream>(value: unknown): string | Uint8Array | Stream {
  if (typeof value === 'string') return value;
  if (typeof value === 'symbol' || typeof value === 'function') throw badValue();
  if (!isRecord(value)) return `${value}`;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (isArrayBuffer(value)) return new Uint8Array(value);
  if (!isStream<Stream>(value)) throw badValue();
  if (value.locked) throw new TypeError('put: the stream given is locked to a reader, give one that is not');
  return value;
}

function badValue(): TypeError {
  return new TypeError('KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.');
}

/** Any implementation of streams counts, as long as it can be read. */
function isStream<Stream extends ClientStream>(value: object): value is Stream {
  return 'getReader' in value && typeof value.getReader === 'function';
}
