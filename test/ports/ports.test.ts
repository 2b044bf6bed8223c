/** Functions as people bring them from other platforms, unchanged: what runs here, and what authors read about what does not. */
import { createHash, createHmac } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction, LoadOptions } from '../../src/index.js';
import { newHost, textOf } from '../host/new-host.js';
import { ABSENT, type Absent, RUNNING } from './functions.js';

const ORIGIN = 'https://function.example';

/** Everything that the functions fetch is answered here. */
async function load(t: ExecutionContext, source: string, options: LoadOptions = {}): Promise<EdgeFunction> {
  const host = newHost(t, {
    outbound: async request => {
      if (new URL(request.url).pathname !== '/token') return new Response('PNG');
      return Response.json({ code: new URLSearchParams(await request.text()).get('code') });
    },
  });
  host.on('invocation', () => {});
  return host.load(source, { buckets: { FILES: 'files' }, secrets: { SECRET: 'a secret' }, ...options });
}

test('a proxy of images sets Cache-Control, and its `cf` option does no harm', async t => {
  const fn = await load(t, RUNNING.imageProxy);
  const response = await fn.fetch(ORIGIN);
  t.is(response.headers.get('cache-control'), 'max-age=1500');
  t.is(await response.text(), 'PNG');
});

test('a form is stored, and read by range and by condition', async t => {
  const fn = await load(t, RUNNING.uploads);
  const form = new FormData();
  form.append('file', new File(['hello world'], 'a.txt', { type: 'text/plain' }));
  const digest = createHash('sha256').update('hello world').digest('hex');
  t.is(await textOf(fn.fetch(ORIGIN, { method: 'POST', body: form })), digest);
  const stored = await fn.fetch(`${ORIGIN}/a.txt`);
  t.deepEqual([await stored.text(), stored.headers.get('content-type')], ['hello world', 'text/plain']);
  t.is(await textOf(fn.fetch(`${ORIGIN}/a.txt`, { headers: { range: 'bytes=0-4' } })), 'hello');
  const etag = stored.headers.get('etag') ?? '';
  t.is((await fn.fetch(`${ORIGIN}/a.txt`, { headers: { 'if-none-match': etag } })).status, 304);
  t.is(await textOf(fn.fetch(ORIGIN)), '["a.txt"]');
});

test('a login by OAuth with PKCE keeps its state in a signed cookie', async t => {
  const fn = await load(t, RUNNING.login);
  const cookie = (await fn.fetch(`${ORIGIN}/login`)).headers.getSetCookie()[0]?.split(';')[0] ?? '';
  t.is(await textOf(fn.fetch(`${ORIGIN}/?code=7`, { headers: { cookie } })), '{"code":"7"}');
  const forged = `${cookie.slice(0, -6)}AAAAAA`;
  t.is((await fn.fetch(`${ORIGIN}/?code=7`, { headers: { cookie: forged } })).status, 400);
});

test('a webhook checks its signature in constant time', async t => {
  const fn = await load(t, RUNNING.webhook);
  const sign = (secret: string): string => createHmac('sha256', secret).update('1700000000.{}').digest('hex');
  const send = (secret: string): Promise<string> =>
    textOf(
      fn.fetch(ORIGIN, { method: 'POST', body: '{}', headers: { 'x-signature': `t=1700000000,v1=${sign(secret)}` } }),
    );
  t.deepEqual([await send('a secret'), await send('another')], ['ok', 'bad']);
});

test('a stream that waitUntil writes to is the answer', async t => {
  const { body } = await (await load(t, RUNNING.tokens)).fetch(ORIGIN);
  let text = '';
  for await (const chunk of body ?? []) text += Buffer.from(chunk).toString();
  t.is(text, 'data: a\n\ndata: b\n\ndata: c\n\n');
});

test('a cron trigger stores what a request reads', async t => {
  const fn = await load(t, RUNNING.cron, { crons: ['0 4 * * *'] });
  await fn.scheduled({ cron: '0 4 * * *' });
  t.is(await textOf(fn.fetch(ORIGIN)), '0 4 * * *');
});

test('a consumer of a queue says which messages come again', async t => {
  const fn = await load(t, RUNNING.consumer);
  const messages = ['good', 'bad'].map(body => ({ id: body, body }));
  const outcome = await fn.queue('jobs', messages);
  t.deepEqual(
    outcome.retries.map(({ id, delaySeconds }) => [id, delaySeconds]),
    [['bad', 5]],
  );
});

test('a classic script has its variables as globals', async t => {
  const fn = await load(t, RUNNING.classic, { vars: { GREETING: 'hi' } });
  t.is(await textOf(fn.fetch(`${ORIGIN}/path`)), 'hi /path');
});

for (const [name, absent] of Object.entries<Absent>(ABSENT)) {
  test(`a function that needs ${name} says so`, async t => {
    const { code, text, hasNode = true } = absent;
    const options = hasNode ? {} : { compatibilityFlags: ['no_nodejs_compat'] };
    const failed = async (): Promise<unknown> => (await load(t, absent.source, options)).fetch(ORIGIN);
    const error = await t.throwsAsync(failed, { code });
    t.true(error.message.includes(text), error.message);
  });
}
