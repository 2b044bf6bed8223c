/**
 * The CRCs that Node does not have, eight bytes a step, and the combination of the parts' CRCs into the CRC of the whole. All are reflected, begin with ones
 * and end inverted. Parameters: https://reveng.sourceforge.io/crc-catalogue/
 */

const CRC32_POLYNOMIAL = 0xedb88320n;
const CRC32C_POLYNOMIAL = 0x82f63b78n;
const CRC64NVME_POLYNOMIAL = 0x9a6c9329ac4bc9b5n;

/** Low and high words of the eight tables: [k * 256 + byte] is the CRC of the byte followed by k zero bytes. */
interface Tables {
  readonly low: Int32Array;
  readonly high: Int32Array;
}

const CRC32C_TABLES = makeTables(CRC32C_POLYNOMIAL);
const CRC64NVME_TABLES = makeTables(CRC64NVME_POLYNOMIAL);

/** Continues `crc` (0 at the beginning) with more bytes. */
export function crc32c(bytes: Uint8Array, crc = 0): number {
  const t = CRC32C_TABLES.low;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let c = ~crc;
  let i = 0;
  for (const end = bytes.length - 7; i < end; i += 8) {
    c ^= view.getInt32(i, true);
    const d = view.getInt32(i + 4, true);
    c =
      at(t, 1792 + (c & 255)) ^
      at(t, 1536 + ((c >>> 8) & 255)) ^
      at(t, 1280 + ((c >>> 16) & 255)) ^
      at(t, 1024 + (c >>> 24)) ^
      at(t, 768 + (d & 255)) ^
      at(t, 512 + ((d >>> 8) & 255)) ^
      at(t, 256 + ((d >>> 16) & 255)) ^
      at(t, d >>> 24);
  }
  for (; i < bytes.length; i++) c = at(t, (c ^ at(bytes, i)) & 255) ^ (c >>> 8);
  return ~c >>> 0;
}

/** A CRC of 64 bits in two words. */
export interface Crc64 {
  readonly low: number;
  readonly high: number;
}

/** Continues `crc` ({low: 0, high: 0} at the beginning) with more bytes. */
export function crc64nvme(bytes: Uint8Array, crc: Crc64): Crc64 {
  const { low: tl, high: th } = CRC64NVME_TABLES;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let l = ~crc.low;
  let h = ~crc.high;
  let i = 0;
  for (const end = bytes.length - 7; i < end; i += 8) {
    l ^= view.getInt32(i, true);
    h ^= view.getInt32(i + 4, true);
    const a = 1792 + (l & 255);
    const b = 1536 + ((l >>> 8) & 255);
    const c = 1280 + ((l >>> 16) & 255);
    const d = 1024 + (l >>> 24);
    const e = 768 + (h & 255);
    const f = 512 + ((h >>> 8) & 255);
    const g = 256 + ((h >>> 16) & 255);
    const j = h >>> 24;
    l = at(tl, a) ^ at(tl, b) ^ at(tl, c) ^ at(tl, d) ^ at(tl, e) ^ at(tl, f) ^ at(tl, g) ^ at(tl, j);
    h = at(th, a) ^ at(th, b) ^ at(th, c) ^ at(th, d) ^ at(th, e) ^ at(th, f) ^ at(th, g) ^ at(th, j);
  }
  for (; i < bytes.length; i++) {
    const k = (l ^ at(bytes, i)) & 255;
    l = at(tl, k) ^ ((l >>> 8) | (h << 24));
    h = at(th, k) ^ (h >>> 8);
  }
  return { low: ~l >>> 0, high: ~h >>> 0 };
}

export type CrcName = 'CRC32' | 'CRC32C' | 'CRC64NVME';

/** The CRC of the parts one after the other, from their own CRCs and lengths in bytes. */
export function combineCrcs(name: CrcName, parts: Iterable<{ readonly crc: bigint; readonly length: number }>): bigint {
  const polynomial = { CRC32: CRC32_POLYNOMIAL, CRC32C: CRC32C_POLYNOMIAL, CRC64NVME: CRC64NVME_POLYNOMIAL }[name];
  // Parts but the last are equal in size, so two operators serve up to 10,000 parts; each costs a few milliseconds.
  const operators = new Map<number, readonly bigint[]>();
  let whole = 0n;
  for (const { crc, length } of parts) {
    let operator = operators.get(length);
    if (operator === undefined) {
      operator = zeroBytesOperator(polynomial, name === 'CRC64NVME' ? 64 : 32, length);
      if (operators.size < 16) operators.set(length, operator);
    }
    whole = apply(operator, whole) ^ crc;
  }
  return whole;
}

/** The matrix over GF(2) that advances a CRC by `length` zero bytes: row n is what bit n becomes. */
function zeroBytesOperator(polynomial: bigint, width: number, length: number): readonly bigint[] {
  let power: readonly bigint[] = Array.from({ length: width }, (_, n) => (n === 0 ? polynomial : 1n << BigInt(n - 1)));
  let operator: readonly bigint[] = Array.from({ length: width }, (_, n) => 1n << BigInt(n));
  for (let bits = BigInt(length) * 8n; bits > 0n; bits >>= 1n) {
    const step = power;
    if (bits & 1n) operator = operator.map(row => apply(step, row));
    power = step.map(row => apply(step, row));
  }
  return operator;
}

function apply(matrix: readonly bigint[], vector: bigint): bigint {
  let sum = 0n;
  for (let n = 0; vector > 0n; n++, vector >>= 1n) if (vector & 1n) sum ^= matrix[n] ?? 0n;
  return sum;
}

function makeTables(polynomial: bigint): Tables {
  const low = new Int32Array(2048);
  const high = new Int32Array(2048);
  const first: bigint[] = [];
  for (let byte = 0; byte < 256; byte++) {
    let crc = BigInt(byte);
    for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ polynomial : crc >> 1n;
    first.push(crc);
  }
  let row = first;
  for (let k = 0; k < 8; k++) {
    row.forEach((crc, byte) => {
      low[k * 256 + byte] = Number(BigInt.asIntN(32, crc));
      high[k * 256 + byte] = Number(BigInt.asIntN(32, crc >> 32n));
    });
    row = row.map(crc => (first[Number(crc & 255n)] ?? 0n) ^ (crc >> 8n));
  }
  return { low, high };
}

/** Every index here is in bounds by construction; the compiler cannot know it. */
function at(array: Uint8Array | Int32Array, i: number): number {
  return array[i] ?? 0;
}
