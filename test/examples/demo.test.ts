import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { ROOT } from '../docs/markdown.js';

test('the demo shows what it promises and leaves nothing behind', async t => {
  t.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-demo-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'examples/saas/demo.js')], {
    env: { ...process.env, TMPDIR: folder },
  });
  t.regex(stdout, /a new host on the same folder: the same bytes, the same etag/);
  t.is(stdout.match(/gave \d+ answers, 0 failures/g)?.length, 6);
  t.regex(stdout, /none is left; the folder is gone/);
  t.deepEqual(readdirSync(folder), []);
});

test('the demo of edgehost dev shows what it promises and leaves nothing behind', async t => {
  t.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-demo-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, 'examples/dev/demo.js')], {
    env: { ...process.env, TMPDIR: folder },
  });
  t.regex(stdout, /_greeting\.ts is edited: \d+ ms later the new version answers/);
  t.regex(stdout, /the version before goes on answering/);
  t.regex(stdout, /stopped, and nothing listens any more/);
  t.deepEqual(readdirSync(folder), []);
});
