/** Options of node:zlib on their way to the host realm, whose Node checks them. */
import { isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { checkInteger, invalidArgType } from '../errors.ts';
import { flushKinds, type ZlibFormat } from './formats.ts';

export interface CheckedOptions {
  readonly json: string;
  readonly dictionary: Uint8Array | undefined;
  readonly maxOutputLength: number;
  readonly flush: number;
}

const NUMBERS = ['level', 'memLevel', 'strategy', 'windowBits', 'flush', 'finishFlush', 'pledgedSrcSize'] as const;
const MOST_OUTPUT = 2 ** 32;
const MIN_CHUNK = 64;

export function checkOptions(format: ZlibFormat, given: unknown): CheckedOptions {
  const options = Object(given) as { readonly [name: string]: unknown }; // every object can be read from
  const sent: { [name: string]: unknown } = {};
  for (const name of NUMBERS) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== 'number') throw invalidArgType(`options.${name}`, 'number', value);
    // JSON has no such numbers, and Node takes NaN for the default.
    if (Number.isNaN(value)) continue;
    checkInteger(value, `options.${name}`);
    sent[name] = value;
  }
  if (options.params !== undefined) sent.params = { ...Object(options.params) };
  const { dictionary, chunkSize, maxOutputLength } = options;
  if (dictionary !== undefined && !isBufferSource(dictionary)) {
    throw invalidArgType('options.dictionary', ['Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], dictionary);
  }
  if (chunkSize !== undefined) checkInteger(chunkSize, 'options.chunkSize', MIN_CHUNK);
  if (maxOutputLength !== undefined) {
    checkInteger(maxOutputLength, 'options.maxOutputLength', 1, MOST_OUTPUT);
    sent.maxOutputLength = maxOutputLength;
  }
  return {
    json: JSON.stringify(sent),
    dictionary: dictionary === undefined ? undefined : viewOf(dictionary),
    maxOutputLength: maxOutputLength ?? MOST_OUTPUT,
    flush: (sent.flush as number | undefined) ?? flushKinds(format).none, // as checked
  };
}
