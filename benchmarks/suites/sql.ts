import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Benchmark, Figure, Target } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';

/** One request makes this many calls, so that the request itself hardly counts. */
const CALLS = 20;

const FUNCTION = `export default { async fetch(request, env) {
  const [action, count] = new URL(request.url).pathname.slice(1).split('/');
  const insert = env.DB.prepare('INSERT INTO a (t) VALUES (?)').bind('${'x'.repeat(100)}');
  const hundred = Array.from({ length: 100 }, () => insert);
  for (let n = 0; n < count; n++) {
    if (action === 'read') await env.DB.prepare('SELECT id, t FROM a WHERE id = ?').bind(1 + n % 1000).first();
    else if (action === 'insert') await insert.run();
    else await env.DB.batch(hundred);
  }
  return new Response('');
} }`;

type Action = 'read' | 'insert' | 'batch';

export const sql: Benchmark = {
  name: 'sql',
  measures: `SQL databases on disk from inside a function (${CALLS} calls to a request): a row by its key, a durable insert, and a batch of 100 inserts.`,
  floor: 'The same binding of SQLite called directly in a thread, one call at a time.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { storage: join(context.folder, 'host') });
    const database = host.sql('main');
    await database.exec('CREATE TABLE a (id INTEGER PRIMARY KEY, t TEXT)');
    await database
      .prepare(
        `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) INSERT INTO a SELECT x, hex(zeroblob(50)) FROM c`,
      )
      .run();
    const fn = await host.load(FUNCTION, { sql: { DB: 'main' } });
    const thread = new Worker(new URL('../subjects/sql-thread.js', import.meta.url), {
      workerData: join(context.folder, 'direct.sqlite'),
    });
    context.defer(async () => {
      await thread.terminate();
    });

    const fromFunction = async (action: Action, inFlight: number, calls = CALLS): Promise<number> => {
      const request = async (): Promise<void> => {
        await (await fn.fetch(`http://x/${action}/${calls}`)).text();
      };
      return calls * (await callsPerSecond(request, inFlight, seconds));
    };
    const direct = (action: Action): Promise<number> =>
      callsPerSecond(
        async () => {
          thread.postMessage(action);
          await once(thread, 'message');
        },
        1,
        seconds,
      );

    const samples = await alternate(context, {
      'read, 16 in flight, function': () => fromFunction('read', 16),
      'read, thread': () => direct('read'),
      'insert, 16 in flight, function': () => fromFunction('insert', 16),
      'insert, 1 in flight, function': () => fromFunction('insert', 1),
      'insert, thread': () => direct('insert'),
      'batch of 100, 4 in flight, function': () => fromFunction('batch', 4, 2),
      'batch of 100, thread': () => direct('batch'),
    });
    const figure = (name: keyof typeof samples, floor: keyof typeof samples, target?: Target): Figure => ({
      name,
      unit: 'calls/s',
      samples: samples[name],
      floor: { name: 'thread', samples: samples[floor] },
      ...(target === undefined ? undefined : { target }),
    });
    return [
      figure('read, 16 in flight, function', 'read, thread', { of: 'value', atLeast: 8000 }),
      figure('insert, 16 in flight, function', 'insert, thread', { of: 'ratio', atLeast: 0.5 }),
      figure('insert, 1 in flight, function', 'insert, thread'),
      figure('batch of 100, 4 in flight, function', 'batch of 100, thread', { of: 'ratio', atLeast: 0.7 }),
    ];
  },
};
