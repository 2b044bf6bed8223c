/** What one application of a storage directory takes over the management API is in force in all of them. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, HostManagement } from '../../src/index.js';
import { newHost, textOf } from '../host/new-host.js';
import { until } from './spawn/with-backend.js';

const TOKEN = 'x'.repeat(40);

interface Application {
  readonly host: EdgeHost;
  readonly api: HostManagement;
  call(method: string, path: string, body?: object): Promise<{ id: string }>;
  upload(name: string, source: string): Promise<void>;
  /** What the function answers here; undefined while there is none. */
  answer(name?: string): Promise<string | undefined>;
}

function applications(t: ExecutionContext): () => Application {
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return () => {
    const host = newHost(t, { storage, backend: 'process' });
    host.account('acme', { zones: ['example.com'] });
    const tokens = [{ name: 'all', token: TOKEN, account: 'acme', permissions: 'all' as const }];
    const api = host.management({ tokens });
    const send = async (method: string, path: string, body?: string | FormData): Promise<{ id: string }> => {
      const headers = new Headers({ authorization: `Bearer ${TOKEN}` });
      if (typeof body === 'string') headers.set('content-type', 'application/json');
      const request = new Request(`http://api${path}`, { method, headers, ...(body !== undefined && { body }) });
      const response = await api(request);
      const text = await response.text();
      t.true(response.ok, text);
      return JSON.parse(text).result;
    };
    return {
      host,
      api,
      call: (method, path, body) => send(method, path, body && JSON.stringify(body)),
      async upload(name, source) {
        const form = new FormData();
        form.set('metadata', JSON.stringify({ main_module: 'index.js' }));
        form.set('index.js', new File([source], 'index.js', { type: 'application/javascript+module' }));
        await send('PUT', `/accounts/acme/functions/${name}`, form);
      },
      async answer(name = 'hello') {
        const fn = host.account('acme').function(name);
        return fn === undefined ? undefined : textOf(fn.fetch('http://x/'));
      },
    };
  };
}

const saying = (word: string): string =>
  `export default { fetch: (request, env) => new Response('${word}' + (env.SECRET ?? '')), scheduled() {} }`;

test('functions, secrets, schedules, zones and routes follow, and so does their end', async t => {
  const next = applications(t);
  const [one, two] = [next(), next()];
  await Promise.all([one.api.restore(), two.api.restore()]);
  await one.upload('hello', saying('first'));
  await until(async () => (await two.answer()) === 'first');
  await two.upload('hello', saying('second'));
  await until(async () => (await one.answer()) === 'second');
  await one.call('PUT', '/accounts/acme/functions/hello/secrets', { name: 'SECRET', text: '!' });
  await until(async () => (await two.answer()) === 'second!');
  await two.call('PUT', '/accounts/acme/functions/hello/schedules', [{ cron: '0 0 1 1 *' }] as object);
  const crons = (): number | undefined =>
    one.host
      .account('acme')
      .usage()
      .quotas.find(({ id }) => id === 'cronTriggers')?.used;
  await until(() => crons() === 1);
  const zone = await one.call('POST', '/zones', { name: 'example.com', account: { id: 'acme' } });
  const route = await one.call('POST', `/zones/${zone.id}/routes`, { pattern: 'example.com/*', function: 'hello' });
  const routed = async (): Promise<string | undefined> => {
    const response = await two.host.fetch(new Request('http://example.com/a')).catch(() => undefined);
    return response?.text();
  };
  await until(async () => (await routed()) === 'second!');
  await two.call('DELETE', `/zones/${zone.id}/routes/${route.id}`);
  await two.call('DELETE', '/accounts/acme/functions/hello');
  await until(async () => (await one.answer()) === undefined);
});

test('what an application has missed while the backend process was gone is in force with the next one', async t => {
  const next = applications(t);
  const [one, two] = [next(), next()];
  await Promise.all([one.api.restore(), two.api.restore()]);
  for (let round = 0; round < 2; round++) {
    const uploaded = one
      .upload('hello', saying(`round ${round}`))
      .catch(() => one.upload('hello', saying(`round ${round}`)));
    const { backend } = two.host.health();
    if (backend?.pid !== undefined) process.kill(backend.pid, 'SIGKILL');
    await uploaded;
    await until(async () => (await two.answer().catch(() => '')) === `round ${round}`);
  }
  const third = next();
  t.like(await third.api.restore(), { restored: 1, failed: [] });
  t.is(await third.answer(), 'round 1');
});
