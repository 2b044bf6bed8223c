import { join } from 'node:path';
import { Level } from 'level';
import type { KvNamespace } from '../../src/index.js';
import type { Benchmark, Figure, Target } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond, meanTime } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';
import { callKv, KV_FUNCTION, type KvAction } from '../subjects/kv-function.js';

/** One request makes this many calls to the namespace, so that the request itself hardly counts. */
const CALLS_PER_REQUEST = 50;
const KEYS = 1000;
/** In as many groups as a page has room for keys of one, so that each page is another. */
const LISTED = 100_000;
const PAGE = 1000;
const FILL_AT_ONCE = 2000;
const LISTS_PER_ROUND = 20;

/** KV_FUNCTION lists the same prefixes. */
function listed(serial: number): string {
  return `list/${String(Math.floor(serial / PAGE)).padStart(3, '0')}/${String(serial % PAGE).padStart(4, '0')}`;
}

async function fill(kv: KvNamespace): Promise<void> {
  for (let from = 0; from < LISTED; from += FILL_AT_ONCE) {
    await Promise.all(Array.from({ length: FILL_AT_ONCE }, (_, at) => kv.put(listed(from + at), 'v')));
  }
}

export const kv: Benchmark = {
  name: 'kv',
  measures: `Values of 1 KB of a key-value namespace on disk, from inside a function (${CALLS_PER_REQUEST} calls to a request, so many requests at once) and from the application through \`host.kv()\`; ${PAGE} of ${LISTED.toLocaleString('en-US')} keys, the mean of ${LISTS_PER_ROUND} pages in each round.`,
  floor: 'LevelDB itself, with `sync` where it writes.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { storage: join(context.folder, 'host') });
    const fn = await host.load(KV_FUNCTION, { kv: { KV: 'values' } });
    const namespace = host.kv('values');
    const level = new Level<string, string>(join(context.folder, 'level'));
    context.defer(() => level.close());

    const value = 'v'.repeat(1024);
    const keys = Array.from({ length: KEYS }, (_, at) => `key-${at}`);
    await Promise.all(keys.map(key => namespace.put(key, value)));
    await level.batch(keys.map(key => ({ type: 'put', key, value })));
    context.progress(`filling ${LISTED} keys`);
    await fill(namespace);
    for (let from = 0; from < LISTED; from += FILL_AT_ONCE) {
      const group = Array.from({ length: FILL_AT_ONCE }, (_, at) => listed(from + at));
      await level.batch(group.map(key => ({ type: 'put', key, value: 'v' })));
    }

    let serial = 0;
    const fromFunction = async (action: KvAction, inFlight: number, calls = CALLS_PER_REQUEST): Promise<number> => {
      const request = (): Promise<void> => {
        serial += calls;
        return callKv(fn, action, calls, serial);
      };
      return calls * (await callsPerSecond(request, inFlight, seconds));
    };
    const direct = (call: (key: string) => Promise<unknown>, inFlight: number): Promise<number> =>
      callsPerSecond(() => call(`key-${++serial % KEYS}`), inFlight, seconds);
    const put = (key: string): Promise<unknown> => namespace.put(key, value);
    const get = (key: string): Promise<unknown> => namespace.get(key);
    const levelPut = (key: string): Promise<unknown> => level.put(key, value, { sync: true });
    const levelGet = (key: string): Promise<unknown> => level.get(key);
    const hundred = (): string[] => Array.from({ length: 100 }, () => `key-${++serial % KEYS}`);
    const page = (): string => listed((++serial % (LISTED / PAGE)) * PAGE).slice(0, -4);
    const mean = (work: () => Promise<unknown>): Promise<number> => meanTime(LISTS_PER_ROUND, work);

    const samples = await alternate(context, {
      'put, 1 in flight, function': () => fromFunction('put', 1),
      'put, 1 in flight, level': () => direct(levelPut, 1),
      'put, 16 in flight, function': () => fromFunction('put', 16),
      'put, 16 in flight, application': () => direct(put, 16),
      'put, 16 in flight, level': () => direct(levelPut, 16),
      'get, 16 in flight, function': () => fromFunction('get', 16),
      'get, 16 in flight, application': () => direct(get, 16),
      'get, 16 in flight, level': () => direct(levelGet, 16),
      'get of 100 keys, 4 in flight, function': () => fromFunction('many', 4, 5),
      'get of 100 keys, 4 in flight, level': () => callsPerSecond(() => level.getMany(hundred()), 4, seconds),
      'list, function': () => mean(() => callKv(fn, 'list', 1, ++serial)),
      'list, application': () => mean(() => namespace.list({ prefix: page() })),
      'list, level': () => mean(() => level.iterator({ gt: page(), limit: PAGE }).all()),
    });
    const figure = (name: keyof typeof samples, floor: keyof typeof samples, target?: Target): Figure => ({
      name: name.replace(',', ' of 1 KB,'),
      unit: 'calls/s',
      samples: samples[name],
      floor: { name: 'level', samples: samples[floor] },
      ...(target === undefined ? undefined : { target }),
    });
    const list = (name: keyof typeof samples): Figure => ({
      name: name.replace('list', `list of ${PAGE} keys`),
      unit: 'ms',
      samples: samples[name],
      floor: { name: 'level', samples: samples['list, level'] },
      target: { of: 'value', atMost: 5 },
    });
    return [
      figure('put, 1 in flight, function', 'put, 1 in flight, level', { of: 'ratio', atLeast: 0.35 }),
      figure('put, 16 in flight, function', 'put, 16 in flight, level', { of: 'ratio', atLeast: 0.5 }),
      figure('put, 16 in flight, application', 'put, 16 in flight, level', { of: 'ratio', atLeast: 0.5 }),
      figure('get, 16 in flight, function', 'get, 16 in flight, level', { of: 'value', atLeast: 25_000 }),
      figure('get, 16 in flight, application', 'get, 16 in flight, level', { of: 'value', atLeast: 25_000 }),
      figure('get of 100 keys, 4 in flight, function', 'get of 100 keys, 4 in flight, level'),
      list('list, function'),
      list('list, application'),
    ];
  },
};
