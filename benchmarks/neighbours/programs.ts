/**
 * What one account can do to its neighbours.
 *
 * Functions that make the host work for them while they use next to no CPU time of their own, without leaving their realm; and what a cell sends
 * that was taken over.
 */
import type { Plan } from '../../src/quotas/limits.js';

export interface Program {
  readonly name: string;
  /** The plans that it is played on: the free one, and one with CPU time where it would not get far with 10 ms. */
  readonly plans: readonly Plan[];
  /** What it does, in a few words. */
  readonly does: string;
  /**
   * A handler's body. `FILES` is a bucket with an object `large`, `KV` a key-value namespace, `QUEUE` a queue, `SQL` a database and `CALLEE` a function.
   * `SINK` takes all that is sent, `SOURCE` sends without end and `CODED` sends a gigabyte of zeros under two content codings.
   */
  readonly body: string;
  /** What is done once, when the function starts. @default nothing */
  readonly setup?: string;
  /** A good account that uses its database is asked, too, beside this program and alone. @default false */
  readonly isBesideSql?: boolean;
}

/** Bytes of the object `large`. */
export const LARGE_BYTES = 100 * 1000 * 1000;

/** As many at once as a function has connections for, when each holds two. */
const THREE_AT_ONCE = (work: string): string => `
  const one = async () => { for (;;) await ${work}.catch(() => {}); };
  await Promise.all([one(), one(), one()]);`;

/** The same until its subrequests are used up: then the request is over, and made again. */
const SIX_AT_ONCE = (work: string): string => `
  const one = async () => { for (;;) await ${work}; };
  await Promise.all([one(), one(), one(), one(), one(), one()]).catch(() => {});
  return new Response('over');`;

const FREE_AND_STANDARD = ['free', 'standard'] as const;

