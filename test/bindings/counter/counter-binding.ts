/** A binding that only tests have: counters in memory, with a call, a stream in and a stream out. */
import type { NamedBinding } from '../../../src/bindings/binding.js';
import { hostPlatform } from '../../../src/bindings/host-client.js';
import type { Service, ServiceBody } from '../../../src/bindings/service.js';
import { ServiceId } from '../../../src/bindings/service-id.js';
import { createCounterClient } from './counter-client.js';

/** Totals by account and name of the counter. */
type Totals = Map<string, number>;

export type CounterClient = ReturnType<typeof createCounterClient<ReadableStream<Uint8Array>, Blob>>;

/** The configuration is the name of a counter of the account. */
export const counterBinding: NamedBinding<string, Totals, CounterClient> = {
  id: ServiceId.Experimental,
  name: 'counter',
  subrequest: 'kv',
  methods: { addBytes: { holdsConnection: true }, lines: { holdsConnection: true }, add: { headBytes: 64 } },
  option: 'counters',
  toml: { table: 'counters', nameKey: 'counter_name' },
  managementType: 'counter',
  schema: { type: 'string', minLength: 1, maxLength: 63 },
  share: () => new Map(),
  async prepare(_context, name) {
    if (name === 'none') throw new RangeError('Counter "none" cannot be bound');
  },
  open: ({ account, shared }, name) => counterService(shared, `${account}/${name}`),
  client: ({ account, shared }, name) =>
    createCounterClient(hostPlatform(counterService(shared, `${account}/${name}`))),
};

function counterService(totals: Totals, key: string): Service {
  const add = (by: number): number => {
    const total = (totals.get(key) ?? 0) + by;
    totals.set(key, total);
    return total;
  };
  return async ({ method, args, body }) => {
    if (method === 'add') return { head: add(amountOf(args)) };
    if (method === 'addBytes') return { head: add(await bytesOf(body)) };
    if (method === 'lines') return { head: null, body: lines(totals.get(key) ?? 0) };
    throw new TypeError(`A counter has no method ${JSON.stringify(method)}`);
  };
}

function amountOf(args: unknown): number {
  const by: unknown = typeof args === 'object' && args !== null && 'by' in args ? args.by : undefined;
  if (typeof by === 'number') return by;
  throw new TypeError(`add: ${JSON.stringify(by)} is not a number`);
}

async function bytesOf(body: ServiceBody | null): Promise<number> {
  if (body === null) return 0;
  if (body instanceof Uint8Array) return body.byteLength;
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.byteLength;
  return bytes;
}

async function* lines(total: number): AsyncGenerator<Uint8Array> {
  for (let line = 1; line <= total; line++) yield Buffer.from(`${line}\n`);
}
