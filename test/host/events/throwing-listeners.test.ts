import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('../programs/throwing-application.js', import.meta.url));

for (const [isolation, services] of [
  ['process', 'inline'],
  ['process', 'process'],
  ['thread', 'inline'],
] as const) {
  test(`calls complete when listeners and options of the application throw, which it hears of (isolation ${isolation}, services ${services})`, async t => {
    t.timeout(120_000);
    const { stdout } = await run(process.execPath, [PROGRAM, isolation, services]);
    const { answers, uncaught } = JSON.parse(stdout);
    t.deepEqual(answers, ['fine', 'callback has thrown', 'refused', 'fine']);
    t.true(uncaught.includes('log has thrown') && uncaught.includes('invocation has thrown'), String(uncaught));
  });
}
