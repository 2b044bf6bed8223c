import { join } from 'node:path';
import { Level } from 'level';
import type { Benchmark, Figure, Target } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond } from '../measuring/workload.js';
import { BUCKET_FUNCTION, type BucketAction, callBucket, content } from '../subjects/bucket-function.js';
import { startHost } from '../subjects/host.js';

/** One request makes this many calls to the bucket, so that the request itself hardly counts. */
const CALLS_PER_REQUEST = 50;
const KEYS = 1000;

export const buckets: Benchmark = {
  name: 'buckets',
  measures: `Small objects of a bucket on disk, from inside a function (${CALLS_PER_REQUEST} calls to a request, so many requests at once) and from the application through \`host.bucket()\`.`,
  floor: 'LevelDB itself, with `sync` where it writes.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { storage: join(context.folder, 'host') });
    const fn = await host.load(BUCKET_FUNCTION, { buckets: { FILES: 'files' } });
    const bucket = host.bucket('files');
    const level = new Level<string, string>(join(context.folder, 'level'));
    context.defer(() => level.close());

    const value = 'v'.repeat(1024);
    const keys = Array.from({ length: KEYS }, (_, at) => `key-${at}`);
    await Promise.all(keys.map(key => bucket.put(key, value)));
    await level.batch(keys.map(key => ({ type: 'put', key, value })));

    let serial = 0;
    const fromFunction = async (action: BucketAction, inFlight: number): Promise<number> => {
      const request = (): Promise<void> => {
        serial += CALLS_PER_REQUEST;
        return callBucket(fn, action, CALLS_PER_REQUEST, serial);
      };
      return CALLS_PER_REQUEST * (await callsPerSecond(request, inFlight, seconds));
    };
    const direct = (call: (key: string) => Promise<unknown>, inFlight: number): Promise<number> =>
      callsPerSecond(() => call(`key-${++serial % KEYS}`), inFlight, seconds);
    const put = (key: string): Promise<unknown> => bucket.put(key, value);
    const get = async (key: string): Promise<unknown> => (await content(bucket, key)).text();
    const head = (key: string): Promise<unknown> => bucket.head(key);
    const levelPut = (key: string): Promise<unknown> => level.put(key, value, { sync: true });
    const levelGet = (key: string): Promise<unknown> => level.get(key);

    const samples = await alternate(context, {
      'put, 1 in flight, function': () => fromFunction('put', 1),
      'put, 1 in flight, application': () => direct(put, 1),
      'put, 1 in flight, level': () => direct(levelPut, 1),
      'put, 16 in flight, function': () => fromFunction('put', 16),
      'put, 16 in flight, application': () => direct(put, 16),
      'put, 16 in flight, level': () => direct(levelPut, 16),
      'get, 16 in flight, function': () => fromFunction('get', 16),
      'get, 16 in flight, application': () => direct(get, 16),
      'get, 16 in flight, level': () => direct(levelGet, 16),
      'head, 16 in flight, function': () => fromFunction('head', 16),
      'head, 16 in flight, application': () => direct(head, 16),
    });
    const figure = (name: keyof typeof samples, floor: keyof typeof samples, target: Target): Figure => ({
      name: name.replace(',', ' of 1 KB,'),
      unit: 'calls/s',
      samples: samples[name],
      floor: { name: 'level', samples: samples[floor] },
      target,
    });
    return [
      figure('put, 1 in flight, function', 'put, 1 in flight, level', { of: 'ratio', atLeast: 0.35 }),
      figure('put, 1 in flight, application', 'put, 1 in flight, level', { of: 'ratio', atLeast: 0.35 }),
      figure('put, 16 in flight, function', 'put, 16 in flight, level', { of: 'ratio', atLeast: 0.5 }),
      figure('put, 16 in flight, application', 'put, 16 in flight, level', { of: 'ratio', atLeast: 0.5 }),
      figure('get, 16 in flight, function', 'get, 16 in flight, level', { of: 'value', atLeast: 10_000 }),
      figure('get, 16 in flight, application', 'get, 16 in flight, level', { of: 'value', atLeast: 10_000 }),
      figure('head, 16 in flight, function', 'get, 16 in flight, level', { of: 'value', atLeast: 12_000 }),
      figure('head, 16 in flight, application', 'get, 16 in flight, level', { of: 'value', atLeast: 12_000 }),
    ];
  },
};
