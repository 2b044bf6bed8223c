/** A binding that only tests have: counters with a store, a contract, and a call, a stream in and a stream out. */
import type { NamedBinding } from '../../../src/bindings/binding.js';
import { hostPlatform } from '../../../src/bindings/host-client.js';
import type { Service } from '../../../src/bindings/service.js';
import { ServiceId } from '../../../src/quotas/service-calls.js';
import { createCounterClient } from './counter-client.js';
import {
  COUNTERS_CONTRACT,
  CounterError,
  type Counters,
  createCounters,
  OVERFLOW,
  type Totals,
} from './counter-store.js';
import type { CounterClient } from './types.js';

/** The counters of each account. */
interface AccountCounters {
  of(account: string): Counters;
  forget(account: string): void;
}

/** The configuration is the name of a counter of the account. */
export const counterBinding: NamedBinding<string, AccountCounters, CounterClient> = {
  id: ServiceId.Experimental,
  name: 'counter',
  subrequest: 'kv',
  methods: { addBytes: { holdsConnection: true }, lines: { holdsConnection: true }, add: { headBytes: 64 } },
  option: 'counters',
  application: 'counter',
  toml: { table: 'counters', nameKey: 'counter_name' },
  managementType: 'counter',
  schema: { type: 'string', minLength: 1, maxLength: 63 },
  storage: { name: 'counters', keyspace: ['zx'] },
  directory: COUNTERS_CONTRACT,
  share({ storage }) {
    const accounts = new Map<string, Counters>();
    const sublevel = async (): Promise<Totals> => (await storage()).sublevel('counters');
    const totals: Totals = {
      get: async key => (await sublevel()).get(key),
      put: async (key, total) => (await sublevel()).put(key, total),
    };
    return {
      of(account) {
        const counters = accounts.get(account) ?? createCounters({ names: [] }, totals, account);
        accounts.set(account, counters);
        return counters;
      },
      forget: account => accounts.delete(account),
    };
  },
  async prepare(_context, name) {
    if (name === 'over') throw new CounterError(OVERFLOW, 'Counter "over" cannot be bound');
    if (name === 'none') throw new RangeError('Counter "none" cannot be bound');
  },
  errorFrom: (code, message) => (code === OVERFLOW ? new CounterError(OVERFLOW, message) : undefined),
  errorStatus: error => (error instanceof CounterError ? 400 : undefined),
  open: ({ account, shared }, name) => counterService(shared.of(account), name),
  client: ({ account, shared }, name) => createCounterClient(hostPlatform(counterService(shared.of(account), name))),
};

function counterService(counters: Counters, name: string): Service {
  return async ({ method, args, body }) => {
    const counter = await counters.open(name);
    if (method === 'add') return { head: await counter.add(amountOf(args)) };
    if (method === 'addBytes') return { head: await counter.write(body ?? new Uint8Array(0), {}) };
    if (method === 'lines') return { head: null, body: counter.lines() };
    throw new TypeError(`A counter has no method ${JSON.stringify(method)}`);
  };
}

function amountOf(args: unknown): number {
  const by: unknown = typeof args === 'object' && args !== null && 'by' in args ? args.by : undefined;
  if (typeof by === 'number') return by;
  throw new TypeError(`add: ${JSON.stringify(by)} is not a number`);
}
