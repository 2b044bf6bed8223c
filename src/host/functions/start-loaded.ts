/** Starts code that a function has loaded, as `load()` starts a function: with the limits and the network of the function that loads it, or less. */
import type { AccountHost } from '../account-host.js';
import type { AccountCells } from '../cells/account-cells.js';
import type { StartParts } from '../loaders/start-parts.js';
import type { StartedFunction } from './loaded-functions.js';
import { startFunction } from './start-function.js';

export interface LoadingAccount {
  readonly id: string;
  readonly supervisor: AccountCells;
  /** @throws EdgeError when the account is gone */
  readonly check: () => void;
}

export function startLoaded(
  host: AccountHost,
  { id, supervisor, check }: LoadingAccount,
  { source, options, limits, egress, tails, env }: StartParts,
  onGone: () => void,
): Promise<StartedFunction> {
  const account = {
    id,
    supervisor,
    check,
    limits: { of: () => limits, own: limits, most: limits },
    // It has no routes, no triggers and no place among the functions of the account.
    functions: { checkNames: () => {}, checkCounts: () => {} },
    egress: () => undefined,
    mayStart: async () => {},
    loaded: { egress, tails, onGone, head: env === undefined ? {} : { loaded: env } },
  };
  return startFunction(host, account, 'owner', source, options);
}
