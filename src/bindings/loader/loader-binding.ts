/** Loaders as a binding: `load(source, { loaders: { LOADER: {} } })`. Loaded code runs under the limits of its account, in isolates of its own. */
import { EdgeError } from '../../quotas/errors.js';
import { objectOf, type Schema, text } from '../../quotas/schema/schema.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { NamedBinding } from '../binding.js';
import { CALL, FETCH } from '../function/wire.js';
import type { LoaderTarget } from './types.js';
import { LOAD, OPEN } from './wire.js';

const KIB = 1024;

const ID: Schema<string> = text({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  description: '1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit',
});

export const loaderBinding: NamedBinding<LoaderTarget> = {
  id: ServiceId.Loader,
  isInApplication: () => true,
  name: 'loader',
  subrequest: 'service',
  methods: {
    // The same bounds as for calls of functions, with room for props.
    [FETCH]: { headBytes: 384 * KIB },
    [CALL]: { headBytes: 256 * KIB },
    // The calls of loaded code count. Loading is charged as CPU time, and an invocation loads few functions.
    [OPEN]: { continues: true },
    // The names of modules, and props of services.
    [LOAD]: { continues: true, headBytes: 1024 * KIB },
  },
  option: 'loaders',
  toml: { table: 'worker_loaders', nameKey: 'id', isNameOptional: true, nameSchema: ID, configOf: loaderOf },
  managementType: 'worker_loader',
  schema: objectOf<LoaderTarget>({ 'id?': ID }),
  open({ callLoader }, config, name) {
    const loader = callLoader?.(name, config);
    return async call => {
      if (loader === undefined) throw new EdgeError('EDGE_NOT_SUPPORTED', 'Code cannot be loaded here');
      return loader(call);
    };
  },
};

function loaderOf(id: unknown): LoaderTarget {
  return typeof id === 'string' ? { id } : {};
}
