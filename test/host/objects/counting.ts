/** Objects that count, and keep which increments they have counted and which alarms have come. */
import type { ExecutionContext } from 'ava';
import type { EdgeFunction } from '../../../src/index.js';

export const OBJECTS = 4;
/** Every so many increments an alarm is set. */
const ALARM_EVERY = 5;

export const COUNTING = `import { StatefulObject } from 'edgehost:workers';
export class Counter extends StatefulObject {
  async inc(number) {
    const { storage } = this.ctx;
    const n = ((await storage.get('n')) ?? 0) + 1;
    const times = ((await storage.get('i' + number)) ?? 0) + 1;
    storage.put('n', n);
    storage.put('i' + number, times);
    if (number % ${ALARM_EVERY} === 0) {
      storage.put('w' + number, 1);
      storage.setAlarm(Date.now() + 10);
    }
  }
  async alarm() {
    const { storage } = this.ctx;
    for (const key of (await storage.list({ prefix: 'w' })).keys()) {
      storage.delete(key);
      storage.put('f' + key.slice(1), 1);
    }
  }
  async all() {
    const { storage } = this.ctx;
    const numbers = async prefix => [...(await storage.list({ prefix })).keys()].map(key => Number(key.slice(1)));
    const counted = [...(await storage.list({ prefix: 'i' }))].map(([key, times]) => [Number(key.slice(1)), times]);
    return { n: (await storage.get('n')) ?? 0, counted, waiting: await numbers('w'), fired: await numbers('f') };
  }
}
export default { fetch: () => new Response('') };`;

/** The count by `storage.kv`, what was counted by `storage.sql`. */
export const COUNTING_BY_SQL = `import { StatefulObject } from 'edgehost:workers';
export class Counter extends StatefulObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS counted (number INTEGER)');
  }
  inc(number) {
    const { kv, sql } = this.ctx.storage;
    kv.put('n', (kv.get('n') ?? 0) + 1);
    sql.exec('INSERT INTO counted VALUES (?)', number);
  }
  all() {
    const { kv, sql } = this.ctx.storage;
    return { n: kv.get('n') ?? 0, counted: sql.exec('SELECT number, count(*) FROM counted GROUP BY number').raw().toArray(), waiting: [], fired: [] };
  }
}
export default { fetch: () => new Response('') };`;
interface Counted {
  readonly n: number;
  readonly counted: readonly (readonly [number: number, times: number])[];
  readonly waiting: readonly number[];
  readonly fired: readonly number[];
}

/** What was said of the increments, by their numbers. */
export interface Said {
  readonly begun: Set<number>;
  readonly confirmed: Set<number>;
}

/** Counts until `isOver`. What fails is not confirmed, and is not tried again. */
export async function count(fn: EdgeFunction, client: number, next: () => number, said: Said, isOver: () => boolean) {
  const object = fn.objects('Counter').getByName(`${client % OBJECTS}`);
  while (!isOver()) {
    const number = next();
    said.begun.add(number);
    try {
      await object.rpc.inc(number);
      said.confirmed.add(number);
    } catch {
      await new Promise(resolve => setTimeout(resolve, 5));
    }
  }
}

/** No confirmed increment is lost, none was applied twice, and every alarm has come. */
export async function checkCounted(
  t: ExecutionContext,
  fn: EdgeFunction,
  { begun, confirmed }: Said,
  hasAlarms = true,
): Promise<void> {
  const counted = new Set<number>();
  let alarms = 0;
  for (let at = 0; at < OBJECTS; at++) {
    const { n, counted: own, fired } = await settled(fn, at);
    t.is(n, own.length, 'the count and what was counted were written together');
    const late = new Set(fired);
    for (const [number, times] of own) {
      t.is(times, 1, `increment ${number} was applied once`);
      t.true(begun.has(number));
      t.is(late.has(number), hasAlarms && number % ALARM_EVERY === 0, `the alarm of ${number}`);
      counted.add(number);
    }
    alarms += fired.length;
  }
  const lost = [...confirmed].filter(number => !counted.has(number));
  t.deepEqual(lost, []);
  t.true(confirmed.size > 20, `${confirmed.size} confirmed`);
  t.log(`${confirmed.size} confirmed, ${counted.size} counted, ${lost.length} lost, ${alarms} alarms`);
}

/** When no alarm is left. */
async function settled(fn: EdgeFunction, at: number): Promise<Counted> {
  for (;;) {
    const all: Counted = await fn.objects('Counter').getByName(`${at}`).rpc.all();
    if (all.waiting.length === 0) return all;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
