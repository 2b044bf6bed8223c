import { join } from 'node:path';
import { Level } from 'level';
import type { Benchmark } from '../benchmark.js';
import { requestsPerSecond } from '../measuring/http-load.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';
import { startServer } from '../subprocess.js';

/** One request makes this many calls, so that the request itself hardly counts. */
const CALLS_PER_REQUEST = 40;
const KEYS = 1000;

const CACHE_FUNCTION = `
const value = 'v'.repeat(1024);
const actions = {
  put: key => caches.default.put(key, new Response(value, { headers: { 'cache-control': 'max-age=3600' } })),
  match: async key => (await caches.default.match(key)).text(),
  miss: key => caches.default.match(key + '-not'),
};
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const action = actions[pathname.slice(1)];
    const serial = Number(searchParams.get('serial'));
    for (let at = serial; at < serial + ${CALLS_PER_REQUEST}; at++) await action('https://example.com/' + (at % ${KEYS}));
    return new Response('done');
  },
};
`;

/** The answer of the bare server, to be kept. */
const KEPT_FUNCTION = `export default {
  fetch: () => new Response('Hello from a function', { headers: { 'cache-control': 'max-age=3600' } }),
};
`;

export const cache: Benchmark = {
  name: 'cache',
  measures: `Responses of 1 KB in \`caches.default\`, from inside a function (${CALLS_PER_REQUEST} calls to a request, 16 requests at once), and hits of \`host.listener({ cache: true })\` behind \`node:http\` at 64 connections.`,
  floor: 'LevelDB itself, with `sync` where it writes; a bare `node:http` server with the same answer.',
  async run(context) {
    const { seconds, folder } = context;
    const host = startHost(context, { storage: join(folder, 'host') });
    const fn = await host.load(CACHE_FUNCTION);
    const level = new Level<string, string>(join(folder, 'level'));
    context.defer(() => level.close());
    const value = 'v'.repeat(1024);
    await level.batch(Array.from({ length: KEYS }, (_, at) => ({ type: 'put', key: `key-${at}`, value })));

    let serial = 0;
    const request = async (action: string): Promise<void> => {
      serial += CALLS_PER_REQUEST;
      const response = await fn.fetch(`https://example.com/${action}?serial=${serial}`);
      const text = await response.text();
      if (text !== 'done')
        throw new Error(`The function's ${action} answered ${response.status} ${text.slice(0, 200)}`);
    };
    for (let n = 0; n < KEYS / CALLS_PER_REQUEST; n++) await request('put');
    const fromFunction = async (action: string): Promise<number> =>
      CALLS_PER_REQUEST * (await callsPerSecond(() => request(action), 16, seconds));
    const direct = (call: (key: string) => Promise<unknown>): Promise<number> =>
      callsPerSecond(() => call(`key-${++serial % KEYS}`), 16, seconds);

    const bare = await startServer(context, 'bare');
    const front = await startServer(context, 'host', [KEPT_FUNCTION, 'cache']);
    const load = (url: string): Promise<number> => requestsPerSecond({ url, connections: 64, seconds, folder });
    for (const { url } of [bare, front]) await load(url);

    const samples = await alternate(context, {
      match: () => fromFunction('match'),
      miss: () => fromFunction('miss'),
      get: () => direct(key => level.get(key)),
      put: () => fromFunction('put'),
      'put, level': () => direct(key => level.put(key, value, { sync: true })),
      front: () => load(front.url),
      bare: () => load(bare.url),
    });
    return [
      {
        name: 'match of 1 KB, hit, 16 in flight, function',
        unit: 'calls/s',
        samples: samples.match,
        floor: { name: 'level', samples: samples.get },
        target: { of: 'value', atLeast: 20_000 },
      },
      {
        name: 'match, miss, 16 in flight, function',
        unit: 'calls/s',
        samples: samples.miss,
        floor: { name: 'level', samples: samples.get },
      },
      {
        name: 'put of 1 KB, 16 in flight, function',
        unit: 'calls/s',
        samples: samples.put,
        floor: { name: 'level', samples: samples['put, level'] },
      },
      {
        name: 'hit in front of the function, GET',
        unit: 'requests/s',
        samples: samples.front,
        floor: { name: 'bare node:http', samples: samples.bare },
        target: { of: 'ratio', atLeast: 0.8 },
      },
    ];
  },
};
