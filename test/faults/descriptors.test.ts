import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

const run = promisify(execFile);

test('an application without descriptors for another process lives on, says EDGE_CELL_START, and goes on later', async t => {
  const program = fileURLToPath(new URL('./programs/few-descriptors.js', import.meta.url));
  const { stdout } = await run(process.execPath, [program, '80']);
  const { outcomes, answers, later } = JSON.parse(stdout);
  t.true(outcomes.includes('EDGE_CELL_START'));
  t.deepEqual(
    outcomes.filter((outcome: string) => !['loaded', 'EDGE_CELL_START'].includes(outcome)),
    [],
  );
  t.deepEqual([...new Set(answers)], ['fine']);
  t.is(later, 'fine');
});

test('SQL without descriptors for a process says EDGE_OVERLOADED, takes no place for it, and goes on later', async t => {
  const program = fileURLToPath(new URL('./programs/few-descriptors-sql.js', import.meta.url));
  const { stdout } = await run('prlimit', ['--nofile=64:', process.execPath, program]);
  const { objects, databases, left, later } = JSON.parse(stdout);
  t.deepEqual([...new Set(objects)], ['EDGE_OVERLOADED']);
  t.is(databases, 'EDGE_OVERLOADED');
  t.deepEqual(left, []);
  t.false(later);
});

for (const backend of ['inline', 'process'] as const) {
  test(`cells that could not start leave no sockets, and the application ends by itself, with backend: '${backend}'`, async t => {
    t.timeout(120_000);
    const program = fileURLToPath(new URL('./programs/few-descriptors-services.js', import.meta.url));
    const { stdout } = await run(process.execPath, [program, backend, '120']);
    const { outcomes, perCell, left, later } = JSON.parse(stdout);
    t.true(
      outcomes.some((outcome: string) => /^EDGE_(CELL_START|SERVICES_START)$/.test(outcome)),
      stdout,
    );
    // Those of a cell: one a lease, its control connection and its standard error.
    t.true(perCell < 40, stdout);
    // That to the launcher, and one to the backend process.
    t.true(left <= 2, stdout);
    t.is(later, 'fine');
  });
}
