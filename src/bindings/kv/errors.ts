import { NumericError } from '../numeric-code.js';

/**
 * The numeric error codes of key-value namespaces, with their meaning and their HTTP status. A code never changes its meaning, and differs from the codes of
 * buckets.
 */
export const KV_ERRORS = {
  20001: { status: 400, text: 'an argument is not valid' },
  20002: { status: 404, text: 'the namespace does not exist' },
  20003: { status: 400, text: 'the account has as many namespaces as it may' },
  20004: { status: 413, text: 'the value, the values together, or the metadata are too large' },
  20005: { status: 414, text: 'the key or prefix is too long' },
} as const;

export type KvErrorCode = keyof typeof KV_ERRORS;

/** The operation that an error is about. */
export type KvOperation = 'GET' | 'GET_BULK' | 'PUT' | 'DELETE';

/** The method of a namespace that an operation belongs to. */
export type KvMethod = 'get' | 'put' | 'delete' | 'list';

/** An error of a namespace, as functions see it: an `Error` with the message `KV PUT failed: 413 ...`. Decide by `code`. */
export class KvError extends NumericError<KvErrorCode> {}

export function kvError(operation: KvOperation, code: KvErrorCode, text: string): KvError {
  return new KvError(code, `KV ${operation} failed: ${KV_ERRORS[code].status} ${text}`);
}
