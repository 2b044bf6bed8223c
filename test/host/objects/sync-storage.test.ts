/** storage.kv and storage.sql: what they answer at once, that all of a batch is stored or nothing, and what is left when something is killed. */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import test from 'ava';
import { descendantsOf } from '../../../src/pool/processes/process-tree.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { onLinux } from '../../needs.js';
import { ISOLATIONS, newHost } from '../new-host.js';

const NOTES = `import { StatefulObject } from 'edgehost:workers';
const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';
export class Notes extends StatefulObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.kv = ctx.storage.kv;
  }
  setup() { this.sql.exec('CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)'); }
  add(text) {
    this.setup();
    const n = (this.kv.get('n') ?? 0) + 1;
    this.kv.put('n', n);
    this.sql.exec('INSERT INTO notes (text) VALUES (?)', text);
    return n;
  }
  state() { this.setup(); return [this.kv.get('n') ?? 0, this.sql.exec('SELECT count(*) AS n FROM notes').one().n]; }
  kvRun() {
    const { kv } = this;
    kv.put('a', 1);
    kv.put('b', { list: [1, new Date(0)] });
    const seen = [kv.get('a'), kv.get('none') === undefined, kv.delete('a'), kv.delete('a'), kv.get('a') === undefined];
    kv.put('c', 3);
    const list = kv.list({ reverse: true });
    return [...seen, kv.get('b').list[1].getTime(), [...list].map(([key]) => key), [...kv.list({ prefix: 'c' })]];
  }
  async kvAsync() { await this.ctx.storage.put('later', 1); const both = [this.kv.get('later'), await this.ctx.storage.get('b') !== undefined]; return both; }
  sqlRun() {
    const { sql } = this;
    const made = sql.exec('CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB); INSERT INTO t VALUES (?, ?, ?, ?) RETURNING *', 7, 1.5, 'ä', new Uint8Array([1, 2]).buffer);
    const { i, r, s, b } = made.one();
    const cursor = sql.exec('SELECT 1 AS x, 2 AS y UNION SELECT 3, 4');
    const first = cursor.next();
    const raw = cursor.raw();
    const fails = query => { try { sql.exec(query).one(); return 'none'; } catch (error) { return error.message; } };
    return [i, r, s, b instanceof ArrayBuffer && [...new Uint8Array(b)], made.rowsWritten, first.value, raw.columnNames, raw.toArray(), cursor.next().done,
      [...sql.exec('SELECT 5 AS z')], sql.databaseSize > 0, fails('SELECT 1 WHERE 0'), fails('SELECT 1 UNION SELECT 2'), fails('SELEC'), fails('BEGIN')];
  }
  undo() {
    this.setup();
    const add = text => this.sql.exec('INSERT INTO notes (text) VALUES (?)', text);
    const { storage } = this.ctx;
    const fail = run => { try { storage.transactionSync(run); } catch {} };
    fail(() => { add('gone'); this.kv.put('gone', 1); throw new Error('undo'); });
    add('kept');
    storage.transactionSync(() => { add('inner'); fail(() => { add('gone'); throw 1; }); storage.transactionSync(() => add('innermost')); });
    fail(() => { add('gone'); storage.transactionSync(() => add('gone too')); throw 1; });
    return [this.kv.get('gone') ?? null, this.sql.exec('SELECT text FROM notes ORDER BY id').raw().toArray().flat()];
  }
  async undoAsync() {
    this.setup();
    const add = text => this.sql.exec('INSERT INTO notes (text) VALUES (?)', text);
    add('before');
    await this.ctx.storage.transaction(async txn => { add('gone'); await scheduler.wait(1); txn.rollback(); });
    await this.ctx.storage.transaction(async txn => { add('kept'); await scheduler.wait(1); await txn.put('kept', 1); });
    return this.sql.exec('SELECT text FROM notes ORDER BY id').raw().toArray().flat();
  }
  async wipe() {
    this.add('first');
    await this.ctx.storage.deleteAll();
    const isGone = (() => { try { this.sql.exec('SELECT * FROM notes'); return false; } catch { return true; } })();
    this.add('second');
    return [isGone, ...this.state()];
  }
  halves() { this.add('half'); this.ctx.abort(new Error('over')); }
  endless() { this.add('half'); this.sql.exec(ENDLESS); }
  orRollback() { this.add('once'); try { this.sql.exec("INSERT OR ROLLBACK INTO notes (text) VALUES ('once')"); } catch {} this.kv.put('half', 1); }
  large() { this.setup(); this.kv.put('half', 1); this.sql.exec('INSERT INTO notes (text) VALUES (hex(randomblob(30000)))'); }
  refused(queries) { return queries.map(query => { try { this.sql.exec(query); return query; } catch (error) { return 'refused'; } }); }
  fetch() {
    let left = 100;
    return new Response(new ReadableStream({ pull: controller => {
      this.kv.get('missing' + left);
      controller.enqueue(new Uint8Array(65536).fill(left));
      if (--left === 0) controller.close();
    } }));
  }
}
export default { fetch: () => new Response('') };`;
const BOUND = { name: 'notes', objects: { NOTES: 'Notes' } };

