/** Objects whose code, and calls of objects whose sender, wants to do harm. */
import test from 'ava';
import { idFromName, namespaceKey } from '../../../src/bindings/objects/object-id.js';
import { SleepingSockets } from '../../../src/host/hibernation/function-sockets.js';
import { Peer } from '../../../src/host/invocation/peers.js';
import { objectCalls } from '../../../src/host/objects/object-calls.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { ISOLATIONS, newHost } from '../new-host.js';

/** It breaks what the realm's own code could use, then answers as if nothing were. */
const HOSTILE = `import { StatefulObject } from 'edgehost:workers';
const evil = () => { throw new Error('evil'); };
const define = Object.defineProperty;
for (const target of [Map.prototype, Set.prototype, Array.prototype, Promise.prototype, String.prototype]) {
  const keys = Reflect.ownKeys(target);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key === 'constructor' || key === 'then' || key === 'catch' || typeof key === 'symbol') continue;
    try { define(target, key, { value: evil, configurable: true }); } catch {}
  }
}
Object.prototype.o = ['00'];
Object.prototype.b = true;
export class Evil extends StatefulObject {
  n = 0;
  inc() { return ++this.n; }
  get then() { return undefined; }
  throwing() { throw { get name() { throw 1; }, get message() { throw 2; }, toString: evil }; }
  nothing() { throw undefined; }
  leak() { let n = 0; for (let at = this.ctx; at; at = Object.getPrototypeOf(at)) { if (at.constructor.constructor !== Function) throw new Error('a constructor of another realm'); n++; } return n; }
  async stuck() { this.ctx.blockConcurrencyWhile(() => new Promise(() => {})); }
  flood() { for (let i = 0; i < 100_000; i++) this.ctx.waitUntil(new Promise(() => {})); }
}
export class Other extends StatefulObject { inc() { return 'other'; } }
export default { fetch: () => new Response('') };`;

for (const isolation of ISOLATIONS) {
  test(`an object that breaks its realm harms itself alone (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(HOSTILE, { name: 'evil', objects: { EVIL: 'Evil' } });
    const evil = fn.objects('Evil').getByName('a').rpc;
    t.is(await evil.inc(), 1);
    await t.throwsAsync(Promise.resolve(evil.throwing()));
    await t.throwsAsync(Promise.resolve(evil.nothing()));
    t.is(typeof (await evil.leak()), 'number');
    t.is(await evil.inc(), 2);
    await Promise.resolve(evil.flood()).catch(() => {});
    t.is(await fn.objects('Other').getByName('a').rpc.inc(), 'other');
    const good = await host.load(
      `import { StatefulObject } from 'edgehost:workers'; export class Good extends StatefulObject { ok() { return 'ok'; } } export default {}`,
      { name: 'good' },
    );
    t.is(await good.objects('Good').getByName('a').rpc.ok(), 'ok');
  });
}

test('calls that no client of ours makes are refused before anything is looked for', async t => {
  let searches = 0;
  const call = objectCalls(
    'acme',
    () => {
      searches++;
      throw new RangeError('found');
    },
    { idleMs: 1000, sockets: new SleepingSockets() },
  );
  const key = namespaceKey('acme', 'fn', 'Room');
  const id = idFromName(key, 'a');
  const other = idFromName(namespaceKey('other', 'fn', 'Room'), 'a');
  const peer = new Peer(undefined as never, {} as never, undefined as never); // nothing of it is looked at
  const origin = { peer, invocation: '', props: undefined, chain: undefined, calls: { depth: 1, total: { count: 1 } } };
  const send = (args: unknown, from: { readonly origin?: typeof origin } = { origin }): Promise<unknown> => {
    const { signal } = new AbortController();
    return call(
      { class: 'Room', function: 'fn' },
      { method: 'call', args, body: null, signal, work: OWN_WORK, ...from },
    );
  };
  const hostile: unknown[] = [
    undefined,
    null,
    1,
    'o',
    [],
    {},
    { o: id },
    { o: [] },
    { o: [other] },
    { o: [id.toUpperCase()] },
    { o: [`${id}0`] },
  ];
  hostile.push(
    { o: [[id]] },
    { o: [id, 1] },
    { o: [id, 'n'.repeat(1025)] },
    { o: [id, null] },
    { o: { 0: id, length: 1 } },
  );
  for (const args of hostile) await t.throwsAsync(send(args), { instanceOf: TypeError });
  await t.throwsAsync(send({ o: [id] }, {}), { instanceOf: TypeError });
  t.is(searches, 0);
  await t.throwsAsync(send({ o: [id, 'a'] }), { instanceOf: RangeError });
});
