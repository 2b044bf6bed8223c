/** The process of an object's SQL engine is killed in the middle of a statement: the batch that the statement is in is stored whole, or nothing of it is. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { errorCode } from '../../../src/quotas/errors.js';
import { newHost } from '../new-host.js';

const SHAPES: Readonly<Record<string, string>> = {
  'kv.put() before the statement': `s.kv.put('m', 1); s.sql.exec(LONG);`,
  'put() before the statement': `s.put('m', 1); s.sql.exec(LONG);`,
  'a statement and kv.put() before the statement': `s.sql.exec('INSERT INTO t VALUES (1)'); s.kv.put('m', 1); s.sql.exec(LONG);`,
  'a failure that is caught': `s.kv.put('m', 1); try { s.sql.exec(LONG); } catch {}`,
  'a failure that is caught behind a statement': `s.sql.exec('INSERT INTO t VALUES (1)'); s.kv.put('m', 1); try { s.sql.exec(LONG); } catch {}`,
  'transactionSync()': `s.transactionSync(() => { s.kv.put('m', 1); s.sql.exec(LONG); });`,
  'kv.put() behind a failure that is caught': `try { s.sql.exec(LONG); } catch {} s.kv.put('m', 1);`,
  'an alarm that is set before a failure that is caught': `s.setAlarm(9e12); try { s.sql.exec(LONG); } catch {}`,
};

const SOURCE = `import { StatefulObject } from 'edgehost:workers';
const LONG = 'INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000000000) SELECT x FROM c WHERE x < 0';
const SHAPES = { ${Object.entries(SHAPES)
  .map(([name, body]) => `${JSON.stringify(name)}: s => { ${body} }`)
  .join(',\n')} };
export class O extends StatefulObject {
  born = Math.random();
  constructor(ctx, env) { super(ctx, env); ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS t (x)'); }
  run(shape) { SHAPES[shape](this.ctx.storage); return 'stored'; }
  alarm() {}
  async state() {
    const { storage } = this.ctx;
    const rows = storage.sql.exec('SELECT count(*) AS n FROM t').one().n;
    return { stored: [storage.kv.get('m') ?? null, rows, await storage.getAlarm()], born: this.born };
  }
}
export default { fetch: () => new Response('') };`;

/** Parent and CPU time, in ticks, of a process; undefined when it has ended. */
async function statOf(pid: number): Promise<{ readonly parent: number; readonly ticks: number } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields && { parent: Number(fields[1]), ticks: Number(fields[11]) };
}

/** The engines that the process has started, each with its CPU time. */
async function enginesOf(ancestor: number): Promise<ReadonlyMap<number, number>> {
  const engines = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!(pid > 0)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (!command.includes('sqlite/engine/main.js')) continue;
    const stat = await statOf(pid);
    for (let at = stat?.parent; at !== undefined && at > 1; at = (await statOf(at))?.parent)
      if (at === ancestor) engines.set(pid, stat?.ticks ?? 0);
  }
  return engines;
}

/** Resolves with one that has begun to work. */
async function busyEngine(ancestor: number): Promise<number> {
  const before = await enginesOf(ancestor);
  for (;;) {
    for (const [pid, ticks] of await enginesOf(ancestor)) if (ticks > (before.get(pid) ?? 0) + 10) return pid;
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

for (const backend of ['inline', 'process'] as const) {
  test.serial(
    `an object is reset and nothing of its batch is stored when its SQL engine ends (${backend})`,
    async t => {
      t.timeout(300_000);
      const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
      t.teardown(() => rm(storage, { recursive: true, force: true }));
      const host = newHost(t, { backend, storage });
      const fn = await host.load(SOURCE, { name: 'f' });
      for (const shape of Object.keys(SHAPES)) {
        const { rpc } = fn.objects('O').getByName(shape);
        const before = Object(await rpc.state?.());
        const running = Promise.resolve(rpc.run?.(shape)).catch(errorCode);
        process.kill(await busyEngine(host.health().backend?.pid ?? process.pid), 'SIGKILL');
        t.is(await running, 'EDGE_OBJECT_RESET', shape);
        const after = Object(await fn.objects('O').getByName(shape).rpc.state?.());
        t.deepEqual(after.stored, [null, 0, null], shape);
        t.not(after.born, before.born, shape);
      }
    },
  );
}

test.serial(
  'what SQL has written in a transaction that is too large to be written is not a part of the next write',
  async t => {
    const host = newHost(t, { backend: 'inline' });
    const fn = await host.load(
      `import { StatefulObject } from 'edgehost:workers';
    export class O extends StatefulObject {
      run() {
        const { storage } = this.ctx;
        let failure;
        try {
          storage.transactionSync(() => {
            storage.sql.exec('CREATE TABLE lost (x)');
            for (let n = 0; n < 100_000; n++) storage.kv.put('k' + n, n);
          });
        } catch (error) { failure = error.name; }
        storage.sql.exec('CREATE TABLE kept (x)');
        return failure;
      }
      tables() { return this.ctx.storage.sql.exec('SELECT name FROM sqlite_schema').raw().toArray().flat().join(); }
      drop() { this.ctx.abort(); }
    }
    export default { fetch: () => new Response('') };`,
      { name: 'f' },
    );
    const object = () => fn.objects('O').getByName('a').rpc;
    t.is(await object().run?.(), 'RangeError');
    t.is(await object().tables?.(), 'kept');
    await t.throwsAsync(Promise.resolve(object().drop?.()));
    t.is(await object().tables?.(), 'kept');
  },
);
