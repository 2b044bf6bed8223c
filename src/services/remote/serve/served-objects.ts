/** What the services process has for the applications: the real objects behind the calls of calls.ts. */
import type { BindingDirectories } from '../../../bindings/registry.js';
import type { Service } from '../../../bindings/service.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { HostStore } from '../../host-store.js';
import type { ServiceAddress } from '../calls.js';
import type { ConsumerSeats } from './consumer-seats.js';

export interface ServedObjects {
  readonly store: HostStore;
  /** Buckets, namespaces, caches and queues. */
  readonly directories: BindingDirectories;
  /** Who of the applications consumes which queue. */
  readonly seats: ConsumerSeats;
  /** The service of the application's own client. @throws TypeError when the binding has none */
  readonly service: (address: ServiceAddress) => Service;
  /**
   * The work that calls of an account's bucket are counted to which the application makes for its customers, as the S3 endpoint does. Undefined: they take
   * turns as one more user of the account.
   */
  readonly workOf?: (account: string) => CallWork | undefined;
}
