/** Finds the function that a service binding calls. */
import type { ServiceTarget } from '../../bindings/function/types.js';
import { EdgeError } from '../../quotas/errors.js';
import type { EdgeFunction } from '../edge-function.js';
import { slotOf } from '../function-slot.js';
import type { FunctionRunner } from '../invocation/function-runner.js';

/** The accounts of a host, as far as they are needed here. */
export interface CalledAccounts {
  find(id: string): { function(name: string): EdgeFunction | undefined } | undefined;
}

/** @throws EdgeError EDGE_FUNCTION_UNLOADED when it is not loaded, or does not let the account call it: the error does not say which */
export function calleeOf(accounts: CalledAccounts, caller: string, target: ServiceTarget): FunctionRunner {
  const { function: name, account = caller } = target;
  const found = accounts.find(account)?.function(name);
  const runner = found === undefined ? undefined : slotOf(found).runner;
  if (runner !== undefined && (account === caller || runner.context.callers?.includes(caller) === true)) return runner;
  const where =
    account === caller
      ? `Account "${account}" has no function "${name}"`
      : `Account "${account}" has no function "${name}" that account "${caller}" may call (its option callers)`;
  throw new EdgeError('EDGE_FUNCTION_UNLOADED', `Cannot call the function of the service binding: ${where}`);
}
