import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { keyFile, keyOf } from '../../../src/storage/files/key-file.js';

function pathIn(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-key-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'secrets.key');
}

const hex = (key: Uint8Array): string => Buffer.from(key).toString('hex');

test('keyOf() makes one key for all who ask at the same time', async t => {
  const path = pathIn(t);
  const store = keyFile(path);
  t.is(await store.read(), 'missing');
  const keys = await Promise.all(Array.from({ length: 20 }, () => keyOf(store)));
  t.is(new Set(keys.map(hex)).size, 1);
  t.is(readFileSync(path, 'latin1').trim(), hex(await keyOf(keyFile(path))));
});

test('keyOf() replaces a file that holds no key', async t => {
  const path = pathIn(t);
  writeFileSync(path, 'half of');
  const store = keyFile(path);
  t.is(await store.read(), 'damaged');
  const key = await keyOf(store);
  t.is(hex(await keyOf(keyFile(path))), hex(key));
});
