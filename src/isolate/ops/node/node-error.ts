/** Errors of Node's own functions, for the guest. */
import { OpError } from '../arguments.js';

const MAX_CHARACTERS = 500;

/** Node's messages are about the function's own arguments. No other part of the error crosses to the guest. */
export function toOpError(error: unknown): OpError {
  if (error instanceof OpError) return error;
  if (!(error instanceof Error)) return new OpError('Error', 'The operation failed');
  const code: unknown = Reflect.get(error, 'code');
  const name = error instanceof TypeError || error instanceof RangeError ? error.name : 'Error';
  const message = error.message.replaceAll('\n', ' ').slice(0, MAX_CHARACTERS);
  return new OpError(name, message, typeof code === 'string' ? code : '');
}
