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
