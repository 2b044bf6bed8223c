/** The shape of the handlers for the calls of backend/wire/calls.ts. */
import type { CallArguments, CallName, CallResult } from '../../wire/calls.js';

export type ValueHandlers = {
  readonly [Name in CallName]: (...args: CallArguments<Name>) => CallResult<Name> | Promise<CallResult<Name>>;
};
