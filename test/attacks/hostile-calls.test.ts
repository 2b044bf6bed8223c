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

const ROOM = `
  import { StatefulObject } from 'edgehost:workers';
  export class Room extends StatefulObject {
    async kept() {
      await this.ctx.storage.put('value', 'NEIGHBOUR-OBJECT');
      return this.ctx.storage.get('value');
    }
  }`;

for (const backend of ['inline', 'process'] as const) {
  test(`calls of services that no client makes are refused, with backend: '${backend}'`, async t => {
    t.timeout(120_000);
    const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
    const limits = { subrequests: 100_000, internalSubrequests: 100_000, cpuMs: 60_000 };
    const warnings: unknown[] = [];
    const neighbourhood = await openNeighbourhood({ storage, backend, limits, usage: false });
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
        await env.DB.exec('CREATE TABLE IF NOT EXISTS t (v)');
        await env.DB.prepare('INSERT INTO t VALUES (?)').bind('NEIGHBOUR-ROW').run();
        return new Response(await env.KV.get('secret') + await env.ROOM.getByName('secret').kept());`).concat(ROOM),
      { kv: { KV: 'pairs' }, sql: { DB: 'main' }, objects: { ROOM: { class: 'Room' } } },
    );
    t.is(await (await keeper.fetch('http://x/')).text(), 'NEIGHBOUR-VALUENEIGHBOUR-OBJECT');
    const rig = await hijackedHost(t, neighbourhood, inJavaScript(), {
      kv: { KV: 'pairs' },
      queues: { JOBS: 'jobs' },
      services: { OTHER: 'other' },
      bindings: { APP: { add: () => 1 } },
      sql: { DB: 'main' },
      objects: { ROOM: { class: 'Room', function: 'rooms' } },
    });
    const other = `import { FunctionEntrypoint } from 'edgehost:workers';
      export default class extends FunctionEntrypoint { fetch() { return new Response('other'); } method(value) { return value; } }`;
    const account = host.account(rig.attacker);
    await account.load(other, { name: 'other' });
    await account.load(handler('').concat(ROOM), { name: 'rooms', objects: { ROOM: { class: 'Room' } } });
    const response = await rig.attack('/calls', new AbortController().signal);
    const summary = JSON.parse(await response.text());
    t.log(summary);
    t.is(summary.texts, '');
    t.is(summary.untyped, '');
    t.true(summary.answered > 50 && summary.failed > 500, JSON.stringify(summary));
    t.is(await (await keeper.fetch('http://x/')).text(), 'NEIGHBOUR-VALUENEIGHBOUR-OBJECT');
    await account.kv('pairs').put('again', 'works');
    t.is(await account.kv('pairs').get('again'), 'works');
    t.is(host.health().cells.length > 0, true);
    t.deepEqual(warnings, []);
  });
}

const OTHER = `import { FunctionEntrypoint, RpcTarget } from 'edgehost:workers';
  class Target extends RpcTarget { method() { return 'of a target'; } }
  export default class extends FunctionEntrypoint {
    fetch() { return new Response('other'); }
    method() { return new Target(); }
    never() { return new Promise(() => { setTimeout(() => {}, 60_000); }); }
  }`;

for (const backend of ['inline', 'process'] as const) {
  test(`calls that go on by results and stubs which are not there, and answers that no function gives, with backend: '${backend}'`, async t => {
    t.timeout(120_000);
    const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
    const limits = { subrequests: 100_000, internalSubrequests: 100_000, cpuMs: 60_000 };
    const neighbourhood = await openNeighbourhood({ storage, backend, limits, usage: false });
    t.teardown(async () => {
      await neighbourhood.host.close({ drainMs: 0 });
      rmSync(storage, { recursive: true, force: true });
    });
    const { host } = neighbourhood;
    const warnings: unknown[] = [];
    host.on('warning', error => warnings.push(error));
    const rig = await hijackedHost(t, neighbourhood, inJavaScript(), {
      name: 'self',
      services: { OTHER: { account: 'partner', function: 'other' }, SELF: 'self' },
      callers: ['partner'],
    });
    const partner = host.account('partner');
    const other = await partner.load(OTHER, { name: 'other', callers: [rig.attacker] });
    t.is(await (await other.fetch('http://x/')).text(), 'other');
    const caller = await partner.load(
      handler(`
        // Some are never answered. On a busy machine the first refusal takes a while, too.
        let give = () => {};
        const givenUp = new Promise(resolve => { give = resolve; });
        setTimeout(give, 30_000);
        const outcomes = await Promise.allSettled(
          Array.from({ length: 60 }, async (_, at) => {
            const result = env.EVIL.method(at, () => at);
            return at % 2 === 0 ? await result : await result.method();
          }).map(call => {
            call.catch(() => setTimeout(give, 3000));
            return Promise.race([call, givenUp]);
          }));
        return Response.json(outcomes.map(({ status }) => status));`),
      { name: 'caller', services: { EVIL: { account: rig.attacker, function: 'self' } } },
    );
    // What calls hold is given back: that of so many would be more than the account may have the host hold.
    for (let round = 0; round < 4; round++) {
      const response = await rig.attack('/pipelines', new AbortController().signal);
      const summary = JSON.parse(await response.text());
      if (round === 0) t.log(summary);
      t.is(summary.texts, '');
      t.is(summary.answered + summary.failed, summary.calls);
      t.true(summary.failed > 500, JSON.stringify(summary));
    }
    // Of another account, which calls it with the leave of both.
    const outcomes = JSON.parse(await (await caller.fetch('http://x/')).text());
    t.is(outcomes.length, 60);
    t.true(outcomes.includes('rejected'));
    t.is(await (await other.fetch('http://x/')).text(), 'other');
    for (const fn of neighbourhood.neighbours) t.is(await (await fn.fetch('http://x/')).text(), 'innocent');
    t.deepEqual(warnings, []);
  });
}
