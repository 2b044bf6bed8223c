/** Other functions of the host as a binding: `load(source, { services: { AUTH: 'auth' } })`; and calls of the stubs that travel in such calls. */
import { EdgeError } from '../../quotas/errors.js';
import { whyNotJson } from '../../quotas/schema/json-value.js';
import { anything, object, record, refined, type Schema, text, union } from '../../quotas/schema/schema.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { FunctionContext, ImplicitBinding, NamedBinding } from '../binding.js';
import type { Service } from '../service.js';
import type { ServiceTarget } from './types.js';
import { CALL, FETCH } from './wire.js';

const KIB = 1024;
const MAX_PROPS = 64 * KIB;

const NAME: Schema<string> = text({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  description: '1 to 63 letters, digits, ".", "_" or "-", beginning with a letter or digit',
});
const ENTRYPOINT: Schema<string> = text({
  pattern: '^[A-Za-z_$][A-Za-z0-9_$]{0,254}$',
  description: 'the name of an export of the main module',
});
const PROPS: Schema<Readonly<Record<string, unknown>>> = refined(record(anything()), props => {
  const reason = whyNotJson(props);
  if (reason !== undefined) return reason;
  return JSON.stringify(props).length > MAX_PROPS ? `it is longer than ${MAX_PROPS} characters as JSON` : undefined;
});

const METHODS = {
  // A URL of 16 KB and 128 KB of headers, as JSON.
  [FETCH]: { headBytes: 256 * KIB },
  [CALL]: { headBytes: 128 * KIB },
} as const;

export const functionBinding: NamedBinding<string | ServiceTarget> = {
  id: ServiceId.Function,
  isInApplication: () => true,
  name: 'service',
  subrequest: 'service',
  methods: METHODS,
  option: 'services',
  toml: {
    table: 'services',
    nameKey: 'service',
    more: { 'entrypoint?': ENTRYPOINT, 'props?': PROPS, 'account?': NAME },
    nameSchema: NAME,
    configOf: (name, { entrypoint, props, account }) => ({
      function: name,
      ...(entrypoint !== undefined && { entrypoint }),
      ...(props !== undefined && { props }),
      ...(account !== undefined && { account }),
    }),
  },
  managementType: 'service',
  schema: union([NAME, object({ function: NAME, 'entrypoint?': ENTRYPOINT, 'props?': PROPS, 'account?': NAME })], {
    description: 'the name of a function, or { function, entrypoint, props, account }',
  }),
  ownExport(config, owner) {
    const { function: functionName, entrypoint: name, account = owner.account } = targetOf(config);
    if (name === undefined || functionName !== owner.function || account !== owner.account) return undefined;
    return { name, kind: 'entrypoint' };
  },
  open(context, config) {
    return serviceOf(context, targetOf(config));
  },
};

/** Stubs, which every function may be given. */
export const stubBinding: ImplicitBinding = {
  id: ServiceId.Stub,
  isInApplication: () => true,
  name: 'stub',
  implicit: true,
  subrequest: 'service',
  methods: { [CALL]: METHODS[CALL] },
  open: context => serviceOf(context, undefined),
};

/** Entrypoints of the function itself: `ctx.exports`. */
export const loopbackBinding: ImplicitBinding = {
  id: ServiceId.Loopback,
  isInApplication: () => true,
  name: 'loopback',
  implicit: true,
  subrequest: 'service',
  // With room for props.
  methods: { [FETCH]: { headBytes: 384 * KIB }, [CALL]: { headBytes: 256 * KIB } },
  open:
    ({ callOwn }) =>
    async call => {
      if (callOwn === undefined) throw new EdgeError('EDGE_NOT_SUPPORTED', 'The function cannot call itself here');
      return callOwn(call);
    },
};

function targetOf(config: string | ServiceTarget): ServiceTarget {
  return typeof config === 'string' ? { function: config } : config;
}

function serviceOf({ callFunction }: FunctionContext, target: ServiceTarget | undefined): Service {
  return async call => {
    if (callFunction === undefined) throw new EdgeError('EDGE_NOT_SUPPORTED', 'Functions cannot be called here');
    return callFunction(target, call);
  };
}
