/** Calls on a result that is not there yet: sent at once, and run where the result is made. */
import test from 'ava';
import type { EdgeHost, InvocationEvent } from '../../../src/index.js';
import { ISOLATIONS, newHost, textOf } from '../new-host.js';

const API = `import { FunctionEntrypoint, RpcTarget, StatefulObject } from 'edgehost:workers';
let isReleased = false;
class Door extends RpcTarget {
  #opened = 0;
  open() { this.#opened++; return new Room(this.#opened); }
  pass(f, text) { return f(text + this.#opened); }
  get opened() { return this.#opened; }
  async read(stream) { return await new Response(stream).text(); }
  stream() { return new Response('streamed').body; }
  [Symbol.dispose]() { console.log('closed'); }
}
class Room extends RpcTarget {
  constructor(number) { super(); this.number = number; }
  name() { return 'room ' + this.number; }
}
const methods = Base => class extends Base {
  async door() { while (!isReleased) await scheduler.wait(1); return new Door(); }
  release() { isReleased = true; return 'released'; }
  now() { return new Door(); }
  box() { return { door: new Door(), add: (a, b) => a + b, text: 'text', list: [1, 2] }; }
  plain() { return { text: 'text', list: [1, 2] }; }
  fn() { return (a, b) => a * b; }
  async late() { await scheduler.wait(5); throw new RangeError('no door'); }
  instance() { return new (class Own { name() { return 'own'; } })(); }
  stuck() { return new Promise(() => {}); }
  async burn() { await scheduler.wait(1); for (;;); }
};
export class Thing extends methods(StatefulObject) {}
export default class extends methods(FunctionEntrypoint) {}`;

async function caller(host: EdgeHost, body: string, limits = {}, apiLimits = {}): Promise<string> {
  await host.load(API, { name: 'api', objects: { THING: 'Thing' }, limits: apiLimits });
  const fn = await host.load(
    `const fails = async promise => { try { await promise; return 'no error'; } catch (error) { return error.name + ': ' + error.message; } };
    export default { async fetch(request, env, ctx) {
      const THING = env.THING.getByName('one');
      ${body}
    } };`,
    { name: 'caller', services: { API: 'api' }, objects: { THING: { function: 'api', class: 'Thing' } }, limits },
  );
  return textOf(fn.fetch('http://x/'));
}

/** The methods that were called, in the order in which they began, when there have been so many. */
function begun(host: EdgeHost, count: number): Promise<readonly (string | undefined)[]> {
  const events: InvocationEvent[] = [];
  return new Promise(resolve => {
    host.on('invocation', event => {
      if (event.function !== 'api') return;
      events.push(event);
      if (events.length < count) return;
      // Their ids count up.
      events.sort((a, b) => (a.invocation < b.invocation ? -1 : 1));
      resolve(events.map(({ rpcMethod }) => rpcMethod));
    });
  });
}

for (const isolation of ISOLATIONS) {
  for (const binding of ['env.API', 'THING']) {
    test(`calls by a result begin before the call that makes it has answered: ${binding} (${isolation})`, async t => {
      const host = newHost(t, { isolation });
      const order = begun(host, 6);
      // The first call answers when the last has begun, which is made when the host has seen those before it.
      const body = `const door = ${binding}.door();
        const name = door.open().name();
        const opened = door.opened.then(value => value); // a property is read when it is waited for
        await ${binding}.plain();
        const all = await Promise.all([name, opened, ${binding}.release()]);
        return Response.json(all);`;
      t.is(await caller(host, body), '["room 1",1,"released"]');
      const methods = await order;
      t.deepEqual(methods.toSorted(), ['door', 'name', 'open', 'opened', 'plain', 'release']);
      t.is(methods[0], 'door');
      t.is(methods.at(-1), 'release');
    });
  }
}

