/**
 * The service behind `caches`. This version has no caches: a call counts as a subrequest and holds a connection as it will when there are, and
 * fails with an error that says so.
 */
import { EdgeError } from '../../quotas/errors.js';
import type { ImplicitBinding } from '../binding.js';
import { ServiceId } from '../service-id.js';

export const cacheBinding: ImplicitBinding = {
  id: ServiceId.Cache,
  name: 'cache',
  implicit: true,
  subrequest: 'cache',
  methods: {
    match: { holdsConnection: true },
    put: { holdsConnection: true },
    delete: { holdsConnection: true },
  },
  open: () => async () => {
    throw new EdgeError('EDGE_NOT_SUPPORTED', 'Caches are not supported by this version of EdgeHost');
  },
};
