/** The caches behind `caches` of functions, `account.caches` of the application and the listener's option `cache`. */

import { EdgeError } from '../../quotas/errors.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { BindingHost, ImplicitBinding } from '../binding.js';
import type { Service } from '../service.js';
import { CACHE_CONTRACT } from './contract.js';
import type { CacheEngine } from './engine.js';
import { hostCaches } from './host-caches.js';
import { cacheService } from './service.js';
import { SharedCaches } from './shared-caches.js';
import { cacheStorage } from './store/cache-storage.js';
import type { ApplicationCaches } from './types.js';

const KIB = 1024;
/** A URL of 16 KB and 128 KB of headers, as JSON. */
const HEAD_BYTES = 256 * KIB;

/** The caches of all accounts of a host. */
export interface HostCaches {
  /** The caches of the account that has the id now. They end with the account. */
  of(account: string): CacheEngine;
  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void;
  close(): Promise<void>;
}

/** For code that must not read or replace what other functions of the account have cached. */
const noCaches: Service = async () => {
  throw new EdgeError('EDGE_NOT_SUPPORTED', 'Loaded code has no caches: they belong to the functions of the account');
};

export const cacheBinding: ImplicitBinding<HostCaches, ApplicationCaches> = {
  id: ServiceId.Cache,
  name: 'cache',
  implicit: true,
  application: 'caches',
  subrequest: 'cache',
  methods: {
    match: { holdsConnection: true, isSafe: true, headBytes: HEAD_BYTES },
    put: { holdsConnection: true, headBytes: HEAD_BYTES },
    delete: { holdsConnection: true },
  },
  storage: cacheStorage,
  directory: CACHE_CONTRACT,
  share: ({ storage }: BindingHost) => new SharedCaches(storage),
  endAccount: (shared, account) => shared.forget(account),
  closeShared: shared => shared.close(),
  client: hostCaches,
  open: context =>
    context.hasCaches === false ? noCaches : cacheService(context.shared.of(context.account), () => context.limits),
};
