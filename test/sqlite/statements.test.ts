import test from 'ava';
import { eachStatement, splitStatements } from '../../src/sqlite/engine/statements.js';

const texts = (sql: string): string[] => splitStatements(sql).map(({ text }) => text);

test('splitStatements() follows quotes, comments and triggers', t => {
  t.deepEqual(texts(''), []);
  t.deepEqual(texts(' ; -- a;b\n /* ; */ ;'), []);
  t.deepEqual(texts("SELECT ';', \"a;\"\"b\", `;`, [;], 'it''s;' ; SELECT 2 -- end"), [
    "SELECT ';', \"a;\"\"b\", `;`, [;], 'it''s;'",
    'SELECT 2',
  ]);
  const trigger = 'CREATE TEMP TRIGGER g AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; DELETE FROM a; END';
  t.deepEqual(texts(`${trigger};SELECT 1`), [trigger, 'SELECT 1']);
  t.deepEqual(texts("SELECT 'open ; "), ["SELECT 'open ; "]);
});

test('splitStatements() counts parameters and finds those with names', t => {
  const [first, second, third] = splitStatements("SELECT ?, ?, '?'; SELECT ?7, ?; SELECT $name, ?");
  t.is(first?.parameters, 2);
  t.is(second?.parameters, 8);
  t.is(third?.named, '$name');
});

test('eachStatement() gives the same whatever the pieces', t => {
  const sql =
    "CREATE TRIGGER a AFTER INSERT ON b BEGIN SELECT ';'; SELECT 2; END; -- x;\n/* ; */ INSERT INTO b VALUES ('a;''b');;SELECT 1";
  const whole = texts(sql);
  t.is(whole.length, 3);
  for (let length = 1; length <= sql.length; length++) {
    const pieces = Array.from({ length: Math.ceil(sql.length / length) }, (_, at) =>
      sql.slice(at * length, (at + 1) * length),
    );
    t.deepEqual(
      [...eachStatement(pieces, sql.length)].map(({ text }) => text),
      whole,
      `${length}`,
    );
  }
});

test('eachStatement() refuses a statement that is too long before all of it is there', t => {
  let count = 0;
  const pieces = function* (): Generator<string> {
    for (; count < 100; count++) yield 'x'.repeat(10);
  };
  t.throws(() => [...eachStatement(pieces(), 100)], { message: /SQLITE_TOOBIG/ });
  t.is(count, 10);
});
