/** Functions of the application as a binding: `load(source, { bindings: { APP: { async lookup(args, context) { ... } } } })`. */
import { native, record } from '../../quotas/schema/schema.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { BindingHost, NamedBinding } from '../binding.js';
import { UNTIMED } from '../bodies/given-bodies.js';
import { CallbackGate } from './callback-gate.js';
import { type CallbackOwner, callbackService, callbacksOf } from './callback-service.js';
import type { ApplicationCallbacks, CallbackOptions } from './types.js';
import { CALL, MAX_VALUE_BYTES } from './wire.js';

/** The options of the host that this binding reads. */
interface CallbackHostOptions {
  readonly callbacks: CallbackOptions;
}

/** The calls of all functions of a host. */
export interface CallbackShare {
  readonly timeoutMs: number;
  readonly concurrency: number;
  /** The gates of the accounts that have open calls. */
  readonly gates: Map<string, CallbackGate>;
}

/** The configuration is the object of functions itself: only the application's code can give it, no file and no API. */
export const callbackBinding: NamedBinding<ApplicationCallbacks, CallbackShare> = {
  id: ServiceId.Callback,
  name: 'callback',
  subrequest: 'callback',
  methods: { [CALL]: { headBytes: MAX_VALUE_BYTES } },
  option: 'bindings',
  isInApplication: () => true,
  schema: record(native('function')),
  share: ({ options }: BindingHost<CallbackHostOptions>) => {
    const { timeoutMs = 30_000, concurrency = 100 } = options.callbacks;
    return { timeoutMs, concurrency, gates: new Map() };
  },
  guestConfig: config => [...callbacksOf(config).keys()],
  open({ account, function: name, props, given = UNTIMED, shared }, config) {
    const { timeoutMs } = shared;
    return callbackService(config, { account, function: name, props, timeoutMs, given, ...gateOf(shared, account) });
  },
};

/** The gate that all calls of an account pass. */
export function gateOf({ concurrency, gates }: CallbackShare, account: string): Pick<CallbackOwner, 'gate' | 'left'> {
  return {
    gate: () => {
      const gate = gates.get(account) ?? new CallbackGate(account, concurrency);
      gates.set(account, gate);
      return gate;
    },
    left: gate => {
      if (gate.isIdle) gates.delete(account);
    },
  };
}
