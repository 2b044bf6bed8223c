/** Forms of SQL and of results that programs written for the hosted platform use. */
import test from 'ava';
import { ISOLATIONS, newHost } from '../new-host.js';

const PROGRAM = `
  import { StatefulObject } from 'edgehost:workers';
  export class Keeper extends StatefulObject {
    go() {
      const { sql } = this.ctx.storage;
      sql.exec('CREATE TABLE t (v, "my column" TEXT DEFAULT "usual")');
      sql.exec('INSERT INTO t (v) VALUES ("foo")');
      return [[...sql.exec('SELECT "v", "my column" FROM t WHERE v = "foo"').raw()], [...sql.exec('SELECT "no column"').raw()]];
    }
  }
  export default {
    async fetch(request, env) {
      await env.DB.exec('CREATE TABLE t (v, "my column" TEXT DEFAULT "usual")');
      await env.DB.prepare('INSERT INTO t (v) VALUES ("foo")').run();
      const database = [
        await env.DB.prepare('SELECT "v", "my column" FROM t WHERE v = "foo"').raw(),
        await env.DB.prepare('SELECT "no column"').raw(),
      ];
      const changed = {};
      for (const sql of [
        'SELECT v FROM t', 'UPDATE t SET v = 1 WHERE v = 9', 'DELETE FROM t WHERE v = 9', 'INSERT INTO t (v) SELECT 1 WHERE 0',
        'CREATE TABLE IF NOT EXISTS t (v)', 'UPDATE t SET v = 1', 'INSERT INTO t (v) VALUES (2)', 'CREATE TABLE u (v)', 'DROP TABLE u',
        'DELETE FROM t RETURNING v',
      ]) changed[sql] = (await env.DB.prepare(sql).all()).meta.changed_db;
      return Response.json({ database, object: await env.Keeper.getByName('a').go(), changed });
    },
  };
`;

for (const isolation of ISOLATIONS) {
  test(`${isolation}: double-quoted text that names no column is text; changed_db is true where something has changed`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(PROGRAM, { sql: { DB: 'main' }, objects: { Keeper: 'Keeper' } });
    const { database, object, changed } = JSON.parse(await (await fn.fetch('https://example.com/')).text());
    const expected = [[['foo', 'usual']], [['no column']]];
    t.deepEqual(database, expected);
    t.deepEqual(object, expected);
    t.deepEqual(changed, {
      'SELECT v FROM t': false,
      'UPDATE t SET v = 1 WHERE v = 9': false,
      'DELETE FROM t WHERE v = 9': false,
      'INSERT INTO t (v) SELECT 1 WHERE 0': false,
      'CREATE TABLE IF NOT EXISTS t (v)': false,
      'UPDATE t SET v = 1': true,
      'INSERT INTO t (v) VALUES (2)': true,
      'CREATE TABLE u (v)': true,
      'DROP TABLE u': true,
      'DELETE FROM t RETURNING v': true,
    });
  });
}
