/** Turns an exception of function code into bounded text for the host. It is read with care, since every getter of it may be function code. */
import { shortened } from './errors.ts';
import { jsonStringify, stringSlice } from './primordials.ts';
import { isObject } from './web/base/idl.ts';
import { inspect } from './web/console/inspect.ts';

const MAX_MESSAGE = 4096;
const MAX_STACK = 16_384;

export type FailureCode =
  | 'EDGE_HANDLER_THREW'
  | 'EDGE_NO_RESPONSE'
  | 'EDGE_OBJECT_RESET'
  | 'EDGE_SCRIPT_THREW'
  | 'EDGE_SCRIPT_NO_HANDLER';

/** Causes of causes that are reported. */
const MAX_CAUSES = 4;

/** JSON of {name, message, stack, code}. Never throws. */
export function describeFailure(error: unknown, code: FailureCode): string {
  return jsonStringify({
    __proto__: null,
    name: (isObject(error) ? textOf(error, 'name', 200) : undefined) ?? 'Error',
    message: messageOf(error),
    stack: isObject(error) ? stackOf(error) : '',
    code,
  });
}

/** A thrown value that is no error is shown as console.log() shows it. */
function messageOf(error: unknown): string {
  const message = isObject(error) ? textOf(error, 'message', MAX_MESSAGE) : stringify(error);
  return message ?? stringSlice(shortened(inspect(error)), 0, MAX_MESSAGE);
}

/** With the causes behind it. */
function stackOf(error: object): string {
  let text = textOf(error, 'stack', MAX_STACK) ?? '';
  let at = error;
  for (let causes = 0; causes < MAX_CAUSES && text.length < MAX_STACK; causes++) {
    const cause = causeOf(at);
    if (cause === undefined) break;
    text += `\n[cause]: ${isObject(cause) ? (textOf(cause, 'stack', MAX_STACK) ?? messageOf(cause)) : messageOf(cause)}`;
    if (!isObject(cause)) break;
    at = cause;
  }
  return stringSlice(text, 0, MAX_STACK);
}

function causeOf(error: object): unknown {
  try {
    return (error as { cause?: unknown }).cause; // any object can be read from
  } catch {
    return undefined;
  }
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
