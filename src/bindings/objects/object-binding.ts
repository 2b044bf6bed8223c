/** Stateful objects as a binding: `load(source, { objects: { ROOM: 'ChatRoom' } })` is `env.ROOM.getByName('lobby')` in the function. */
import { EdgeError } from '../../quotas/errors.js';
import { object, type Schema, text, union } from '../../quotas/schema/schema.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { NamedBinding } from '../binding.js';
import { CALL, FETCH } from '../function/wire.js';
import { namespaceKey } from './object-id.js';
import type { ObjectsTarget } from './types.js';
import type { GuestObjectsConfig } from './wire.js';

const KIB = 1024;

const NAME: Schema<string> = text({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  description: '1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit',
});
const CLASS: Schema<string> = text({
  pattern: '^[A-Za-z_$][A-Za-z0-9_$]{0,254}$',
  description: 'the name of a class that the main module exports',
});

export const objectBinding: NamedBinding<string | ObjectsTarget> = {
  id: ServiceId.ObjectCall,
  isInApplication: () => true,
  name: 'object',
  subrequest: 'stateful',
  methods: {
    // The same bounds as for calls of functions, with room for an id and a name.
    [FETCH]: { headBytes: 264 * KIB },
    [CALL]: { headBytes: 136 * KIB },
  },
  option: 'objects',
  toml: {
    table: 'stateful_objects',
    nameKey: 'class',
    otherNameKey: 'class_name',
    more: { 'function?': NAME, 'account?': NAME },
    nameSchema: CLASS,
    configOf: (name, { function: functionName, account }) => ({
      class: name,
      ...(functionName !== undefined && { function: functionName }),
      ...(account !== undefined && { account }),
    }),
  },
  managementType: 'stateful_object',
  schema: union([CLASS, object({ class: CLASS, 'function?': NAME, 'account?': NAME })], {
    description: 'the name of a class, or { class, function, account }',
  }),
  guestConfig(config, _compatibility, owner): GuestObjectsConfig {
    const { class: className, function: functionName, account } = targetOf(config);
    return { key: namespaceKey(account ?? owner.account, functionName ?? owner.function, className) };
  },
  ownExport(config, owner) {
    const { class: name, function: functionName = owner.function, account = owner.account } = targetOf(config);
    return functionName === owner.function && account === owner.account ? { name, kind: 'object' } : undefined;
  },
  open({ function: own, callObject }, config) {
    const target = targetOf(config);
    const { class: className, function: functionName = own, account } = target;
    return async call => {
      if (callObject === undefined) throw new EdgeError('EDGE_NOT_SUPPORTED', 'Stateful objects cannot be called here');
      const where = { function: functionName, class: className, ...(account !== undefined && { account }) };
      return callObject(where, call);
    };
  },
};

function targetOf(config: string | ObjectsTarget): ObjectsTarget {
  return typeof config === 'string' ? { class: config } : config;
}
