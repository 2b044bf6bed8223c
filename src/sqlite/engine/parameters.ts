/** The parameters of statements, as clients write them in JSON: bytes are `{ h: hex }`. A function has written them. */
import type { SqliteValue } from './sqlite.js';

/** @throws Error for a value that no client writes */
export function parameterOf(value: unknown): SqliteValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'object' && 'h' in value && typeof value.h === 'string')
    return new Uint8Array(Buffer.from(value.h, 'hex'));
  throw malformedCall();
}

export function malformedCall(): Error {
  return new Error('the call is malformed: SQLITE_MISUSE');
}
