import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { EDGE_ERRORS } from '../../src/quotas/errors.js';
import { LIMIT_NAMES } from '../../src/quotas/limits.js';
import { documents, ROOT, textOf } from './markdown.js';

const rows = Object.entries(EDGE_ERRORS);
const limitNames: readonly string[] = LIMIT_NAMES;

test('docs/errors.md has the table of error codes', async t => {
  await t.notThrowsAsync(
    promisify(execFile)(process.execPath, [join(ROOT, '.scripts/errors-table.mjs'), '--check'], { cwd: ROOT }),
  );
  for (const [code] of rows) t.true(textOf('docs/errors.md').includes(`| \`${code}\``), code);
});

for (const [code, { text, remedy }] of rows) {
  test(`${code} has a cause, and a remedy of full sentences`, t => {
    t.regex(text, /^\S.{8,}[^.]$/);
    t.regex(remedy, /^[A-Z].{15,}\.$/);
    // In a cell of a table.
    t.notRegex(text + remedy, /[|\n]/);
    t.is((remedy.match(/`/g)?.length ?? 0) % 2, 0, 'every backtick is closed');
  });

  test(`the limits and pages that the remedy of ${code} names exist`, t => {
    const limits = [...remedy.matchAll(/`limits\.(\w+)`/g)].map(match => match[1] ?? '');
    t.deepEqual(
      limits.filter(name => !limitNames.includes(name)),
      [],
    );
    const pages = [...remedy.matchAll(/\]\(([\w-]+\.md)/g)].map(match => match[1] ?? '');
    t.deepEqual(
      pages.filter(page => !existsSync(join(ROOT, 'docs', page))),
      [],
    );
  });
}

test('the documentation names no error code that does not exist', t => {
  for (const page of documents()) {
    const named = [...textOf(page).matchAll(/\bEDGE_[A-Z_]+\b/g)].map(([code]) => code);
    t.deepEqual(
      named.filter(code => !Object.hasOwn(EDGE_ERRORS, code)),
      [],
      page,
    );
  }
});
