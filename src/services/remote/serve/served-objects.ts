/** What the services process has for the applications: the real objects behind the calls of calls.ts. */
import type { BucketDirectory } from '../../../bindings/bucket/engine.js';
import type { Service } from '../../../bindings/service.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { HostStore } from '../../host-store.js';
import type { ServiceAddress } from '../calls.js';

export interface ServedObjects {
  readonly store: HostStore;
  /** The buckets of an account. */
  readonly buckets: (account: string) => BucketDirectory;
  /** The service of the application's own client. @throws TypeError when the binding has none */
  readonly service: (address: ServiceAddress) => Service;
  /**
   * The work that calls of an account's bucket are counted to which the application makes for its customers, as the S3 endpoint does. Undefined: they take
   * turns as one more user of the account.
   */
  readonly workOf?: (account: string) => CallWork | undefined;
}
