import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Level } from 'level';
import type { Benchmark } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { median } from '../measuring/statistics.js';
import { callsPerSecond, callTimes, timed } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';

const BATCH = 100;
const SENDERS = 4;
/** Senders wait while so many messages are not done, so that what is measured is what goes through. */
const MOST_BACKLOG = 5000;

const BODY = { task: 'resize', key: 'pictures/cat.png', width: 320 };

const CONSUMER = `export default {
  async queue(batch, env) { if (env.APP !== undefined) await env.APP.started(); },
}`;

const PRODUCER = `export default {
  async fetch(request, env) {
    const messages = Array.from({ length: ${BATCH} }, () => ({ body: ${JSON.stringify(BODY)} }));
    for (let n = 0; n < 10; n++) await env.JOBS.sendBatch(messages);
    return new Response();
  },
}`;

export const queues: Benchmark = {
  name: 'queues',
  measures: `A message of a queue on disk from \`send()\` of the application to its handler, which calls the application, one at a time; and what goes through a queue in batches of ${BATCH}: sent, handled and acknowledged on disk.`,
  floor: 'LevelDB itself with `sync`: a put for a message; a batch of puts and one of deletions for a batch.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { storage: join(context.folder, 'host') });
    const level = new Level<string, string>(join(context.folder, 'level'));
    context.defer(() => level.close());
    const value = JSON.stringify(BODY);
    let serial = 0;

    let onStarted = (): void => {};
    await host.load(CONSUMER, {
      name: 'idle',
      consumers: [{ queue: 'idle', maxBatchTimeoutSeconds: 0 }],
      bindings: { APP: { started: () => onStarted() } },
    });
    const consumers = (queue: string) => [{ queue, maxBatchTimeoutSeconds: 0, maxBatchSize: BATCH }];
    await host.load(CONSUMER, { name: 'many', consumers: consumers('many') });
    await host.load(CONSUMER, { name: 'from-function', consumers: consumers('from-function') });
    const producer = await host.load(PRODUCER, { name: 'producer', queues: { JOBS: 'from-function' } });

    const idle = host.queue('idle');
    const empty = async (queue = idle): Promise<void> => {
      while ((await queue.metrics()).backlogCount > 0) await new Promise(resolve => setImmediate(resolve));
    };
    const toHandler = (): Promise<void> =>
      new Promise((resolve, reject) => {
        onStarted = resolve;
        idle.send(BODY).catch(reject);
      });
    /** The median in milliseconds, each when the one before is done. */
    const idleTime = async (): Promise<number> => {
      const times: number[] = [];
      for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
        await empty();
        times.push(await timed(toHandler));
      }
      return median(times);
    };
    const put = (): Promise<void> => level.put(`idle/${serial++}`, value, { sync: true });

    /** Messages a second that are done, while `send` sends so many at a time. */
    const through = async (name: string, each: number, send: () => Promise<unknown>): Promise<number> => {
      const queue = host.queue(name);
      let sent = 0;
      const began = performance.now();
      const until = began + seconds * 1000;
      const work = async (): Promise<void> => {
        while (performance.now() < until) {
          await send();
          sent += each;
          for (;;) {
            const { backlogCount } = await queue.metrics();
            if (backlogCount < MOST_BACKLOG || performance.now() >= until) break;
            await new Promise(resolve => setImmediate(resolve));
          }
        }
      };
      const { backlogCount: before } = await queue.metrics();
      await Promise.all(Array.from({ length: SENDERS }, work));
      const { backlogCount: after } = await queue.metrics();
      const perSecond = ((sent - (after - before)) * 1000) / (performance.now() - began);
      await empty(queue);
      return perSecond;
    };
    const batch = Array.from({ length: BATCH }, () => ({ body: BODY }));
    const levelBatch = async (): Promise<void> => {
      const keys = Array.from({ length: BATCH }, () => `many/${serial++}`);
      await level.batch(
        keys.map(key => ({ type: 'put', key, value })),
        { sync: true },
      );
      await level.batch(
        keys.map(key => ({ type: 'del', key })),
        { sync: true },
      );
    };

    await toHandler();
    const samples = await alternate(context, {
      'send to handler': idleTime,
      'put, level': async () => median(await callTimes(put, seconds)),
      'application, batches': () => through('many', BATCH, () => host.queue('many').sendBatch(batch)),
      'function, batches': () =>
        through('from-function', BATCH * 10, async () => (await producer.fetch('http://localhost/')).text()),
      'batches, level': async () => BATCH * (await callsPerSecond(levelBatch, SENDERS, seconds)),
    });
    return [
      {
        name: 'send to handler started, p50, idle',
        unit: 'ms',
        samples: samples['send to handler'],
        floor: { name: 'level put', samples: samples['put, level'] },
        target: { of: 'value', atMost: 5 },
        note: 'It has the call of the handler to the application in it, by which it is known.',
      },
      {
        name: `messages of the application, batches of ${BATCH}`,
        unit: 'calls/s',
        samples: samples['application, batches'],
        floor: { name: 'level', samples: samples['batches, level'] },
        target: { of: 'value', atLeast: 20_000 },
      },
      {
        name: `messages of a function, batches of ${BATCH}`,
        unit: 'calls/s',
        samples: samples['function, batches'],
        floor: { name: 'level', samples: samples['batches, level'] },
        target: { of: 'value', atLeast: 20_000 },
      },
    ];
  },
};
