import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';

import { LIMIT_NAMES, LIMITS } from '../../src/quotas/limits.js';

const root = new URL('../../../', import.meta.url);

test('the tables of limits in the documentation are those of the table', async t => {
  const script = fileURLToPath(new URL('.scripts/limits-table.mjs', root));
  await t.notThrowsAsync(promisify(execFile)(process.execPath, [script, '--check']));
});

test('the documentation names every limit that has more than one possible value', t => {
  const text = readFileSync(new URL('docs/limits.md', root), 'utf8');
  for (const name of LIMIT_NAMES) t.is(text.includes(`| \`${name}\` `), LIMITS[name].min !== LIMITS[name].max, name);
});
