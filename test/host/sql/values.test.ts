/** What SQL keeps of values: one table of them for databases and for objects, and through the text of an export. */
import test from 'ava';
import { ISOLATIONS, newHost } from '../new-host.js';

/** Expressions of values that are bound; what SQLite has then: its type, its bytes or text, and what is read back. */
const BOUND: readonly (readonly [value: string, type: string, hex: string, read: unknown])[] = [
  [String.raw`'a\0b'`, 'text', '610062', 'a\0b'],
  [String.raw`'\0'`, 'text', '00', '\0'],
  [String.raw`'\0a\0\0'`, 'text', '00610000', '\0a\0\0'],
  ["''", 'text', '', ''],
  [String.raw`'x\ud800y'`, 'text', '78EFBFBD79', 'x\ufffdy'],
  [String.raw`'\udc00\0'`, 'text', 'EFBFBD00', '\ufffd\0'],
  ["'\\u{1f600}'", 'text', 'F09F9880', '\u{1f600}'],
  ['5', 'real', '352E30', 5],
  ['-1', 'real', '2D312E30', -1],
  ['2 ** 31', 'real', '323134373438333634382E30', 2 ** 31],
  ['2 ** 53', 'real', '393030373139393235343734303939322E30', 2 ** 53],
  ['-(2 ** 53)', 'real', '2D393030373139393235343734303939322E30', -(2 ** 53)],
  ['1.5', 'real', '312E35', 1.5],
  ['-0', 'real', '302E30', 0],
  ['true', 'real', '312E30', 1],
  ['NaN', 'null', '', null],
  ['Infinity', 'null', '', null],
  ['-Infinity', 'null', '', null],
  ['null', 'null', '', null],
  ['new Uint8Array(0)', 'blob', '', []],
  ['new ArrayBuffer(0)', 'blob', '', []],
  ['new Uint8Array([0, 255])', 'blob', '00FF', [0, 255]],
  ['new Uint8Array([1, 2, 3, 4]).subarray(1, 3)', 'blob', '0203', [2, 3]],
  ['new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 2, 1)', 'blob', '03', [3]],
  ['new Uint16Array([258])', 'blob', '0201', [2, 1]],
];

/** Expressions of SQL, and what is read. */
const READ: readonly (readonly [sql: string, read: unknown])[] = [
  ["'x' || char(0) || 'y'", 'x\0y'],
  ["CAST(x'780079' AS TEXT)", 'x\0y'],
  [`json_extract('{"a":"x\\u0000y"}', '$.a')`, 'x\0y'],
  ['9007199254740993', 9007199254740992],
  ['-9007199254740993', -9007199254740992],
  ['9223372036854775807', 2 ** 63],
  ['-9223372036854775808', -(2 ** 63)],
  ['9e999', null],
  ['-0.0', 0],
  ["x''", []],
  ["CAST(x'ff41' AS TEXT)", '\ufffdA'],
];

const PROGRAM = `
  import { StatefulObject } from 'edgehost:workers';
  const BOUND = [${BOUND.map(([value]) => value).join(', ')}];
  const READ = ${JSON.stringify(READ.map(([sql]) => sql))};
  const plain = value => (value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value);
  const all = async run => {
    const bound = [];
    for (const value of BOUND) bound.push((await run('SELECT typeof(?1), hex(?1), ?1', value))[0].map(plain));
    const read = [];
    for (const sql of READ) read.push(plain((await run('SELECT ' + sql))[0][0]));
    await run('CREATE TABLE keys (k TEXT PRIMARY KEY, n)');
    for (const [k, n] of [['k', 1], ['k\\0one', 2], ['k\\0two', 3]]) await run('INSERT INTO keys VALUES (?, ?)', k, n);
    const found = await run('SELECT n FROM keys WHERE k = ?', 'k\\0two');
    const between = await run('SELECT n FROM keys WHERE k > ? AND k < ? ORDER BY k', 'k\\0', 'k\\0u');
    const [long] = await run('SELECT length(CAST(?1 AS BLOB)), ?1 = ?2, ?3', 'x\\0'.repeat(500000), 'x\\0'.repeat(500000), 'n\\0');
    const text = [];
    for (const sql of ['SELECT 1 \\0 , syntax', '\\0', 'SELECT 1; \\0'])
      text.push(await run(sql).then(() => 'no error', error => error.message.includes('NUL')));
    return { bound, read, found, between, long, text };
  };
  export class Keeper extends StatefulObject {
    go() {
      const { sql } = this.ctx.storage;
      return all(async (query, ...values) => [...sql.exec(query, ...values).raw()]);
    }
    names() {
      const cursor = this.ctx.storage.sql.exec('SELECT 1 AS a, 2 AS a, ?', 'x\\0');
      return [cursor.columnNames, [...cursor.raw()]];
    }
  }
  export default {
    async fetch(request, env) {
      const names = await env.DB.prepare('SELECT 1 AS a, 2 AS a, ?').bind('x\\0').raw({ columnNames: true });
      return Response.json({
        database: await all((query, ...values) => env.DB.prepare(query).bind(...values).raw()),
        object: await env.Keeper.getByName('a').go(),
        names: [[names[0], names.slice(1)], await env.Keeper.getByName('a').names()],
        exec: await env.DB.exec('CREATE TABLE cut (a) \\0 garbage').then(() => 'no error', error => error.message),
      });
    },
  };
`;

for (const isolation of ISOLATIONS) {
  test(`${isolation}: bind() and what is read keep text with U+0000, bytes and numbers, in databases and in objects`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(PROGRAM, { sql: { DB: 'main' }, objects: { Keeper: 'Keeper' } });
    const { database, object, names, exec } = (await (await fn.fetch('https://example.com/')).json()) as {
      readonly database: Record<string, unknown>;
      readonly object: Record<string, unknown>;
      readonly names: readonly unknown[];
      readonly exec: string;
    };
    const expected = {
      bound: BOUND.map(([, type, hex, read]) => [type, hex, read]),
      read: READ.map(([, read]) => read),
      found: [[3]],
      between: [[2], [3]],
      long: [1_000_000, 1, 'n\0'],
      text: [true, true, true],
    };
    t.deepEqual(database, expected);
    t.deepEqual(object, expected);
    for (const each of names) t.deepEqual(each, [['a', 'a', '?'], [[1, 2, 'x\0']]]);
    t.true(exec.includes('NUL'), exec);
  });
}

test('export() and import() keep text with U+0000, and values of the largest size', async t => {
  const host = newHost(t);
  const db = host.sql('main');
  await db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, v)');
  const insert = db.prepare('INSERT INTO t (v) VALUES (?)');
  const values = ["it's\0 'quoted'", '\0', '\0'.repeat(300_000), 'x'.repeat(2_000_000), 'NULL', "X'00'"];
  for (const value of values) await insert.bind(value).run();
  await insert.bind(new Uint8Array(1_900_000).fill(7)).run();
  const text = await new Response(await db.export()).text();
  const copy = host.sql('copy');
  await copy.import(text);
  const { results } = await copy.prepare('SELECT v FROM t WHERE id <= 6 ORDER BY id').all<{ readonly v: string }>();
  t.true(results.every(({ v }, index) => v === values[index]));
  t.is(await copy.prepare('SELECT length(v) FROM t WHERE id = 7').first('length(v)'), 1_900_000);
  await t.throwsAsync(copy.import('CREATE TABLE cut (a) \0 garbage'), { message: /NUL/ });
});
