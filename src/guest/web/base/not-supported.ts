/** The error for something of the hosted platform that does not exist here. */
import { ErrorCtor } from '../../primordials.ts';
import { defineValue } from './idl.ts';

/** @param message names the missing thing, and says how to do without it */
export function notSupported(message: string): Error {
  const error = new ErrorCtor(message);
  defineValue(error, 'code', 'EDGE_NOT_SUPPORTED');
  return error;
}
