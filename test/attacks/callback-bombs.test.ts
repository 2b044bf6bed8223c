/**
 * Values that are short as they travel and large once they are decoded: a function sends many of them to the application at once, as arguments of callbacks,
 * as results of calls, and as messages of a queue. The heap of the application stays bounded, and other accounts are answered meanwhile.
 */
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHostOptions } from '../../src/index.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { newHost } from '../host/new-host.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const MEBIBYTE = 1024 * 1024;
/** Arguments that are counted may take 24 MiB together, and each call that waits has its parsed JSON. */
const MOST_BYTES = 64 * MEBIBYTE;
const CALLS = 8;
/** The account has to wait for its share of the processor. On a quiet machine it takes 17 s. */
const ATTACK_MS = 120_000;
/** No neighbour waits so long, on a busy machine either. */
const ANSWER_MS = 10_000;

/** Expressions of values by what is large about them; half as many fit a message of a queue. */
const SHAPES: Readonly<Record<string, string>> = {
  'indexes with holes': 'many(n * 9000, () => ({ 1023: 0, 2500: 0 }))',
  'growing indexes': 'many(n * 4000, i => ({ [i * 997]: 0, [i * 1999 + 1]: 0, [4294967294 - i]: 0 }))',
  'names of their own': "many(n * 4000, i => ({ ['a' + i]: 0, ['b' + i]: 0 }))",
  'empty maps and sets': 'many(n * 9000, i => (i % 2 ? new Map() : new Set()))',
  'deep nesting': 'many(n * 90, () => { let o = {}; for (let d = 0; d < 90; d++) o = { [d + 7]: o }; return o; })',
};

const PROGRAM = `
const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const SHAPES = { ${Object.entries(SHAPES)
  .map(([name, make]) => `${JSON.stringify(name)}: n => ${make}`)
  .join(',\n')} };
export default {
  async fetch(request, env) {
    const { shape, how } = await request.json();
    const value = SHAPES[shape](how === 'queue' ? 0.5 : 1);
    const send = how === 'queue'
      ? () => env.JOBS.send(value, { contentType: 'v8' })
      : () => env.APP.take(value);
    const outcomes = await Promise.allSettled(many(${CALLS}, send));
    return Response.json(outcomes.map(({ status, reason }) => reason === undefined ? status : reason.name + ': ' + reason.message));
  },
  make: shape => SHAPES[shape](1),
};`;

const MODES: Readonly<Record<string, (t: ExecutionContext) => Promise<EdgeHostOptions>>> = {
  process: async () => ({ isolation: 'process', backend: 'inline' }),
  thread: async () => ({ isolation: 'thread', backend: 'inline' }),
  'process, services in a process': async t => ({
    isolation: 'process',
    backend: 'process',
    storage: await temporaryDirectory(t),
  }),
};

for (const [mode, optionsOf] of Object.entries(MODES)) {
  test(`${mode}: values that grow when they are decoded take a bounded heap, and neighbours are answered`, async t => {
    t.timeout(4 * ATTACK_MS);
    const host = newHost(t, await optionsOf(t));
    host.on('warning', () => {});
    const neighbour = await host
      .account('neighbour')
      .load('export default { fetch: () => new Response("fine") }', { name: 'good' });
    let mostBytes = 0;
    let taken = 0;
    const look = (): void => {
      collect();
      mostBytes = Math.max(mostBytes, process.memoryUsage().heapUsed);
    };
    const held = new Set<unknown>();
    const take = async (value: unknown): Promise<number> => {
      taken++;
      held.add(value);
      await new Promise(resolve => setTimeout(resolve, 50));
      // Those of other calls are held as well.
      if (taken % 4 === 0) look();
      held.delete(value);
      return 1;
    };
    const evil = await host
      .account('evil')
      .load(PROGRAM, { name: 'bomb', bindings: { APP: { take } }, queues: { JOBS: 'jobs' } });
    await neighbour.fetch('http://x/').then(answer => answer.text());

    let isOver = false;
    let answers = 0;
    let slowestMs = 0;
    const asking = (async () => {
      while (!isOver) {
        const began = performance.now();
        const answer = await neighbour.fetch('http://x/');
        t.is(await answer.text(), 'fine');
        slowestMs = Math.max(slowestMs, performance.now() - began);
        answers++;
        await new Promise(resolve => setTimeout(resolve, 20));
      }
    })();
    collect();
    const before = process.memoryUsage().heapUsed;
    const began = performance.now();
    for (const shape of Object.keys(SHAPES)) {
      for (const how of ['callback', 'queue']) {
        const answer = await evil.fetch('http://x/', { method: 'POST', body: JSON.stringify({ shape, how }) });
        t.is(answer.status, 200, shape);
        await answer.body?.cancel();
      }
      const results = await Promise.allSettled(Array.from({ length: CALLS }, () => evil.rpc.make?.(shape)));
      look();
      t.true(
        results.some(({ status }) => status === 'fulfilled'),
        shape,
      );
      const pulled = await host.account('evil').queue('jobs').pull({ maxMessages: 100 });
      const bodies = pulled.map(message => message.body);
      look();
      t.is(bodies.length, pulled.length);
      await host.account('evil').queue('jobs').purge();
    }
    const tookMs = performance.now() - began;
    isOver = true;
    await asking;
    const report = `${Math.round((mostBytes - before) / MEBIBYTE)} MiB more than before, ${taken} calls, ${Math.round(tookMs)} ms, ${answers} answers, the slowest after ${Math.round(slowestMs)} ms`;
    t.log(report);
    t.true(taken > CALLS, report);
    t.true(mostBytes - before < MOST_BYTES, report);
    t.true(tookMs < ATTACK_MS, report);
    t.true(answers > 0 && slowestMs < ANSWER_MS, report);
    // The account itself goes on.
    const last = await evil.fetch('http://x/', { method: 'POST', body: '{"shape":"deep nesting","how":"callback"}' });
    t.is(last.status, 200);
    await last.body?.cancel();
  });
}
