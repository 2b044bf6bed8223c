/** Queues in the management API, of a host. */
import test, { type ExecutionContext } from 'ava';
import { newHost } from '../host/new-host.js';
import { deferred } from '../host/queues/consumers.js';

interface Answer {
  readonly result: never;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
}

interface Called {
  readonly status: number;
  readonly result: Readonly<Record<string, unknown>>;
  readonly errors: Answer['errors'];
}

async function openApi(t: ExecutionContext, permissions = ['queues:edit', 'functions:edit']) {
  const host = newHost(t);
  const acme = host.account('acme', { limits: { storageBytes: 1000 } });
  const api = host.management();
  const { value } = await api.issueToken({ name: 'test', account: 'acme', permissions: permissions as never[] }); // what the test says
  const call = async (method: string, path: string, body?: unknown): Promise<Called> => {
    const isForm = body instanceof FormData;
    const response = await api(
      new Request(`http://localhost/accounts/acme${path}`, {
        method,
        headers: { Authorization: `Bearer ${value}`, ...(!isForm && { 'Content-Type': 'application/json' }) },
        ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
      }),
    );
    const { result, errors }: Answer = JSON.parse(await response.text());
    return { status: response.status, result, errors };
  };
  return { host, acme, call };
}

test('queues are made, listed, changed and deleted', async t => {
  const { acme, call } = await openApi(t);
  t.like(await call('POST', '/queues', { queue_name: 'jobs', settings: { delivery_delay: 5 } }), { status: 201 });
  t.is((await call('POST', '/queues', { queue_name: 'jobs' })).status, 409);
  t.is((await call('POST', '/queues', { queue_name: 'Not valid' })).status, 400);
  t.is((await call('GET', '/queues/none')).status, 404);
  const paused = await call('PATCH', '/queues/jobs', { settings: { delivery_paused: true, delivery_delay: 0 } });
  t.like(paused.result, {
    queue_name: 'jobs',
    settings: { delivery_delay: 0, message_retention_period: 345_600, delivery_paused: true },
    backlog_count: 0,
    oldest_message_timestamp_ms: null,
  });
  const listed: unknown = (await call('GET', '/queues')).result;
  t.like(listed, { 0: { queue_name: 'jobs' }, length: 1 });
  await acme.queue('jobs').send('x');
  t.like((await call('POST', '/queues/jobs/purge')).result, { deleted: 1 });
  t.is((await call('DELETE', '/queues/jobs')).status, 200);
  t.is((await call('DELETE', '/queues/jobs')).status, 404);
});

test('messages are sent, pulled and settled', async t => {
  const { acme, call } = await openApi(t);
  await call('POST', '/queues', { queue_name: 'jobs' });
  t.like((await call('POST', '/queues/jobs/messages', { body: { a: 1 } })).result, {
    backlog_count: 1,
    backlog_bytes: 7,
  });
  const messages = [
    { body: 'text', content_type: 'text' },
    { body: 'AQL/', content_type: 'bytes' },
  ];
  t.is((await call('POST', '/queues/jobs/messages/batch', { messages })).status, 200);
  const pulled = await call('POST', '/queues/jobs/messages/pull', { batch_size: 2, visibility_timeout_ms: 60_000 });
  t.like(pulled.result, {
    message_backlog_count: 3,
    messages: { 0: { body: '{"a":1}', content_type: 'json', attempts: 1 }, 1: { body: 'text' } },
  });
  const [first, second] = pulled.result.messages as readonly { lease_id: string }[]; // as was just compared
  const settled = await call('POST', '/queues/jobs/messages/ack', {
    acks: [{ lease_id: first?.lease_id }, { lease_id: 'none' }],
    retries: [{ lease_id: second?.lease_id, delay_seconds: 10 }],
  });
  t.like(settled.result, { ack_count: 1, retry_count: 1, warnings: { length: 1 } });
  const [bytes] = await acme.queue('jobs').pull();
  t.deepEqual(bytes?.body, new Uint8Array([1, 2, 255]));
});

test('messages are refused for what is wrong with them, and past the quota of the account', async t => {
  const { call } = await openApi(t);
  await call('POST', '/queues', { queue_name: 'jobs' });
  t.is((await call('POST', '/queues/none/messages', { body: 1 })).status, 404);
  t.is((await call('POST', '/queues/jobs/messages', { body: 1, content_type: 'text' })).status, 400);
  t.is((await call('POST', '/queues/jobs/messages', { body: 1, delay_seconds: 43_201 })).status, 400);
  t.true((await call('POST', '/queues/jobs/messages', { body: 'x'.repeat(1000) })).status >= 400);
  t.like((await call('GET', '/queues/jobs')).result, { backlog_count: 0 });
});

test('a token that may read queues sends nothing and sees how much there is', async t => {
  const { acme, call } = await openApi(t, ['queues:read']);
  await acme.queue('jobs').send('x');
  t.like((await call('GET', '/queues/jobs')).result, { backlog_count: 1 });
  for (const [method, path, body] of [
    ['POST', '/queues/jobs/messages', { body: 1 }],
    ['POST', '/queues/jobs/messages/pull', {}],
    ['POST', '/queues/jobs/purge', undefined],
    ['DELETE', '/queues/jobs', undefined],
  ] as const) {
    t.is((await call(method, path, body)).status, 403, path);
  }
});

test('a function consumes the queues that the API gives it, and keeps them over an upload', async t => {
  const { host, acme, call } = await openApi(t);
  const script = (word: string): FormData => {
    const form = new FormData();
    form.set(
      'metadata',
      JSON.stringify({ main_module: 'a.js', bindings: [{ type: 'queue', name: 'NEXT', queue_name: 'next' }] }),
    );
    const source = `export default { async queue(batch, env) { for (const { body } of batch.messages) console.log('${word} ' + body) } }`;
    form.set('a.js', new File([source], 'a.js', { type: 'application/javascript+module' }));
    return form;
  };
  t.is((await call('PUT', '/functions/worker', script('first'))).status, 200);
  const consumers = [{ queue: 'jobs', max_batch_timeout: 0, max_batch_size: 1 }];
  t.is((await call('PUT', '/functions/worker/consumers', consumers)).status, 200);
  const kept: unknown = (await call('GET', '/functions/worker/consumers')).result;
  t.deepEqual(kept, consumers);
  t.like((await call('GET', '/queues/jobs/consumers')).result, { 0: { function: 'worker' } });
  let heard = deferred<string>();
  host.on('log', ({ message }) => heard.resolve(message));
  await acme.queue('jobs').send('a');
  t.is(await heard.promise, 'first a');
  t.is((await call('PUT', '/functions/worker', script('second'))).status, 200);
  heard = deferred();
  await acme.queue('jobs').send('b');
  t.is(await heard.promise, 'second b');
  t.is((await call('PUT', '/functions/worker/consumers', [{ queue: 'a' }, { queue: 'a' }])).status, 400);
  t.is((await call('PUT', '/functions/worker/consumers', [])).status, 200);
  await acme.queue('jobs').send('c');
  t.like((await acme.queue('jobs').pull())[0], { body: 'c' });
});
