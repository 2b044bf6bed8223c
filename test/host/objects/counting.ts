/** Objects that count, and keep which increments they have counted. */
export const OBJECTS = 4;

export const COUNTING = `import { StatefulObject } from 'edgehost:workers';
export class Counter extends StatefulObject {
  async inc(number) {
    const { storage } = this.ctx;
    const n = ((await storage.get('n')) ?? 0) + 1;
    const times = ((await storage.get('i' + number)) ?? 0) + 1;
    storage.put('n', n);
    storage.put('i' + number, times);
  }
  async all() {
    const counted = [...(await this.ctx.storage.list({ prefix: 'i' }))].map(([key, times]) => [Number(key.slice(1)), times]);
    return { n: (await this.ctx.storage.get('n')) ?? 0, counted };
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
    return { n: kv.get('n') ?? 0, counted: sql.exec('SELECT number, count(*) FROM counted GROUP BY number').raw().toArray() };
  }
}
export default { fetch: () => new Response('') };`;
