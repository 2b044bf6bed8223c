/** The endpoints that a server mounts: the listener of its functions, the S3-compatible API and the management API. */

import type { ChangeListener } from '../../backend/host-store.js';
import { bucketBinding } from '../../bindings/bucket/bucket-binding.js';
import { cacheBinding } from '../../bindings/cache/cache-binding.js';
import { resolveLimits } from '../../quotas/resolve-limits.js';
import { checkOptions } from '../../quotas/schema/check-options.js';
import { slotOf } from '../function-slot.js';
import { FrontCache } from '../ingress/front/front-cache.js';
import { createListener, type NodeListener } from '../ingress/listener.js';
import { type HostListenerOptions, LISTENER_OPTIONS } from '../listener-options.js';
import { createManagementEndpoint, type HostManagement, type HostManagementOptions } from '../management-endpoint.js';
import { MANAGEMENT_OPTIONS } from '../options/management-options.js';
import type { HostS3Options } from '../options/s3-options.js';
import { createS3Endpoint, type HostS3 } from '../s3-endpoint.js';
import type { HostCore } from './host-core.js';

/** Throws as `host.listener()` does. */
export function hostListener({ routes, reports, bindings }: HostCore, options: HostListenerOptions): NodeListener {
  checkOptions('listener()', options, LISTENER_OPTIONS);
  const { function: fixed, cache = false, ...listenerOptions } = options;
  const slot = fixed === undefined ? undefined : slotOf(fixed);
  const route =
    slot === undefined
      ? undefined
      : ({
          get target() {
            return slot.runner;
          },
          mode: 'fail-closed',
        } as const);
  return createListener(
    (host, path) => route ?? routes.router.find(host, path),
    listenerOptions,
    error => reports.warn(error),
    cache
      ? new FrontCache({
          caches: account => bindings.directoryOf(cacheBinding, account),
          warn: error => reports.warn(error),
        })
      : undefined,
    (host, path) => routes.names.compression.algorithmsOf(host, path),
  );
}

/** Throws as `host.s3()` does. */
export function hostS3(
  { options: host, accounts, bindings, bodies, reports }: HostCore,
  options: HostS3Options,
): HostS3 {
  const { plan, zonePlan, limits } = host;
  const hostLimits = resolveLimits({ plan, zonePlan, overrides: [limits] });
  return createS3Endpoint(options, {
    buckets: account => bindings.directoryOf(bucketBinding, account),
    // Not by named(), which would make an account that the application may still make with options of its own.
    limits: account => accounts.find(account)?.limits ?? hostLimits,
    isRemoved: account => accounts.isRemoved(account),
    warn: error => reports.warn(error),
    bodies,
  });
}

/** The database of the management API. */
const MANAGEMENT = 'management';

/** Throws as `host.management()` does. */
export function hostManagement(core: HostCore, options: HostManagementOptions): HostManagement {
  checkOptions('management()', options, MANAGEMENT_OPTIONS);
  const { accounts, routes, bindings, bodies, usage, reports } = core;
  return createManagementEndpoint(options, {
    usage,
    bodies,
    names: routes.names,
    opening: ready => routes.awaitNames(ready),
    warn: error => reports.warn(error),
    account: id => accounts.find(id),
    accounts: () => accounts.all.map(account => account.info),
    removeAccount: (id, removal) => accounts.remove(id, removal),
    bindings: bindings.registry,
    directoryOf: (row, account) => bindings.directoryOf(row, account),
    storage: async () => {
      const store = await core.storage.open();
      const { secretsKey: keyStore, changes, locks } = store;
      return {
        storage: store.database(MANAGEMENT),
        keyStore,
        ...(locks !== undefined && { locks }),
        ...(changes !== undefined && {
          listen: (listener: ChangeListener) => changes.listen(MANAGEMENT, listener),
        }),
      };
    },
  });
}