export const PROGRAMS: readonly Program[] = [
  {
    name: 'spin',
    plans: ['standard'],
    does: 'computes without end; the control, which makes the host do nothing',
    body: 'for (;;);',
  },
  {
    name: 'forward',
    plans: ['free'],
    does: 'passes an endless answer on as the body of a request',
    body: THREE_AT_ONCE(
      "(async () => fetch(env.SINK, { method: 'POST', body: (await fetch(env.SOURCE)).body, duplex: 'half' }))()",
    ),
  },
  {
    name: 'copy',
    plans: ['free'],
    does: 'copies objects of 100 MB within its bucket',
    body: "for (;;) await env.FILES.put('copy-' + slot, (await env.FILES.get('large')).body);",
  },
  {
    name: 'keys',
    plans: FREE_AND_STANDARD,
    does: 'deletes 200,000 keys in one call, which is refused',
    setup: 'const keys = Array.from({ length: 200_000 }, (_, at) => at.toString(36));',
    body: 'for (;;) await env.FILES.delete(keys).catch(() => {});',
  },
  {
    name: 'meta',
    plans: FREE_AND_STANDARD,
    does: 'puts an object with 60,000 metadata fields, which is refused',
    setup:
      "const customMetadata = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => ['field-' + at, 'value']));",
    body: "for (;;) await env.FILES.put('key', 'value', { customMetadata }).catch(() => {});",
  },
  {
    name: 'badget',
    plans: FREE_AND_STANDARD,
    does: 'calls head() without end, also when its subrequests are used up',
    body: "for (;;) await env.FILES.head('key').catch(() => {});",
  },
  {
    name: 'match',
    plans: FREE_AND_STANDARD,
    does: 'calls caches.match() without end, which is refused',
    body: "for (;;) await caches.default.match('https://example.com/').catch(() => {});",
  },
  {
    name: 'kv-puts',
    plans: ['standard'],
    does: 'puts values of 10 KB into a key-value namespace, as many as it may',
    setup: "const value = 'v'.repeat(10_000);",
    body: SIX_AT_ONCE("env.KV.put('key-' + slot, value)"),
  },
  {
    name: 'kv-gets',
    plans: ['standard'],
    does: 'gets 100 keys at once from a key-value namespace, as often as it may',
    setup: "const keys = Array.from({ length: 100 }, (_, at) => 'key-' + at);",
    body: SIX_AT_ONCE('env.KV.get(keys)'),
  },
  {
    name: 'cache-puts',
    plans: ['standard'],
    does: 'puts responses of 10 KB into the cache, as many as it may',
    setup: `const value = 'v'.repeat(10_000);
let serial = 0;
const response = () => new Response(value, { headers: { 'cache-control': 'max-age=60' } });`,
    body: SIX_AT_ONCE("caches.default.put('https://example.com/' + slot + '/' + serial++ % 1000, response())"),
  },
  {
    name: 'queue-sends',
    plans: ['standard'],
    does: 'sends batches of 100 messages to a queue, as many as it may',
    setup: "const batch = Array.from({ length: 100 }, () => ({ body: 'm'.repeat(1000) }));",
    body: SIX_AT_ONCE('env.QUEUE.sendBatch(batch)'),
  },
  {
    name: 'sql-loops',
    plans: ['standard'],
    does: 'runs SQL in tight loops: joins and recursions that take long, inserts, and many small statements',
    isBesideSql: true,
    setup: `const numbers = count => 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT ' + count + ') ';
const rows = sql => Array.from({ length: 50 }, (_, at) => sql.prepare('INSERT OR REPLACE INTO t VALUES (?, ?)').bind(at, 'v'.repeat(1000)));
const works = [
  sql => sql.prepare(numbers(600_000) + 'SELECT max(x) FROM c').all(),
  sql => sql.prepare(numbers(1500) + 'SELECT count(*) FROM c a, c b WHERE a.x < b.x').all(),
  sql => sql.batch(rows(sql)),
  sql => sql.prepare('SELECT 1').all(),
];`,
    body: `await env.SQL.exec('CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v TEXT)');
    const work = works[slot % works.length];
    ${SIX_AT_ONCE('work(env.SQL)')}`,
  },
  {
    name: 'calls',
    plans: ['standard'],
    does: 'calls another function of its account over a service binding, as often as it may',
    body: SIX_AT_ONCE('env.CALLEE.fetch("http://callee/")'),
  },
  {
    name: 'connects',
    plans: ['standard'],
    does: 'opens TCP connections and closes them, as many as it may',
    setup: "import { connect } from 'edgehost:sockets';",
    body: `const { hostname, port } = new URL(env.SINK);
    const dial = async () => { const socket = connect({ hostname, port: Number(port) }); await socket.opened; await socket.close(); };
    ${SIX_AT_ONCE('dial()')}`,
  },
  {
    name: 'br2sink',
    plans: ['free'],
    does: 'passes a gigabyte on that is decoded from two content codings',
    body: THREE_AT_ONCE(
      "(async () => fetch(env.SINK, { method: 'POST', body: (await fetch(env.CODED)).body, duplex: 'half' }))()",
    ),
  },
];

/** What a cell that was taken over sends on one connection, without end but where it says "once" (hijacked/cell.ts). */
export const FLOODS = [
  { name: 'notes', does: 'notes of 10 bytes to nobody' },
  { name: 'opens-again', does: 'calls of a service that is not there, with ids used again' },
  { name: 'opens-fresh', does: 'the same with ids that are new' },
  { name: 'failures', does: 'failures of its handler as long as a frame, of JSON' },
  { name: 'one-open', does: 'once, a call as long as a frame, of JSON with unique names' },
  { name: 'dear-heads', does: 'calls with as much JSON as the host parses, of unique names' },
  { name: 'logs', does: 'log lines of one character' },
  { name: 'stderr', does: 'pieces of 64 KiB to its standard error' },
  { name: 'waiting-calls', does: 'once, 1,000 calls that wait with 64 KiB each' },
] as const;

/** The text of a program's function. `?slot=` distinguishes requests; without one it answers at once, so that it can be started. */
export function sourceOf({ body, setup = '' }: Pick<Program, 'body' | 'setup'>): string {
  return `${setup}
export default {
  async fetch(request, env) {
    const slot = new URL(request.url).searchParams.get('slot');
    if (slot === null) return new Response('started');
    ${body}
  },
};
`;
}
