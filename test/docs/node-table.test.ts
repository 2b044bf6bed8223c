import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { ROOT } from './markdown.js';

test('the table of modules in docs/node.md says which functions have code', async t => {
  await t.notThrowsAsync(
    promisify(execFile)(process.execPath, ['.scripts/node-table.mjs', '--check'], { cwd: ROOT, timeout: 100_000 }),
  );
});
