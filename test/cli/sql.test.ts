import { join } from 'node:path';
import test from 'ava';
import { edgehost, folderOf } from './program.js';

test('edgehost sql migrate applies each file once, lists them, and stops at the first that fails', async t => {
  const folder = await folderOf(t, {
    'migrations/0001_a.sql': 'CREATE TABLE a (x);',
    'migrations/0002_b.sql': 'INSERT INTO a VALUES (1);',
    'migrations/notes.txt': 'no migration',
    'bad/0003_c.sql': 'SELEC;',
  });
  const migrations = join(folder, 'migrations');
  const run = (...args: string[]) =>
    edgehost(t, ['sql', 'migrate', 'main', ...args, '--storage', join(folder, 'data')]);
  const listed = await run(migrations, '--list');
  t.is(listed.out, 'waiting  0001_a.sql\nwaiting  0002_b.sql\n');
  const first = await run(migrations);
  t.is(first.code, 0);
  t.is(first.out, '1 of 2  0001_a.sql\n2 of 2  0002_b.sql\ndone: 2 applied\n');
  t.is((await run(migrations)).out, 'nothing to apply: the database is up to date\n');
  const failed = await run(join(folder, 'bad'));
  t.is(failed.code, 1);
  t.regex(failed.err, /0003_c\.sql failed, and nothing of it was applied: D1_ERROR: near "SELEC": syntax error/);
  t.is((await run(join(folder, 'none'))).code, 2);
});
