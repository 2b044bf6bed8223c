/** The services of the platform in another runtime, and here: the same two functions, in the same rounds. Without queues: that of miniflare fails under load. */
import { join } from 'node:path';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';
import {
  CALLED_FUNCTION,
  PLATFORM_FUNCTION,
  type PlatformAction,
  platformRequest,
} from '../subjects/platform-functions.js';
import type { PeerFunction } from './peer.js';

const KEYS = 1000;
const IN_FLIGHT = 16;

const ACTIONS: readonly { readonly action: PlatformAction; readonly name: string }[] = [
  { action: 'put', name: 'key-value put of 1 KB' },
  { action: 'get', name: 'key-value get of 1 KB' },
  { action: 'match', name: 'cache match of 1 KB, hit' },
  { action: 'fetch', name: 'fetch over a service binding' },
  { action: 'call', name: 'call of a method over a service binding' },
];

type Call = (url: string) => Promise<string>;

export async function measurePlatform(name: string, peer: PeerFunction, context: BenchmarkContext): Promise<Figure[]> {
  const own = await loadOwn(context);
  for (const call of [own, peer.call]) await fill(call);
  let serial = 0;
  const rate = async (call: Call, action: PlatformAction): Promise<number> => {
    const { count } = platformRequest(action, 0);
    const request = async (): Promise<void> => {
      serial += count;
      await done(call, platformRequest(action, serial).url);
    };
    return count * (await callsPerSecond(request, IN_FLIGHT, context.seconds));
  };
  const samples = await alternate(
    context,
    Object.fromEntries(
      ACTIONS.flatMap(({ action }) => [
        [`${action}, ${name}`, () => rate(peer.call, action)],
        [`${action}, here`, () => rate(own, action)],
      ]),
    ),
  );
  return ACTIONS.map(({ action, name: what }) => ({
    name: `EdgeHost beside ${name}: ${what}, ${IN_FLIGHT} in flight`,
    unit: 'calls/s',
    samples: samples[`${action}, here`] ?? [],
    floor: { name, samples: samples[`${action}, ${name}`] ?? [] },
  }));
}

async function loadOwn(context: BenchmarkContext): Promise<Call> {
  const host = startHost(context, { storage: join(context.folder, 'platform') });
  await host.load(CALLED_FUNCTION, { name: 'called' });
  const fn = await host.load(PLATFORM_FUNCTION, {
    name: 'platform',
    kv: { KV: 'values' },
    services: { B: 'called' },
  });
  return async url => (await fn.fetch(url)).text();
}

async function fill(call: Call): Promise<void> {
  for (const action of ['put', 'keep'])
    for (let at = 0; at < KEYS; at += 50) await done(call, `https://example.com/${action}?count=50&serial=${at}`);
}

async function done(call: Call, url: string): Promise<void> {
  const text = await call(url);
  if (text !== 'done') throw new Error(`${url} answered ${text.slice(0, 200)}`);
}