for (const isolation of ISOLATIONS) {
  test(`storage.kv answers at once, from the keys and values of the storage (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(NOTES, BOUND);
    const notes = fn.objects('Notes').getByName('a').rpc;
    t.deepEqual(await notes.kvRun(), [1, true, true, false, true, 0, ['c', 'b'], [['c', 3]]]);
    t.deepEqual(await notes.kvAsync(), [1, true]);
  });

  test(`storage.sql runs statements and gives cursors (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(NOTES, BOUND);
    const answer: unknown = await fn.objects('Notes').getByName('a').rpc.sqlRun();
    t.deepEqual(answer, [
      7,
      1.5,
      'ä',
      [1, 2],
      1,
      { x: 1, y: 2 },
      ['x', 'y'],
      [[3, 4]],
      true,
      [{ z: 5 }],
      true,
      'Expected exactly one result from SQL query, but got no results.',
      'Expected exactly one result from SQL query, but got multiple results.',
      'near "SELEC": syntax error at offset 0: SQLITE_ERROR',
      'To execute a transaction, please use the transaction() or transactionSync() methods of the storage instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements: SQLITE_AUTH',
    ]);
  });

  test(`transactions undo what SQL has written, and no more (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(NOTES, BOUND);
    const objects = fn.objects('Notes');
    t.deepEqual(await objects.getByName('a').rpc.undo(), [null, ['kept', 'inner', 'innermost']]);
    t.deepEqual(await objects.getByName('b').rpc.undoAsync(), ['before', 'kept']);
    t.deepEqual(await objects.getByName('c').rpc.wipe(), [true, 1, 1]);
  });

  test(`what was written by SQL and by kv together is stored together or not at all (${isolation})`, async t => {
    const host = newHost(t, { isolation, limits: { cpuMs: 600 } });
    const fn = await host.load(NOTES, BOUND);
    const notes = () => fn.objects('Notes').getByName('a').rpc;
    t.is(await notes().add('one'), 1);
    for (const method of ['halves', 'endless', 'orRollback'] as const) {
      const error = await t.throwsAsync(Promise.resolve(notes()[method]()));
      t.regex(`${errorCode(error)}`, /EDGE_OBJECT_RESET|EDGE_CPU_LIMIT/, method);
      t.deepEqual(await notes().state(), [1, 1], method);
    }
    // The same storage, seen by the next version of the function.
    await host.load(`${NOTES}//2`, BOUND);
    t.is(await notes().add('two'), 2);
    t.deepEqual(await notes().state(), [2, 2]);
  });

  test(`functions have no files, no settings and no transactions of their own by SQL (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(NOTES, BOUND);
    const queries = [
      "ATTACH '/tmp/x' AS y",
      "VACUUM INTO '/tmp/x'",
      'PRAGMA journal_mode = DELETE',
      'PRAGMA synchronous = OFF',
      'PRAGMA wal_checkpoint',
      'PRAGMA max_page_count = 1000000',
      'PRAGMA writable_schema = ON',
      "SELECT load_extension('x')",
      "SELECT readfile('/etc/passwd')",
      'CREATE TEMP TABLE z (x)',
      'COMMIT',
      'ROLLBACK',
      'SAVEPOINT layer1',
      'RELEASE layer1',
      'SELECT zeroblob(3000000)',
      `SELECT ${'1,'.repeat(100)}1`,
    ];
    const answers: unknown = await fn.objects('Notes').getByName('a').rpc.refused(queries);
    t.deepEqual(
      answers,
      queries.map(() => 'refused'),
    );
  });

  test(`answers come while much of the isolate is on its way to slow readers (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(NOTES, BOUND);
    const notes = fn.objects('Notes').getByName('a');
    const bodies = await Promise.all(Array.from({ length: 3 }, () => notes.fetch('http://x/')));
    for (let at = 1; at <= 5; at++) {
      // The application reads nothing for a while.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      t.is(await notes.rpc.add(`${at}`), at);
    }
    for (const body of bodies) {
      const bytes = new Uint8Array(await body.arrayBuffer());
      t.is(bytes.length, 100 * 65_536);
      for (let chunk = 0; chunk < 100; chunk++) if (bytes[chunk * 65_536 + 65_535] !== 100 - chunk) t.fail(`${chunk}`);
    }
    t.deepEqual(await notes.rpc.state(), [5, 5]);
  });
}

