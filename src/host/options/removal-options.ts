/** The options and the result of `host.removeAccount()`. */
import { flag, objectOf, type Schema } from '../../quotas/schema/schema.js';

export interface AccountRemovalOptions {
  /**
   * Whether all that the account has stored is deleted, with its functions in the management API: otherwise a later account of the same id has it
   * again. @default false
   */
  readonly deleteData?: boolean;
}

export interface AccountRemoval {
  /**
   * Resolves when the space of the data is free, which may take a while, and at once without `deleteData`. Rejects with EDGE_CLOSED when the host is closed
   * before; the next host on the storage continues. It need not be awaited.
   */
  readonly deleted: Promise<void>;
}

export const REMOVAL_OPTIONS: Schema<AccountRemovalOptions> = objectOf<AccountRemovalOptions>({
  'deleteData?': flag(),
});
