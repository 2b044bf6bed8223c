/** Rows whose columns a customer has named, read by the application and by functions. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { ISOLATIONS, newHost } from '../new-host.js';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const MEBIBYTE = 1024 * 1024;
const ROWS = 8000;
/** V8 would keep a list of 30 KB for each of these rows: the first number is small enough for a list, and the second makes it grow. */
const SPARSE = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ${ROWS}) SELECT 0 AS "1023", x AS "2500", x AS "a" FROM n`;
const NAMES = `SELECT 1 AS "__proto__", 2 AS "constructor", 3 AS "4294967294", 4 AS "4294967295", 5 AS "1", 6 AS "1", 7 AS "01", 8 AS "0"`;
const READ = [
  ['0', 8],
  ['1', 6],
  ['4294967294', 3],
  ['__proto__', 1],
  ['constructor', 2],
  ['4294967295', 4],
  ['01', 7],
];

test('all() makes small objects of rows whose columns are numbers', async t => {
  const database = newHost(t, { isolation: 'thread' }).sql('main');
  collect();
  const before = process.memoryUsage().heapUsed;
  const { results } = await database.prepare(SPARSE).all();
  collect();
  const grown = process.memoryUsage().heapUsed - before;
  t.is(results.length, ROWS);
  t.deepEqual(results[1], { 1023: 0, 2500: 2, a: 2 });
  t.true(grown < 10 * MEBIBYTE, `${grown}`);
});

for (const isolation of ISOLATIONS) {
  test(`${isolation}: rows have the columns that were selected, whatever their names, in functions as well`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      `export default { async fetch(request, { DB }) {
        const { results } = await DB.prepare(${JSON.stringify(SPARSE)}).all();
        const first = await DB.prepare(${JSON.stringify(NAMES)}).first();
        const isPlain = Object.getPrototypeOf(first) === Object.prototype;
        return Response.json([results.length, results[1], isPlain, Object.entries(first)]);
      } }`,
      { sql: { DB: 'main' } },
    );
    t.deepEqual(await (await fn.fetch('http://x/')).json(), [ROWS, { 1023: 0, 2500: 2, a: 2 }, true, READ]);
    const first = await host.sql('main').prepare(NAMES).first();
    t.deepEqual(Object.entries(first ?? {}), READ);
    t.is(Object.getPrototypeOf(first), Object.prototype);
  });
}
