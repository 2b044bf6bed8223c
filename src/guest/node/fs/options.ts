/** The arguments that the functions of files have in common. */
import { encodingOf } from '../buffer/encodings.ts';
import { abortError, checkInteger, checkString, codeError, invalidArgType, invalidArgValue } from '../errors.ts';

export const O = {
  RDONLY: 0,
  WRONLY: 1,
  RDWR: 2,
  CREAT: 0o100,
  EXCL: 0o200,
  TRUNC: 0o1000,
  APPEND: 0o2000,
  DIRECTORY: 0o200000,
  NOFOLLOW: 0o400000,
} as const;

const READ_FLAGS: { readonly [text: string]: number } = {
  r: O.RDONLY,
  'r+': O.RDWR,
  w: O.WRONLY | O.CREAT | O.TRUNC,
  'w+': O.RDWR | O.CREAT | O.TRUNC,
  a: O.WRONLY | O.CREAT | O.APPEND,
  'a+': O.RDWR | O.CREAT | O.APPEND,
};

/** The letter s asks for synchronous writes, which all are here. */
export function toFlags(flags: unknown, name = 'flags'): number {
  if (flags === undefined || flags === null) return O.RDONLY;
  if (typeof flags === 'number') {
    checkInteger(flags, name, 0, 2 ** 31 - 1);
    return flags;
  }
  if (typeof flags === 'string' && /^(?:s?r|r)s?\+?$|^[wa][xs]?\+?$|^[xs][wa]\+?$/.test(flags)) {
    const known = READ_FLAGS[flags.replace(/[sx]/, '')];
    if (known !== undefined) return flags.includes('x') ? known | O.EXCL : known;
  }
  throw invalidArgValue(name, flags);
}

/** Permissions: a number, or the text of an octal one. */
export function toMode(mode: unknown, name: string, fallback: number): number {
  if (mode === undefined || mode === null) return fallback;
  if (typeof mode === 'string') {
    if (!/^[0-7]+$/.test(mode)) {
      throw invalidArgValue(name, mode, 'must be a 32-bit unsigned integer or an octal string');
    }
    return Number.parseInt(mode, 8) & 0o7777;
  }
  checkInteger(mode, name, 0, 2 ** 32 - 1);
  return mode & 0o7777;
}

export interface FileOptions {
  readonly [name: string]: unknown;
}

/** Options, which may be the name of an encoding instead. */
export function toOptions(given: unknown): FileOptions {
  if (given === undefined || given === null) return {};
  if (typeof given === 'string') return checkedEncoding({ encoding: given });
  if (typeof given !== 'object') throw invalidArgType('options', ['string', 'Object'], given);
  return checkedEncoding({ ...given });
}

function checkedEncoding(options: FileOptions): FileOptions {
  const { encoding, signal } = options;
  if (encoding !== undefined && encoding !== null && encoding !== 'buffer' && encodingOf(encoding) === undefined) {
    throw invalidArgValue('encoding', encoding, 'is invalid encoding');
  }
  if (signal === undefined) return options;
  if (typeof signal !== 'object' || signal === null || !('aborted' in signal)) {
    throw invalidArgType('options.signal', 'AbortSignal', signal);
  }
  if (signal.aborted) throw abortError(Reflect.get(signal, 'reason'));
  return options;
}

export function toDescriptor(fd: unknown): number {
  checkInteger(fd, 'fd', 0, 2 ** 31 - 1);
  return fd;
}

/** Milliseconds of a time in seconds, or of a Date. */
export function toTime(time: unknown): number {
  const seconds = typeof time === 'string' ? Number(time) : time;
  if (typeof seconds === 'number' && Number.isFinite(seconds)) return seconds * 1000;
  if (time instanceof Date) return time.getTime();
  throw invalidArgType('time', ['Date', 'Time in seconds'], time);
}

export function toFlag(value: unknown, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw invalidArgType(name, 'boolean', value);
  return value;
}

/** A position of a read or a write; undefined for the one of the descriptor. */
export function toPosition(position: unknown, name = 'position'): number | undefined {
  if (position === undefined || position === null) return undefined;
  if (typeof position === 'bigint') return toPosition(Number(position), name);
  if (typeof position !== 'number') throw invalidArgType(name, ['integer', 'bigint'], position);
  checkInteger(position, name, -1);
  return position < 0 ? undefined : position;
}

export function toText(value: unknown, name: string): string {
  checkString(value, name);
  return value;
}

/** @throws when the file is longer than its reader can hold */
export function tooLarge(path: string): RangeError {
  return codeError(RangeError, 'ERR_FS_FILE_TOO_LARGE', `"${path}" has no end: read a part of it with read()`);
}
