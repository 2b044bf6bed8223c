/** Events of invocations whose calls another process answers, when the host closes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { newHost } from '../new-host.js';

test('close() resolves when the events of all invocations have been delivered, also of those that it ended', async t => {
  const storage = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  const host = newHost(t, { storage, backend: 'process', usage: false });
  let events = 0;
  let calls = 0;
  host.on('invocation', event => {
    events++;
    calls += event.subrequests;
  });
  const fn = await host.load(
    `export default { async fetch(request, env, ctx) {
      await env.VALUES.get('a');
      ctx.waitUntil((async () => { for (;;) await env.VALUES.get('b'); })());
      return new Response('answered');
    } };`,
    { name: 'f', kv: { VALUES: 'values' }, limits: { subrequests: 100_000, internalSubrequests: 100_000 } },
  );
  const answers = await Promise.all(Array.from({ length: 50 }, () => fn.fetch('http://x/')));
  await host.close({ drainMs: 0 });
  t.is(events, answers.length);
  t.true(calls >= answers.length, String(calls));
});
