/** The shape of what answers the calls of calls.ts whose bodies, if any, are part of their values. */
import type { CallArguments, CallResult, ValueCalls } from '../calls.js';

export type ValueHandlers = {
  readonly [Name in keyof ValueCalls]: (...args: CallArguments<Name>) => CallResult<Name> | Promise<CallResult<Name>>;
};
