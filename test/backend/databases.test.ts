/** SQL databases in the backend process: functions and the application use the same one, and all that concerns it as a whole goes there. */
import test from 'ava';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { handler, newHost } from '../host/new-host.js';

test('functions, sessions, migrations, copies and restores of a database work in the backend process', async t => {
  const host = newHost(t, { storage: await temporaryDirectory(t), backend: 'process', usage: false });
  const database = host.sql('main');
  t.deepEqual(await database.migrate([{ name: '1.sql', sql: 'CREATE TABLE a (x)' }]), ['1.sql']);
  const fn = await host.load(
    handler(`
      const session = env.DB.withSession('first-primary');
      const before = session.getBookmark();
      await session.prepare('INSERT INTO a VALUES (?)').bind(1).run();
      const first = session.getBookmark();
      await session.prepare('SELECT 1').all();
      const next = env.DB.withSession(first);
      await next.batch([next.prepare('INSERT INTO a VALUES (2)')]);
      let refused;
      try { env.DB.withSession('nonsense'); } catch (error) { refused = error.message; }
      return Response.json({ before, grows: first < session.getBookmark() && first < next.getBookmark(), refused });`),
    { sql: { DB: 'main' } },
  );
  t.deepEqual(await (await fn.fetch('http://x/')).json(), {
    before: null,
    grows: true,
    refused: 'D1_SESSION_ERROR: Invalid bookmark or constraint: nonsense',
  });
  const backup = new Uint8Array(await new Response(await database.backup()).arrayBuffer());
  const text = await new Response(await database.export()).text();
  await database.exec('DELETE FROM a');
  await database.restore(backup);
  t.deepEqual(await database.prepare('SELECT x FROM a ORDER BY x').raw(), [[1], [2]]);
  const copy = host.sql('copy');
  await copy.import(text);
  t.deepEqual(await copy.prepare('SELECT x FROM a ORDER BY x').raw(), [[1], [2]]);
  t.deepEqual(
    (await copy.migrations()).map(({ name }) => name),
    ['1.sql'],
  );
  await t.throwsAsync(database.restore(new Uint8Array(100)), { code: 30001 });
  await t.throwsAsync(database.prepare('SELEC').all(), { message: /^D1_ERROR: .*SQLITE_ERROR$/ });
});
