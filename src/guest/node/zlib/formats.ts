/** The formats of node:zlib, by the numbers that the host realm has for them (src/isolate/ops/node/zlib/formats.ts). */

export enum ZlibFormat {
  Deflate = 0,
  Inflate,
  Gzip,
  Gunzip,
  DeflateRaw,
  InflateRaw,
  Unzip,
  BrotliCompress,
  BrotliDecompress,
  ZstdCompress,
  ZstdDecompress,
}

export type FormatName = keyof typeof ZlibFormat;

/** The values of Node's flush constants: zlib, Brotli and Zstandard have their own. */
export interface FlushKinds {
  readonly none: number;
  readonly full: number;
}

const ZLIB: FlushKinds = { none: 0, full: 3 };
const BROTLI: FlushKinds = { none: 0, full: 1 };
const ZSTD: FlushKinds = { none: 0, full: 1 };

export function flushKinds(format: ZlibFormat): FlushKinds {
  if (format >= ZlibFormat.ZstdCompress) return ZSTD;
  return format >= ZlibFormat.BrotliCompress ? BROTLI : ZLIB;
}

/** The numbers of zlib's return codes, by their names. */
export const CODES: { readonly [name: string]: number } = {
  Z_OK: 0,
  Z_STREAM_END: 1,
  Z_NEED_DICT: 2,
  Z_ERRNO: -1,
  Z_STREAM_ERROR: -2,
  Z_DATA_ERROR: -3,
  Z_MEM_ERROR: -4,
  Z_BUF_ERROR: -5,
  Z_VERSION_ERROR: -6,
};
