import { join } from 'node:path';
import { Level } from 'level';
import { type EdgeFunction, EdgeHost, type StoreBucket } from '../../src/index.js';
import type { Benchmark } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { meanTime, timed } from '../measuring/workload.js';
import { BUCKET_FUNCTION, callBucket } from '../subjects/bucket-function.js';
import { startHost } from '../subjects/host.js';

const GROUPS = 1000;
const KEYS_PER_GROUP = 100;
const KEYS = GROUPS * KEYS_PER_GROUP;
const FILL_AT_ONCE = 2000;
const LISTS_PER_ROUND = 20;
/** Hosts that are started in each round for listings that are the first. */
const STARTS_PER_ROUND = 3;
/** Listings of other groups, so that the code is warm and what it reads is not. */
const WARM_LISTS = 30;

async function fill(bucket: StoreBucket): Promise<void> {
  for (let from = 0; from < KEYS; from += FILL_AT_ONCE) {
    await Promise.all(Array.from({ length: FILL_AT_ONCE }, (_, at) => bucket.put(key(from + at), '')));
  }
}

/** Like `000123/045`. BUCKET_FUNCTION begins its pages at the same keys. */
function key(serial: number): string {
  const [group, member] = [Math.floor(serial / KEYS_PER_GROUP), serial % KEYS_PER_GROUP];
  return `${String(group).padStart(6, '0')}/${String(member).padStart(3, '0')}`;
}

export const bucketLists: Benchmark = {
  name: 'bucket-lists',
  measures: `Pages of 1000 of ${KEYS.toLocaleString('en-US')} keys, and of as many groups by a delimiter, from a function and from the application; the mean of ${LISTS_PER_ROUND} in each round. A listing by delimiter is read again, again after a group of it has lost a key and another was added, and for the first time: by a host that was just started and has listed ${WARM_LISTS} times what is elsewhere in the bucket, ${STARTS_PER_ROUND} in each round.`,
  floor: 'an iterator of LevelDB over as many entries of 200 bytes.',
  async run(context) {
    const host = startHost(context, { storage: join(context.folder, 'host') });
    const fn = await host.load(BUCKET_FUNCTION, { buckets: { FILES: 'files' } });
    const bucket = host.bucket('files');
    const level = new Level<string, string>(join(context.folder, 'level'));
    context.defer(() => level.close());

    const coldFolder = join(context.folder, 'cold');
    context.progress(`filling ${KEYS} keys`);

    await fill(bucket);
    for (let from = 0; from < KEYS; from += FILL_AT_ONCE) {
      const keys = Array.from({ length: FILL_AT_ONCE }, (_, at) => key(from + at));
      await level.batch(keys.map(each => ({ type: 'put', key: each, value: 'v'.repeat(200) })));
    }

    let serial = 0;
    const next = (): number => {
      serial = (serial + 997) % (KEYS - 2000);
      return serial;
    };
    const mean = (work: () => Promise<unknown>): Promise<number> => meanTime(LISTS_PER_ROUND, work);
    const fillCold = async (): Promise<void> => {
      await using cold = new EdgeHost({ storage: coldFolder });
      await fill(cold.bucket('files'));
      const names = Array.from({ length: GROUPS }, (_, at) => `warm/${key(at * KEYS_PER_GROUP)}`);
      await Promise.all(names.map(each => cold.bucket('files').put(each, '')));
    };
    await fillCold();
    const first = async (list: (fn: EdgeFunction, bucket: StoreBucket, isWarm: boolean) => Promise<unknown>) => {
      let ms = 0;
      for (let at = 0; at < STARTS_PER_ROUND; at++) {
        await using started = new EdgeHost({ storage: coldFolder });
        const [itsFunction, itsBucket] = [
          await started.load(BUCKET_FUNCTION, { buckets: { FILES: 'files' } }),
          started.bucket('files'),
        ];
        for (let lists = 0; lists < WARM_LISTS; lists++) await list(itsFunction, itsBucket, true);
        ms += await timed(() => list(itsFunction, itsBucket, false));
      }
      return ms / STARTS_PER_ROUND;
    };
    let fresh = 0;
    /** After a listing before; with something done before each. */
    const again = async (list: () => Promise<unknown>, before: () => Promise<unknown>): Promise<number> => {
      await list();
      let ms = 0;
      for (let at = 0; at < LISTS_PER_ROUND; at++) {
        await before();
        ms += await timed(list);
      }
      return ms / LISTS_PER_ROUND;
    };
    const nothing = async (): Promise<void> => {};
    const change = async (): Promise<void> => {
      const { objects } = await bucket.list({ prefix: key(next()).slice(0, 7), limit: 1 });
      for (const object of objects) await bucket.delete(object.key);
      await bucket.put(key(next()).replace(/\d*$/, `new-${fresh++}`), '');
    };
    const groupsOfFunction = (): Promise<void> => callBucket(fn, 'groups', 1, 0);
    const groups = (): Promise<unknown> => bucket.list({ delimiter: '/' });
    const samples = await alternate(context, {
      'page, function': () => mean(() => callBucket(fn, 'list', 1, next())),
      'page, application': () => mean(() => bucket.list({ startAfter: key(next()) })),
      'page, level': () => mean(() => level.iterator({ gt: key(next()), limit: 1000 }).all()),
      'groups, function': () => again(groupsOfFunction, nothing),
      'groups, application': () => again(groups, nothing),
      'changed groups, function': () => again(groupsOfFunction, change),
      'changed groups, application': () => again(groups, change),
      'first groups, function': () =>
        first((itsFunction, _, isWarm) => callBucket(itsFunction, isWarm ? 'warmGroups' : 'groups', 1, 0)),
      'first groups, application': () =>
        first((_, itsBucket, isWarm) => itsBucket.list({ delimiter: '/', prefix: isWarm ? 'warm/' : '' })),
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
      ...(['function', 'application'] as const).flatMap(from =>
        (
          [
            ['with a delimiter', 'groups'],
            ['with a delimiter, after a change', 'changed groups'],
            ['with a delimiter, for the first time', 'first groups'],
          ] as const
        ).map(([name, subject]) => ({
          name: `${name}, ${from}`,
          unit: 'ms' as const,
          samples: samples[`${subject}, ${from}`],
          target: { of: 'value', atMost: 10 } as const,
        })),
      ),
    ];
  },
};
