import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import test from 'ava';
import { Level } from 'level';
import { createManagement } from '../../src/management/management.js';
import { makeApi, newNames, readAnswer, TOKEN } from './support/api.js';
import { MemoryFunctions, memoryDirectories } from './support/memory-port.js';
import { asStorage, openLevel } from './support/open-level.js';

const CHANGES = 15;

test('a process that is killed while it writes loses nothing it has answered, and leaves nothing half written', async t => {
  const directory = await mkdtemp(path.join(tmpdir(), 'edgehost-management-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const script = path.resolve('dist/test/management/support/endless-writer.js');
  const child = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const answered: { record: string; name: string }[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [record = '', name = ''] = line.split(' ');
    answered.push({ record, name });
    if (answered.length === CHANGES) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');

  const storage = openLevel(directory);
  t.teardown(() => storage.close());
  const functions = new MemoryFunctions();
  const { fetch, restore } = createManagement({
    storage,
    functions,
    directoryOf: memoryDirectories(),
    names: newNames(),
    tokens: [{ name: 'all', token: TOKEN, account: 'acme', permissions: 'all' }],
  });
  const get = async (url: string) => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    return readAnswer(await fetch(new Request(`http://localhost${url}`, { headers })));
  };
  // Whatever is stored can be loaded: its version and its modules are there.
  const { restored, failed } = await restore();
  t.deepEqual(failed, []);
  t.true(restored >= CHANGES);
  for (const { name } of answered) t.true(functions.serving.has(`acme/${name}`));
  const zones = (await get('/zones')).body.result;
  const [zone] = Array.isArray(zones) ? zones : [];
  for (const { record } of answered) t.is((await get(`/zones/${zone.id}/dns_records/${record}`)).status, 200);
  // Each change has its entry in the log, and each entry its change.
  const logged = (await get('/accounts/acme/audit_logs?per_page=1000')).body.result_info?.count;
  const records = (await get(`/zones/${zone.id}/dns_records`)).body.result_info?.total_count;
  t.is(logged, 1 + Number(records) + restored);
});

test('createManagement() keeps to the sublevel it is given', async t => {
  const directory = await mkdtemp(path.join(tmpdir(), 'edgehost-management-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const storage = new Level<string, string>(directory);
  t.teardown(() => storage.close());
  await storage.put('bucket/key', 'of another part');
  const api = makeApi({ storage: asStorage(storage.sublevel('management', {})) });
  const zone = await api.zone();
  await api.call('POST', `/zones/${zone}/dns_records`, { type: 'TXT', name: 'a', content: 'x' });
  t.is((await api.call('DELETE', `/zones/${zone}`)).status, 200);
  const keys = await storage.keys().all();
  t.true(keys.length > 1);
  t.true(keys.every(key => key === 'bucket/key' || key.startsWith('!management!')));
});
