/**
 * Turns an exception of function code into bounded text for the host. It is read with care, since every getter of it may be function code.
 */
import { shortened } from './errors.ts';
import { jsonStringify, stringSlice } from './primordials.ts';

const MAX_MESSAGE = 4096;
const MAX_STACK = 16_384;

export type FailureCode = 'EDGE_HANDLER_THREW' | 'EDGE_NO_RESPONSE' | 'EDGE_SCRIPT_THREW' | 'EDGE_SCRIPT_NO_HANDLER';

/** JSON of {name, message, stack, code}. Never throws. */
export function describeFailure(error: unknown, code: FailureCode): string {
  const isObject = (typeof error === 'object' && error !== null) || typeof error === 'function';
  const name = isObject ? textOf(error, 'name', 200) : undefined;
  const message = isObject ? textOf(error, 'message', MAX_MESSAGE) : stringify(error);
  const stack = isObject ? textOf(error, 'stack', MAX_STACK) : undefined;
  return jsonStringify({
    __proto__: null,
    name: name ?? 'Error',
    message: message ?? 'The thrown value cannot be described',
    stack: stack ?? '',
    code,
  });
}

function textOf(error: object, key: string, maxLength: number): string | undefined {
  try {
    const value: unknown = (error as Record<string, unknown>)[key]; // any object can be read from
    return typeof value === 'string' ? stringSlice(shortened(value), 0, maxLength) : undefined;
  } catch {
    return undefined;
  }
}

function stringify(value: unknown): string | undefined {
  try {
    return typeof value === 'symbol' ? 'a Symbol was thrown' : stringSlice(shortened(`${value}`), 0, MAX_MESSAGE);
  } catch {
    return undefined;
  }
}
