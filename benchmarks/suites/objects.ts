import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Level } from 'level';
import type { Benchmark } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { median } from '../measuring/statistics.js';
import { callsPerSecond, callTimes, timed } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';

const MANY = 64;
const LIVE = 10_000;
/** Calls that are under way while the objects are made. */
const AT_ONCE = 64;

/** Reads in one call, each of a key that is not in memory. */
const READS = 50;

const OBJECTS = `import { StatefulObject } from 'edgehost:workers';
export class Plain extends StatefulObject { fetch() { return new Response('ok'); } }
export class Counter extends StatefulObject {
  async inc() {
    const n = ((await this.ctx.storage.get('n')) ?? 0) + 1;
    await this.ctx.storage.put('n', n);
    return n;
  }
}
export class Sync extends StatefulObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS rows (x)');
    this.read = 0;
  }
  gets(count) {
    for (let at = 0; at < count; at++) this.ctx.storage.kv.get('none ' + this.read++);
  }
  async getsAsync(count) {
    for (let at = 0; at < count; at++) await this.ctx.storage.get('none ' + this.read++);
  }
  fill() { this.ctx.storage.kv.put('some', 1); }
  selects(count) {
    for (let at = 0; at < count; at++) this.ctx.storage.sql.exec('SELECT ?', at).one();
  }
  insert() { this.ctx.storage.sql.exec('INSERT INTO rows VALUES (1)'); }
}
export class Holder extends StatefulObject {
  held = new Uint8Array(4096).fill(1);
  ping() { return this.held[0]; }
}
export default { fetch() { return new Response('ok'); } };`;

export const objects: Benchmark = {
  name: 'objects',
  measures: `Calls of stateful objects: a request without storage; a read, a write and the answer behind it on disk, for one object and ${MANY}; the first call of an object; a call among ${LIVE.toLocaleString('en')} live ones of 4 KiB; reads for which the isolate stands still, by storage.kv and storage.sql, ${READS} a call; an insert by storage.sql and the answer behind it on disk.`,
  floor:
    'fn.fetch() of the same function; LevelDB itself with `sync`, a put each; the same call among few objects; reads by the asynchronous methods.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { storage: join(context.folder, 'host'), objectIdleMs: 3_600_000 });
    const level = new Level<string, string>(join(context.folder, 'level'));
    context.defer(() => level.close());
    const fn = await host.load(OBJECTS, { name: 'objects' });
    const few = await host.load(OBJECTS, { name: 'few' });
    const plain = fn.objects('Plain').getByName('plain');
    const counters = Array.from({ length: MANY }, (_, at) => fn.objects('Counter').getByName(`${at}`));
    const [one] = counters;
    const holders = fn.objects('Holder');
    const other = few.objects('Holder').getByName('0');
    let serial = 0;
    const text = async (response: Promise<Response>): Promise<void> => void (await (await response).text());
    const put = (): Promise<void> => level.put(`${serial++ % MANY}`, 'value', { sync: true });
    const increment = (at: number): Promise<unknown> => Promise.resolve(counters[at % MANY]?.rpc.inc());
    await Promise.all([text(plain.fetch('http://x/')), text(fn.fetch('http://x/')), Promise.resolve(other.rpc.ping())]);

    const first = async (): Promise<number> => {
      const times: number[] = [];
      for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
        times.push(await timed(() => text(fn.objects('Plain').getByName(`first ${serial++}`).fetch('http://x/'))));
      }
      return median(times);
    };
    const p50 = async (work: () => Promise<unknown>): Promise<number> => median(await callTimes(work, seconds)) * 1000;
    const samples = await alternate(context, {
      warm: () => p50(() => text(plain.fetch('http://x/'))),
      fetch: () => p50(() => text(fn.fetch('http://x/'))),
      cold: first,
      one: () => callsPerSecond(() => Promise.resolve(one?.rpc.inc()), 1, seconds),
      onePut: () => callsPerSecond(put, 1, seconds),
      many: () => callsPerSecond(() => increment(serial++), MANY, seconds),
      manyPut: () => callsPerSecond(put, MANY, seconds),
    });

    // A function of its own: its isolate has nothing else.
    const full = await host.load(OBJECTS, { name: 'full' });
    const live = full.objects('Holder');
    let next = 0;
    const make = async (): Promise<void> => {
      while (next < LIVE) await live.getByName(`${next++}`).rpc.ping();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, make));
    const among = await alternate(context, {
      live: () => p50(() => Promise.resolve(live.getByName(`${serial++ % LIVE}`).rpc.ping())),
      few: () => p50(() => Promise.resolve(holders.getByName(`${serial++ % 10}`).rpc.ping())),
    });
    const sync = fn.objects('Sync').getByName('sync');
    await sync.rpc.fill();
    const each = async (work: () => PromiseLike<unknown>): Promise<number> =>
      (await p50(() => Promise.resolve(work()))) / READS;
    const reads = await alternate(context, {
      kv: () => each(() => sync.rpc.gets(READS)),
      sql: () => each(() => sync.rpc.selects(READS)),
      usual: () => each(() => sync.rpc.getsAsync(READS)),
      insert: () => callsPerSecond(() => Promise.resolve(sync.rpc.insert()), 1, seconds),
      put: () => callsPerSecond(put, 1, seconds),
    });
    return [
      {
        name: 'a read by storage.kv, p50',
        unit: 'us',
        samples: reads.kv,
        floor: { name: 'by storage.get()', samples: reads.usual },
        target: { of: 'ratio', atMost: 1.5 },
      },
      {
        name: 'a SELECT by storage.sql, p50',
        unit: 'us',
        samples: reads.sql,
        floor: { name: 'by storage.get()', samples: reads.usual },
        target: { of: 'ratio', atMost: 3 },
      },
      {
        name: 'an INSERT by storage.sql and the answer: one object',
        unit: 'calls/s',
        samples: reads.insert,
        floor: { name: 'synced puts, one at a time', samples: reads.put },
        target: { of: 'ratio', atLeast: 0.3 },
      },
      {
        name: 'a request to a live object, p50',
        unit: 'us',
        samples: samples.warm,
        floor: { name: 'fn.fetch()', samples: samples.fetch },
        target: { of: 'ratio', atMost: 1.3 },
      },
      {
        name: 'the first call of an object, p50',
        unit: 'ms',
        samples: samples.cold,
        target: { of: 'value', atMost: 1 },
      },
      {
        name: 'get, put and the answer: one object',
        unit: 'calls/s',
        samples: samples.one,
        floor: { name: 'synced puts, one at a time', samples: samples.onePut },
        target: { of: 'ratio', atLeast: 0.5 },
      },
      {
        name: `get, put and the answer: ${MANY} objects`,
        unit: 'calls/s',
        samples: samples.many,
        floor: { name: `synced puts, ${MANY} at a time`, samples: samples.manyPut },
        target: { of: 'ratio', atLeast: 0.7 },
      },
      {
        name: `a call among ${LIVE} live objects of 4 KiB, p50`,
        unit: 'us',
        samples: among.live,
        floor: { name: 'among 10', samples: among.few },
        target: { of: 'ratio', atMost: 2 },
      },
    ];
  },
};
