/** The members of `Account` and `EdgeHost` that are the application's clients of bindings: one for each row with `application`. */
import type { AccountContext, BindingDefinition, ClientRow } from '../bindings/binding.js';
import type { AccountWork } from '../quotas/host/call-work.js';

/** An account as its clients of bindings use it. */
export interface ClientAccount {
  readonly id: string;
  readonly limits: AccountContext['limits'];
  readonly share: AccountWork;
}

/** The context of a client of the application: the account's limits, and its share, which pays for the work. */
export function clientContext(account: ClientAccount, check: () => void): Omit<AccountContext, 'shared'> {
  return {
    account: account.id,
    check,
    work: account.share,
    get limits() {
      return account.limits;
    },
  };
}

/**
 * Defines a method for each row that names its client, and a getter for each row that has one client.
 * @throws TypeError when the owner has a member of the name
 */
export function defineClients(
  owner: object,
  rows: readonly BindingDefinition[],
  clientOf: (row: ClientRow<unknown>, config: unknown) => object,
): void {
  for (const row of rows) {
    const { application: name } = row;
    if (name === undefined) continue;
    if (name in owner) throw new TypeError(`The application's client of ${row.name} cannot be called "${name}"`);
    Object.defineProperty(
      owner,
      name,
      row.implicit === true
        ? { get: () => clientOf(row, undefined) }
        : { value: (config: unknown) => clientOf(row, config) },
    );
  }
}
