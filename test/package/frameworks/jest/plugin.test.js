import { jest } from '@jest/globals';
import { EdgeError, EdgeHost } from 'edgehost';

let host;
beforeAll(() => {
  host = new EdgeHost({ storage: ':memory:' });
  host.on('invocation', () => {});
});
afterAll(() => host.close());

test('a function answers, and keeps an object', async () => {
  const fn = await host.load(
    `export default {
      async fetch(request, env) {
        await env.FILES.put('key', request.body);
        return new Response((await env.FILES.get('key')).body);
      },
    };`,
    { buckets: { FILES: 'files' } },
  );
  const response = await fn.fetch('https://plugin/', { method: 'POST', body: 'kept' });
  expect(await response.text()).toBe('kept');
  expect(await (await host.bucket('files').get('key')).text()).toBe('kept');
});

test('a function that throws rejects with its error', async () => {
  const fn = await host.load('export default { fetch() { throw new RangeError("too far"); } };');
  const error = await fn.fetch(new Request('https://plugin/')).catch(reason => reason);
  expect(error).toBeInstanceOf(EdgeError);
  expect(error.code).toBe('EDGE_HANDLER_THREW');
  expect(error.cause.message).toBe('too far');
});

test('the host works while timers are faked', async () => {
  jest.useFakeTimers({ now: 0 });
  try {
    const faked = new EdgeHost({ storage: ':memory:' });
    const fn = await faked.load(
      `export default {
        async fetch(request, env) {
          await env.KV.put('key', 'kept', { expirationTtl: 60 });
          await new Promise(resolve => setTimeout(resolve, 5));
          return new Response(await env.KV.get('key'));
        },
      };`,
      { kv: { KV: 'names' } },
    );
    expect(await (await fn.fetch('https://plugin/')).text()).toBe('kept');
    await faked.close();
  } finally {
    jest.useRealTimers();
  }
});
