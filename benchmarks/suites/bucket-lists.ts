import { join } from 'node:path';
import { Level } from 'level';
import type { Benchmark } from '../benchmark.js';
import { BUCKET_FUNCTION, callBucket } from '../bucket-function.js';
import { startHost } from '../host.js';
import { alternate } from '../rounds.js';
import { timed } from '../workload.js';

const GROUPS = 1000;
const KEYS_PER_GROUP = 100;
const KEYS = GROUPS * KEYS_PER_GROUP;
const FILL_AT_ONCE = 2000;
const LISTS_PER_ROUND = 20;

/** Like `000123/045`. BUCKET_FUNCTION begins its pages at the same keys. */
function key(serial: number): string {
  const [group, member] = [Math.floor(serial / KEYS_PER_GROUP), serial % KEYS_PER_GROUP];
  return `${String(group).padStart(6, '0')}/${String(member).padStart(3, '0')}`;
}

export const bucketLists: Benchmark = {
  name: 'bucket-lists',
  measures: `Pages of 1000 of ${KEYS.toLocaleString('en-US')} keys, and of as many groups by a delimiter, from a function and from the application; the mean of ${LISTS_PER_ROUND} in each round.`,
  floor: 'an iterator of LevelDB over as many entries of 200 bytes.',
  async run(context) {
    const host = startHost(context, { storage: join(context.folder, 'host') });
    const fn = await host.load(BUCKET_FUNCTION, { buckets: { FILES: 'files' } });
    const bucket = host.bucket('files');
    const level = new Level<string, string>(join(context.folder, 'level'));
    context.defer(() => level.close());

    context.progress(`filling ${KEYS} keys`);

    for (let from = 0; from < KEYS; from += FILL_AT_ONCE) {
      const keys = Array.from({ length: FILL_AT_ONCE }, (_, at) => key(from + at));
      await Promise.all(keys.map(each => bucket.put(each, '')));
      await level.batch(keys.map(each => ({ type: 'put', key: each, value: 'v'.repeat(200) })));
    }

    let serial = 0;
    const next = (): number => {
      serial = (serial + 997) % (KEYS - 2000);
      return serial;
    };
    const mean = async (work: () => Promise<unknown>): Promise<number> => {
      const all = async (): Promise<void> => {
        for (let at = 0; at < LISTS_PER_ROUND; at++) await work();
      };
      return (await timed(all)) / LISTS_PER_ROUND;
    };
    const samples = await alternate(context, {
      'page, function': () => mean(() => callBucket(fn, 'list', 1, next())),
      'page, application': () => mean(() => bucket.list({ startAfter: key(next()) })),
      'page, level': () => mean(() => level.iterator({ gt: key(next()), limit: 1000 }).all()),
      'groups, function': () => mean(() => callBucket(fn, 'groups', 1, 0)),
      'groups, application': () => mean(() => bucket.list({ delimiter: '/' })),
    });
    const floor = { name: 'level', samples: samples['page, level'] };
    return [
      {
        name: '1000 keys, function',
        unit: 'ms',
        samples: samples['page, function'],
        floor,
        target: { of: 'value', atMost: 6 },
      },
      {
        name: '1000 keys, application',
        unit: 'ms',
        samples: samples['page, application'],
        floor,
        target: { of: 'value', atMost: 6 },
      },
      {
        name: 'with a delimiter, function',
        unit: 'ms',
        samples: samples['groups, function'],
        target: { of: 'value', atMost: 10 },
      },
      {
        name: 'with a delimiter, application',
        unit: 'ms',
        samples: samples['groups, application'],
        target: { of: 'value', atMost: 10 },
      },
    ];
  },
};
