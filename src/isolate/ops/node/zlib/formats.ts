/** The formats of node:zlib: how each is made, and which bounds its options have. */
import type { Transform } from 'node:stream';
import zlib from 'node:zlib';
import { OpError, withoutNegativeZero } from '../../arguments.js';

export type ZlibStream = Transform & {
  readonly bytesWritten: number;
  flush(kind: number, callback: () => void): void;
  params?(level: number, strategy: number, callback: (error?: Error | null) => void): void;
  reset?(): void;
};

/** In the order of the numbers that the guest gives, see src/guest/node/zlib/formats.ts. */
const NAMES = [
  'Deflate',
  'Inflate',
  'Gzip',
  'Gunzip',
  'DeflateRaw',
  'InflateRaw',
  'Unzip',
  'BrotliCompress',
  'BrotliDecompress',
  'ZstdCompress',
  'ZstdDecompress',
] as const;

export interface Format {
  readonly name: (typeof NAMES)[number];
  readonly family: 'zlib' | 'brotli' | 'zstd';
  readonly isUnpacking: boolean;
}

export const FORMATS: readonly Format[] = NAMES.map(name => ({
  name,
  family: name.startsWith('Brotli') ? 'brotli' : name.startsWith('Zstd') ? 'zstd' : 'zlib',
  isUnpacking: /^(Inflate|Gunzip|Unzip)|Decompress$/.test(name),
}));

/** Plain data from the guest's JSON. Node checks the types, and the ranges of options of zlib. */
export interface ZlibOptions {
  readonly level?: number;
  readonly memLevel?: number;
  readonly strategy?: number;
  readonly windowBits?: number;
  readonly flush?: number;
  readonly finishFlush?: number;
  readonly dictionary?: Uint8Array;
  readonly params?: Readonly<Record<string, number>>;
  readonly pledgedSrcSize?: number;
}

const NUMBERS = ['level', 'memLevel', 'strategy', 'windowBits', 'flush', 'finishFlush', 'pledgedSrcSize'] as const;

/** The most of parameters that take memory or time. Those that need other threads, or more memory than an isolate has, are 0. */
const MOST_BROTLI: Readonly<Record<string, number | undefined>> = {
  BROTLI_PARAM_MODE: 2,
  BROTLI_PARAM_QUALITY: 11,
  BROTLI_PARAM_LGWIN: 24,
  BROTLI_PARAM_LGBLOCK: 24,
  BROTLI_PARAM_DISABLE_LITERAL_CONTEXT_MODELING: 1,
  BROTLI_PARAM_SIZE_HINT: 0xffff_ffff,
  BROTLI_PARAM_LARGE_WINDOW: 0,
  BROTLI_PARAM_NPOSTFIX: 3,
  BROTLI_PARAM_NDIRECT: 120,
};
const MOST_BROTLI_DECODER: Readonly<Record<string, number | undefined>> = {
  BROTLI_DECODER_PARAM_DISABLE_RING_BUFFER_REALLOCATION: 1,
  BROTLI_DECODER_PARAM_LARGE_WINDOW: 0,
};
const MOST_ZSTD: Readonly<Record<string, number | undefined>> = {
  ZSTD_c_compressionLevel: 19,
  ZSTD_c_windowLog: 24,
  ZSTD_c_hashLog: 24,
  ZSTD_c_chainLog: 24,
  ZSTD_c_searchLog: 10,
  ZSTD_c_minMatch: 7,
  ZSTD_c_targetLength: 999,
  ZSTD_c_strategy: 9,
  ZSTD_c_contentSizeFlag: 1,
  ZSTD_c_checksumFlag: 1,
  ZSTD_c_dictIDFlag: 1,
};
const MOST_ZSTD_DECODER: Readonly<Record<string, number | undefined>> = { ZSTD_d_windowLogMax: 27 };

const MOST = {
  zlib: [{}, {}],
  brotli: [MOST_BROTLI, MOST_BROTLI_DECODER],
  zstd: [MOST_ZSTD, MOST_ZSTD_DECODER],
} as const;

export function readOptions(format: Format, json: string, dictionary: Uint8Array | undefined): ZlibOptions {
  const given: unknown = JSON.parse(json);
  if (typeof given !== 'object' || given === null) throw new OpError('TypeError', 'The options are not an object');
  const options: Record<string, unknown> = Object.create(null);
  for (const name of NUMBERS) {
    const value: unknown = Reflect.get(given, name);
    if (value !== undefined) options[name] = typeof value === 'number' ? withoutNegativeZero(value) : value;
  }
  if (dictionary !== undefined) options.dictionary = dictionary;
  const params: unknown = Reflect.get(given, 'params');
  if (typeof params === 'object' && params !== null) options.params = checkedParams(format, params);
  return options;
}

function checkedParams(format: Format, params: object): Record<string, unknown> {
  const most: Readonly<Record<string, number | undefined>> = MOST[format.family][format.isUnpacking ? 1 : 0];
  const names = new Map(Object.keys(most).map(name => [Number(Reflect.get(zlib.constants, name)), name]));
  const checked: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(params)) {
    const name = names.get(Number(key));
    if (name === undefined) {
      const code = format.family === 'brotli' ? 'ERR_BROTLI_INVALID_PARAM' : 'ERR_ZSTD_INVALID_PARAM';
      throw new OpError('RangeError', `${key} is not a valid ${format.family} parameter in a function`, code);
    }
    if (typeof value === 'number' && value > (most[name] ?? 0)) {
      throw new OpError(
        'RangeError',
        `The parameter ${name} is ${value}, at most ${most[name]} is allowed in a function`,
        'ERR_OUT_OF_RANGE',
      );
    }
    checked[key] = typeof value === 'boolean' ? value : withoutNegativeZero(Number(value));
  }
  return checked;
}

export function param(options: ZlibOptions, name: string, otherwise: number): number {
  const key: unknown = Reflect.get(zlib.constants, name);
  const value = options.params?.[String(key)];
  return typeof value === 'number' ? value : otherwise;
}

export function createStream(format: Format, options: object): ZlibStream {
  return of(`create${format.name}`)(options) as ZlibStream; // what these functions return
}

const SYNC: Readonly<Record<Format['name'], string>> = {
  Deflate: 'deflateSync',
  Inflate: 'inflateSync',
  Gzip: 'gzipSync',
  Gunzip: 'gunzipSync',
  DeflateRaw: 'deflateRawSync',
  InflateRaw: 'inflateRawSync',
  Unzip: 'unzipSync',
  BrotliCompress: 'brotliCompressSync',
  BrotliDecompress: 'brotliDecompressSync',
  ZstdCompress: 'zstdCompressSync',
  ZstdDecompress: 'zstdDecompressSync',
};

export function runSync(format: Format, bytes: Uint8Array, options: object): Uint8Array {
  return of(SYNC[format.name])(bytes, options) as Uint8Array; // what these functions return
}

function of(name: string): (...args: unknown[]) => unknown {
  const found: unknown = Reflect.get(zlib, name);
  if (typeof found === 'function') return (...args) => Reflect.apply(found, zlib, args);
  throw new OpError(
    'Error',
    `node:zlib: ${name}() is not available with this version of Node`,
    'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
  );
}
