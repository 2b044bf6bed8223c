import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { NODE_PATH, nodePath } from '../../src/pool/node-path.js';

test('nodePath() is an absolute path, as a shell finds it, where Node knows its name alone', t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-node-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'node'), '');
  t.is(nodePath('/usr/bin/node'), '/usr/bin/node');
  t.is(nodePath('./bin/node'), resolve('bin/node'));
  t.is(nodePath('node', ['', '.', '/nowhere', folder].join(delimiter)), join(folder, 'node'));
  t.is(nodePath('node', '/nowhere'), 'node');
  t.is(NODE_PATH, process.execPath);
});
