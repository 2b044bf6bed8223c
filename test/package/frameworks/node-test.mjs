import { strict as assert } from 'node:assert';
import { mock, test } from 'node:test';
import { EdgeHost } from 'edgehost';

test('the host works while timers are faked', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'] });
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
    assert.equal(await (await fn.fetch('https://plugin/')).text(), 'kept');
    await faked.close();
  } finally {
    mock.timers.reset();
  }
});