test('the database of an object counts into what its account has stored', async t => {
  const host = newHost(t, { isolation: 'thread', limits: { storageBytes: 40_000 } });
  const fn = await host.load(NOTES, BOUND);
  const notes = () => fn.objects('Notes').getByName('a').rpc;
  t.is(await notes().add('one'), 1);
  const error = await t.throwsAsync(Promise.resolve(notes().large()));
  t.regex(`${error?.message}`, /storageBytes/);
  t.deepEqual(await notes().state(), [1, 1]);
});

onLinux('what an object was told is stored stays when processes of SQL and cells are killed', async t => {
  const fn = await newHost(t, { backend: 'inline' }).load(NOTES, BOUND);
  const notes = () => fn.objects('Notes').getByName('a').rpc;
  let told = 0;
  const programs = ['sqlite/engine/main.js', 'cell-main', 'objects/sql/engine/main.js'];
  for (const [round, program] of programs.entries()) {
    for (let at = 0; at < 3; at++) told = Number(await notes().add(`${round} ${told}`));
    const adding = Promise.resolve(notes().add(`${round} beside`)).then(
      n => Number(n),
      () => undefined,
    );
    for (const pid of descendantsOf(process.pid)) if (commandOf(pid).includes(program)) process.kill(pid, 'SIGKILL');
    const added = await adding;
    const [n, rows]: unknown[] = await again(() => notes().state());
    t.is(n, rows);
    t.true(n === told || n === told + 1);
    if (added !== undefined) t.is(n, added);
    told = Number(n);
    await again(() => notes().setup());
    // Its text is not there twice.
    t.is(Number(await again(() => notes().add(`${round} after`))), told + 1);
    told++;
  }
});

/** A call that may find what was killed. */
async function again<T>(call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch {
    return await call();
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

test('a query that takes more memory than a process of SQL may have is ended', async t => {
  const host = newHost(t, { limits: { cpuMs: 20_000 } });
  const source = `import { StatefulObject } from 'edgehost:workers';
    export class Notes extends StatefulObject {
      sort(rows) {
        const { sql } = this.ctx.storage;
        try {
          return sql.exec('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < ?) SELECT count(*) AS n FROM (SELECT hex(randomblob(500)) AS h FROM c ORDER BY h LIMIT -1 OFFSET 1)', rows).one().n;
        } catch (error) { return error.message; }
      }
    }
    export default { fetch: () => new Response('') };`;
  const fn = await host.load(source, BOUND);
  const { rpc } = fn.objects('Notes').getByName('a');
  t.is(await rpc.sort(1000), 999);
  t.regex(`${await rpc.sort(200_000)}`, /it took too much memory/);
  t.is(await rpc.sort(1000), 999);
});
