/** Notices of the backend process about itself reach the applications as `warning` events and in host.health(). */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Notices } from '../../src/backend/server/notices.js';
import { EdgeError, errorCode } from '../../src/quotas/errors.js';
import { newHost } from '../host/new-host.js';

function directoryFor(t: ExecutionContext): string {
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return storage;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 5));
}

test('health() has the sandbox of the SQL engines, and missing layers are a warning, with services of a process as inline', async t => {
  const inline = newHost(t, { storage: directoryFor(t), backend: 'inline' });
  await inline.sql('main').exec('CREATE TABLE t (v)');
  const expected = inline.health().sqlSandbox;
  t.not(expected, undefined);
  const storage = directoryFor(t);
  const warnings: string[] = [];
  const open = (): ReturnType<typeof newHost> => {
    const host = newHost(t, { storage, backend: 'process' });
    host.on('warning', error => warnings.push(`${errorCode(error)}: ${error.message}`));
    return host;
  };
  const one = open();
  t.is(one.health().sqlSandbox, undefined);
  await one.sql('main').exec('CREATE TABLE t (v)');
  await until(() => one.health().sqlSandbox !== undefined);
  t.deepEqual(one.health().sqlSandbox, expected);
  // One that comes later gets it, too.
  const two = open();
  await two.bucket('files').head('key');
  await until(() => two.health().sqlSandbox !== undefined);
  t.deepEqual(two.health().sqlSandbox, expected);
  const ofEngines = warnings.filter(text => /EDGE_SANDBOX: The sandbox of the engines/.test(text));
  t.is(ofEngines.length, expected?.missing.length === 0 ? 0 : 2);
});

test('warnings from a time without applications are for the first one, and later ones for all', t => {
  const notices = new Notices();
  const heard: string[] = [];
  const target = (name: string) => ({
    signal: (_id: number, _kind: number, payload: string) => void heard.push(`${name} ${payload}`),
  });
  const warn = (message: string): void => notices.warn(new EdgeError('EDGE_INTERNAL', message));
  for (let at = 0; at < 20; at++) warn(`early ${at}`);
  const one = target('one');
  notices.add(one);
  t.is(heard.length, 16);
  t.is(heard[0], 'one {"warning":{"code":"EDGE_INTERNAL","message":"early 4"}}');
  heard.length = 0;
  notices.add(target('two'));
  t.deepEqual(heard, []);
  warn('late');
  t.deepEqual(
    heard.map(text => text.slice(0, 3)),
    ['one', 'two'],
  );
  heard.length = 0;
  notices.delete(one);
  warn('later');
  t.is(heard.length, 1);
});
