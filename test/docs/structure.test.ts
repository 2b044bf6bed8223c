/** The rules of .scripts/check-structure.mjs, each with a file or folder that breaks it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from './markdown.js';

const SCRIPT = join(ROOT, '.scripts/check-structure.mjs');
const lines = (count: number): string => '// line\n'.repeat(count);

/** The complaints of the check about these files, but for the tables that are missing here. */
function findings(t: ExecutionContext, files: Readonly<Record<string, string>>): string[] {
  const cwd = mkdtempSync(join(tmpdir(), 'edgehost-structure-'));
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd, encoding: 'utf8' });
  t.is(status, 1, stderr);
  return stderr
    .split('\n')
    .slice(0, -1)
    .filter(line => !line.endsWith(': no such file'));
}

test('check-structure.mjs finds nothing in src', t => {
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: ROOT, encoding: 'utf8' });
  t.is(stderr, '');
  t.is(status, 0);
});

test('check-structure.mjs allows files of 400 lines and names those that are longer', t => {
  t.deepEqual(findings(t, { 'src/a/fits.ts': lines(400), 'src/a/long.ts': lines(401) }), [
    'src/a/long.ts: the file has 401 lines, at most 400 are allowed',
  ]);
});

test('check-structure.mjs names a table that needs no exception any more', t => {
  const [found] = findings(t, { 'src/quotas/limits.ts': lines(400), 'src/quotas/errors.ts': lines(401) });
  t.is(found, 'src/quotas/limits.ts: 400 lines need no exception in .scripts/check-structure.mjs');
});

test('check-structure.mjs allows folders of 20 files and names those that have more, or one', t => {
  const folder = (name: string, count: number): [string, string][] =>
    Array.from({ length: count }, (_, at) => [`src/${name}/file-${at}.ts`, '']);
  t.deepEqual(findings(t, Object.fromEntries([...folder('fits', 20), ...folder('full', 21), ...folder('single', 1)])), [
    'src/full: the folder has 21 files, at most 20 are allowed',
    'src/single: the folder has one file, which belongs in the folder above',
  ]);
});

test('check-structure.mjs names a type that two files export', t => {
  const files = { 'src/a/one.ts': 'export interface Name {}\n', 'src/a/two.ts': 'export class Name {}\n' };
  t.deepEqual(findings(t, files), ['src/a/one.ts, src/a/two.ts: each exports a type Name; rename all but one']);
});
