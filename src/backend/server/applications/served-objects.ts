/** The objects that the backend process serves to applications: the real objects behind the calls of backend/wire/calls.ts. */
import type { BindingBase } from '../../../bindings/binding.js';
import type { Service } from '../../../bindings/service.js';
import type { Channel } from '../../../protocol/channel.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { KeyedMutex } from '../../../storage/records/keyed-mutex.js';
import type { HostStore } from '../../host-store.js';
import type { AccountChange } from '../../wire/account-changes.js';
import type { ServiceAddress } from '../../wire/calls.js';
import type { RemovalStep } from '../../wire/message-contents.js';
import type { SharedCounts, SharedUsage } from '../../wire/shared-usage.js';
import type { ConsumerSeats } from './consumer-seats.js';

export interface ServedObjects {
  readonly store: HostStore;
  /** The rows whose directories the application may call, when they have a contract. */
  readonly rows: readonly BindingBase[];
  /** Returns the account's directory of such a row: `shared.of(account)`. */
  readonly directoryOf: (row: BindingBase, account: string) => object;
  /** The application that consumes each queue. */
  readonly seats: ConsumerSeats;
  /** The locks of applications. */
  readonly locks: KeyedMutex;
  readonly usage: SharedUsage;
  readonly counters: SharedCounts;
  /** The service of the application's own client. @throws TypeError when the binding has none */
  readonly service: (address: ServiceAddress) => Service;
  /**
   * The work that calls of an account's bucket are counted to which the application makes for its customers, as the S3 endpoint does. Undefined: they take
   * turns as one more user of the account.
   */
  readonly workOf?: (account: string) => CallWork | undefined;
  /** The application of the channel has changed a database. `keys` are undefined when they are too many to be named. */
  readonly onChange?: (from: Channel, database: string, keys: readonly string[] | undefined) => void;
  /** All applications follow a change of an account by the channel's application. Resolves when they have. */
  readonly announce: (from: Channel, change: AccountChange) => Promise<void>;
  /** Takes the step of an application that is gone in a removal: backend/server/left-removals.ts. */
  readonly takeRemoval: (step: RemovalStep) => Promise<void>;
}