test('what a result has is called by its path, and values are read', async t => {
  const body = `const out = [];
    for (const at of [env.API, THING]) {
      const box = at.box();
      out.push(await Promise.all([box.door.open().name(), box.add(1, 2), box.text, box.list, at.fn()(3, 4), box.list.length]));
      const plain = at.plain();
      out.push(await plain.text, await at.plain().list, await plain.text, await fails(plain.text()), await fails(at.plain().missing()));
      await plain;
      out.push(await plain.text, await fails(plain.text.length()));
    }
    return Response.json(out);`;
  const each = [
    ['room 1', 3, 'text', [1, 2], 12, 2],
    'text',
    [1, 2],
    'text',
    'TypeError: "text" is not a function.',
    'TypeError: The RPC receiver does not implement the method "missing".',
    'text',
    'TypeError: The RPC receiver does not implement the method "length".',
  ];
  t.deepEqual(JSON.parse(await caller(newHost(t), body)), [...each, ...each]);
});

test('functions and streams are passed on the way, and results that are streams', async t => {
  const body = `const out = [];
    for (const at of [env.API, THING]) {
      const door = at.now();
      const stream = new Response('bytes').body;
      const streamed = await door.stream();
      out.push(await Promise.all([door.pass(text => 'got ' + text, 'n'), door.read(stream), new Response(streamed).text()]));
    }
    return Response.json(out);`;
  const each = ['got n0', 'bytes', 'streamed'];
  t.deepEqual(JSON.parse(await caller(newHost(t), body)), [each, each]);
});

test('results of stubs, and stubs of a third function, are gone on by', async t => {
  const host = newHost(t);
  await host.load(API, { name: 'third' });
  await host.load(
    `import { FunctionEntrypoint } from 'edgehost:workers';
    export default class extends FunctionEntrypoint { door() { return this.env.THIRD.now(); } }`,
    { name: 'between', services: { THIRD: 'third' } },
  );
  const fn = await host.load(
    `export default { async fetch(request, env) {
      const door = await env.BETWEEN.door();
      return Response.json([await door.open().name(), await env.BETWEEN.door().open().name(), await env.BETWEEN.door().opened]);
    } };`,
    { services: { BETWEEN: 'between' } },
  );
  t.is(await textOf(fn.fetch('http://x/')), '["room 1","room 1",0]');
});

test('those who go on by a call that fails get its error', async t => {
  const body = `const out = [];
    for (const at of [env.API, THING]) {
      out.push(await fails(at.late().open()), await fails(at.late().open().name()), await fails(at.late().text));
      out.push(await fails(at.instance().name()), await fails(at.missing().name()));
    }
    return Response.json(out);`;
  const own =
    'DataCloneError: An instance of a class cannot be passed to another function: extend RpcTarget to pass it by reference';
  const each = [
    ...new Array(3).fill('RangeError: no door'),
    own,
    'TypeError: The RPC receiver does not implement the method "missing".',
  ];
  t.deepEqual(JSON.parse(await caller(newHost(t), body)), [...each, ...each]);
});

test('who goes on by a call that never answers, or is ended, ends with it', async t => {
  const body = `const names = await Promise.all([env.API.stuck().open().then(() => 'none', error => error.code),
      env.API.burn().open().then(() => 'none', error => error.code)]);
    return Response.json(names.every(name => typeof name === 'string' && name.startsWith('EDGE_')) ? 'ended' : names);`;
  t.is(await caller(newHost(t), body, {}, { cpuMs: 20, cpuOverrunMs: 0 }), '"ended"');
});

test('each call is a subrequest, and what a result holds is disposed of with it', async t => {
  const host = newHost(t);
  const closed = new Promise<string>(resolve => {
    host.on('log', ({ message }) => resolve(message));
  });
  const body = `const door = env.API.now();
    const name = door.open().name();
    door[Symbol.dispose]();
    let n = 3, code;
    const value = await name;
    try { for (;; n++) await env.API.now().opened; } catch (error) { code = error.code; }
    return Response.json([value, n, code]);`;
  t.is(await caller(host, body, { subrequests: 50 }), '["room 1",26,"EDGE_SUBREQUEST_LIMIT"]');
  t.is(await closed, 'closed');
});
