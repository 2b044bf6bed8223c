/**
 * A cell that was taken over calls each service in ways that no client does, on its connection to the host or to the services' own process. Nothing that
 * it sends ends the host or shows what another account has, and what the function's account uses goes on working.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { handler } from '../host/new-host.js';
import { hijackedHost, inJavaScript, openNeighbourhood } from './cells/hijack.js';

for (const services of ['inline', 'process'] as const) {
  test(`calls of services that no client makes are refused, with services: '${services}'`, async t => {
    t.timeout(120_000);
    const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
    const limits = { subrequests: 100_000, internalSubrequests: 100_000, cpuMs: 60_000 };
    const warnings: unknown[] = [];
    const neighbourhood = await openNeighbourhood({ storage, services, limits, usage: false });
    t.teardown(async () => {
      await neighbourhood.host.close({ drainMs: 0 });
      rmSync(storage, { recursive: true, force: true });
    });
    const { host } = neighbourhood;
    host.on('warning', error => warnings.push(error));
    const neighbour = host.account('neighbour');
    await neighbour.kv('pairs').put('secret', 'NEIGHBOUR-VALUE', { metadata: 'NEIGHBOUR-METADATA' });
    const keeper = await neighbour.load(
      handler(`
        await caches.default.put('http://neighbour.test/', new Response('NEIGHBOUR-RESPONSE', { headers: { 'cache-control': 'max-age=600' } }));
        await (await caches.open('x')).put('http://neighbour.test/', new Response('NEIGHBOUR-RESPONSE', { headers: { 'cache-control': 'max-age=600' } }));
        return new Response(await env.KV.get('secret'));`),
      { kv: { KV: 'pairs' } },
    );
    t.is(await (await keeper.fetch('http://x/')).text(), 'NEIGHBOUR-VALUE');
    const rig = await hijackedHost(t, neighbourhood, inJavaScript(), {
      kv: { KV: 'pairs' },
      queues: { JOBS: 'jobs' },
      services: { OTHER: 'other' },
      bindings: { APP: { add: () => 1 } },
    });
    const other = `import { FunctionEntrypoint } from 'edgehost:workers';
      export default class extends FunctionEntrypoint { fetch() { return new Response('other'); } method(value) { return value; } }`;
    const account = host.account(rig.attacker);
    await account.load(other, { name: 'other' });
    const response = await rig.attack('/calls', new AbortController().signal);
    const summary = JSON.parse(await response.text());
    t.log(summary);
    t.is(summary.texts, '');
    t.true(summary.answered > 50 && summary.failed > 500, JSON.stringify(summary));
    t.is(await (await keeper.fetch('http://x/')).text(), 'NEIGHBOUR-VALUE');
    await account.kv('pairs').put('again', 'works');
    t.is(await account.kv('pairs').get('again'), 'works');
    t.is(host.health().cells.length > 0, true);
    t.deepEqual(warnings, []);
  });
}
