/** Numbers in buffers: the methods `readUInt8` to `writeDoubleBE`. */
import { checkInteger, codeError, invalidArgType, outOfRange } from '../errors.ts';

type Bytes = Uint8Array;

function viewOf(bytes: Bytes): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The offset of a number of `size` bytes in the buffer. */
function checkedOffset(bytes: Bytes, offset: unknown, size: number): number {
  if (typeof offset !== 'number') throw invalidArgType('offset', 'number', offset);
  const last = bytes.length - size;
  if (Number.isInteger(offset) && offset >= 0 && offset <= last) return offset;
  return refuseOffset(offset, last);
}

function refuseOffset(offset: number, last: number): never {
  if (!Number.isInteger(offset)) throw outOfRange('offset', 'an integer', offset);
  if (last < 0) {
    throw codeError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', 'Attempt to access memory outside buffer bounds');
  }
  throw outOfRange('offset', `>= 0 and <= ${last}`, offset);
}

function checkValue(value: number | bigint, min: number | bigint, max: number | bigint, size: number): void {
  if (value <= max && value >= min) return;
  if (typeof value === 'number' && Number.isNaN(value)) return;
  const n = typeof min === 'bigint' ? 'n' : '';
  const bits = size * 8;
  let range = `>= ${min}${n} and <= ${max}${n}`;
  if (size > 4) {
    range =
      min === 0 || min === 0n
        ? `>= 0${n} and < 2${n} ** ${bits}${n}`
        : `>= -(2${n} ** ${bits - 1}${n}) and < 2${n} ** ${bits - 1}${n}`;
  }
  throw outOfRange('value', range, value);
}

interface Fixed {
  readonly name: string;
  readonly alias?: string;
  readonly size: number;
  readonly get: string;
  readonly min?: number | bigint;
  readonly max?: number | bigint;
}

const FIXED: readonly Fixed[] = [
  { name: 'UInt8', alias: 'Uint8', size: 1, get: 'Uint8', min: 0, max: 0xff },
  { name: 'Int8', size: 1, get: 'Int8', min: -0x80, max: 0x7f },
  { name: 'UInt16', alias: 'Uint16', size: 2, get: 'Uint16', min: 0, max: 0xffff },
  { name: 'Int16', size: 2, get: 'Int16', min: -0x8000, max: 0x7fff },
  { name: 'UInt32', alias: 'Uint32', size: 4, get: 'Uint32', min: 0, max: 0xffffffff },
  { name: 'Int32', size: 4, get: 'Int32', min: -0x80000000, max: 0x7fffffff },
  { name: 'BigUInt64', alias: 'BigUint64', size: 8, get: 'BigUint64', min: 0n, max: 0xffffffffffffffffn },
  { name: 'BigInt64', size: 8, get: 'BigInt64', min: -0x8000000000000000n, max: 0x7fffffffffffffffn },
  { name: 'Float', size: 4, get: 'Float32' },
  { name: 'Double', size: 8, get: 'Float64' },
];

type Methods = { [name: string]: (this: Bytes, ...args: never[]) => unknown };
type Getter = (offset: number, isLittle: boolean) => number | bigint;
type Setter = (offset: number, value: number | bigint, isLittle: boolean) => void;

/** All of the methods. */
export function numberMethods(): Methods {
  const methods: Methods = {};
  for (const { name, alias, size, get, min, max } of FIXED) {
    for (const order of size === 1 ? [''] : ['LE', 'BE']) {
      const isLittle = order === 'LE';
      const read = function (this: Bytes, offset: unknown = 0): number | bigint {
        const at = checkedOffset(this, offset, size);
        const view = viewOf(this);
        return (view[`get${get}` as 'getUint8'] as Getter).call(view, at, isLittle); // a name of the table
      };
      const write = function (this: Bytes, value: unknown, offset: unknown = 0): number {
        const given = typeof min === 'bigint' ? bigintOf(value) : Number(value);
        if (min !== undefined && max !== undefined) checkValue(given, min, max, size);
        const at = checkedOffset(this, offset, size);
        const view = viewOf(this);
        (view[`set${get}` as 'setUint8'] as Setter).call(view, at, given, isLittle); // a name of the table
        return at + size;
      };
      for (const each of alias === undefined ? [name] : [name, alias]) {
        methods[`read${each}${order}`] = read;
        methods[`write${each}${order}`] = write;
      }
    }
  }
  for (const isSigned of [false, true]) {
    for (const order of ['LE', 'BE']) {
      const isLittle = order === 'LE';
      const read = function (this: Bytes, offset: unknown, size: unknown): number {
        return readVariable(this, offset, size, isLittle, isSigned);
      };
      const write = function (this: Bytes, value: unknown, offset: unknown, size: unknown): number {
        return writeVariable(this, value, offset, size, isLittle, isSigned);
      };
      for (const each of isSigned ? ['Int'] : ['UInt', 'Uint']) {
        methods[`read${each}${order}`] = read;
        methods[`write${each}${order}`] = write;
      }
    }
  }
  return methods;
}

function bigintOf(value: unknown): bigint {
  if (typeof value !== 'bigint') {
    if (typeof value === 'number') throw new TypeError('Cannot mix BigInt and other types, use explicit conversions');
    throw invalidArgType('value', 'bigint', value);
  }
  return value;
}

function checkSize(size: unknown): number {
  if (size === undefined) throw invalidArgType('byteLength', 'number', size);
  checkInteger(size, 'byteLength', 1, 6);
  return size;
}

function readVariable(bytes: Bytes, offset: unknown, size: unknown, isLittle: boolean, isSigned: boolean): number {
  if (offset === undefined) throw invalidArgType('offset', 'number', offset);
  const length = variableSize(size);
  const at = checkedOffset(bytes, offset, length);
  let value = 0;
  for (let i = 0; i < length; i++) value = value * 256 + (bytes[isLittle ? at + length - 1 - i : at + i] ?? 0);
  return isSigned && value >= 2 ** (8 * length - 1) ? value - 2 ** (8 * length) : value;
}

/** As Node checks it. */
function variableSize(size: unknown): number {
  if (typeof size !== 'number') throw invalidArgType('byteLength', 'number', size);
  if (!Number.isInteger(size)) throw outOfRange('byteLength', 'an integer', size);
  if (size < 1 || size > 6) throw outOfRange('byteLength', '>= 1 and <= 6', size);
  return size;
}

function writeVariable(
  bytes: Bytes,
  value: unknown,
  offset: unknown,
  size: unknown,
  isLittle: boolean,
  isSigned: boolean,
): number {
  const length = size === undefined ? checkSize(size) : variableSize(size);
  const given = Number(value);
  const bits = 8 * length;
  if (isSigned) checkValue(given, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, length);
  else checkValue(given, 0, 2 ** bits - 1, length);
  const at = checkedOffset(bytes, offset, length);
  let rest = given < 0 ? given + 2 ** bits : given;
  rest = Math.trunc(rest);
  for (let i = 0; i < length; i++) {
    bytes[isLittle ? at + i : at + length - 1 - i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return at + length;
}
