/** The caches behind `caches` of functions, `account.caches` of the application and the listener's option `cache`. */
import type { BindingHost, ImplicitBinding } from '../binding.js';
import { ServiceId } from '../service-id.js';
import { cacheService } from './service.js';
import { SharedCaches } from './shared-caches.js';
import { cacheStorage } from './store/cache-storage.js';

const KIB = 1024;
/** A URL of 16 KB and 128 KB of headers, as JSON. */
const HEAD_BYTES = 256 * KIB;

export const cacheBinding: ImplicitBinding<SharedCaches> = {
  id: ServiceId.Cache,
  name: 'cache',
  implicit: true,
  subrequest: 'cache',
  methods: {
    match: { holdsConnection: true, headBytes: HEAD_BYTES },
    put: { holdsConnection: true, headBytes: HEAD_BYTES },
    delete: { holdsConnection: true },
  },
  storage: cacheStorage,
  share: ({ storage }: BindingHost) => new SharedCaches(storage),
  endAccount: (shared, account) => shared.forget(account),
  closeShared: shared => shared.close(),
  open: context => cacheService(context.shared.of(context.account), () => context.limits),
};
