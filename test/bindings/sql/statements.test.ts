import test from 'ava';
import { splitStatements } from '../../../src/bindings/sql/engine/statements.js';

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
