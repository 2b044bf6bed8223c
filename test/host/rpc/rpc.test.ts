/** Calls of methods between functions: entrypoints, values, objects by reference. */
import test from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from '../new-host.js';

const WORKERS = `import { FunctionEntrypoint, RpcTarget } from 'edgehost:workers';`;

const API = `${WORKERS}
class Counter extends RpcTarget {
  #value;
  instanceField = 1;
  constructor(value) { super(); this.#value = value; }
  increment(by = 1) { this.#value += by; return this.#value; }
  get value() { return this.#value; }
  child() { return new Counter(this.#value * 10); }
  [Symbol.dispose]() { console.log('disposed ' + this.#value); }
}
export class Admin extends FunctionEntrypoint { who() { return ['admin', this.ctx.props]; } }
export default class extends FunctionEntrypoint {
  field = 1;
  add(a, b) { return a + b; }
  echo(value) { return value; }
  many(...args) { return args.length; }
  get version() { return 'v' + this.env.VERSION; }
  counter(from) { return new Counter(from); }
  counters() { return { a: new Counter(1), b: new Counter(2), note: 'two' }; }
  adder(by) { return n => n + by; }
  async twice(f) { return [await f(1), await f(2)]; }
  throws() { const error = new RangeError('no'); error.name = 'Own'; throw error; }
  async keep(f) { const kept = f.dup(); return () => kept('later'); }
  back(f) { return f; }
  stream() { return new ReadableStream({ type: 'bytes', start(c) { c.enqueue(new TextEncoder().encode('abc')); c.close(); } }); }
  async text(stream) { return new Response(stream).text(); }
  async texts(a, b) { return [await new Response(a).text(), await new Response(b).text()]; }
  async write(writable) { const w = writable.getWriter(); await w.write(new TextEncoder().encode('hello')); await w.close(); return 'written'; }
  response() { return new Response('body', { status: 202, headers: { 'x-a': 'b' } }); }
  async request(r) { return [r.method, r.url, r.headers.get('x-a'), await r.text()]; }
  instance() { return new (class Own {})(); }
  undef() {}
  fetch() { return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(1)); } })); }
}`;

async function caller(host: EdgeHost, body: string, api = API): Promise<string> {
  await host.load(api, { name: 'api', vars: { VERSION: 2 } });
  const fn = await host.load(
    `${WORKERS} const fails = async promise => { try { await promise; return 'no error'; } catch (error) { return error.name + ': ' + error.message; } };
    export default { async fetch(request, env, ctx) { ${body} } };`,
    { name: 'caller', services: { API: 'api', ADMIN: { function: 'api', entrypoint: 'Admin', props: { role: 'é' } } } },
  );
  return textOf(fn.fetch('http://x/'));
}

for (const isolation of ISOLATIONS) {
  test(`a function calls methods and reads properties of another (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    t.is(
      await caller(
        host,
        'return Response.json([await env.API.add(1, 2), await env.API.version, await env.ADMIN.who(), await env.API.many(1, 2, 3), (await env.API.undef()) === undefined]);',
      ),
      '[3,"v2",["admin",{"role":"é"}],3,true]',
    );
  });
}

test('values are cloned, with what JSON has not', async t => {
  const body = `const value = { d: new Date(5), m: new Map([[1, new Set(['ü'])]]), n: [NaN, -0, 10n ** 30n, undefined], b: new Uint8Array([1, 2]), e: new TypeError('t') };
    value.self = value;
    const back = await env.API.echo(value);
    return Response.json([back.d.getTime(), [...back.m.get(1)], Number.isNaN(back.n[0]), Object.is(back.n[1], -0), String(back.n[2]), [...back.b], back.e instanceof TypeError, back.self === back]);`;
  t.is(await caller(newHost(t), body), '[5,["ü"],true,true,"1000000000000000000000000000000",[1,2],true,true]');
});

test('only methods of the prototype can be called', async t => {
  const body = `const c = await env.API.counter(1);
    return Response.json([await fails(env.API.field), await fails(env.API.hasOwnProperty('x')), await fails(env.API.constructor()), await fails(env.API.nope()), await fails(c.instanceField), await fails(env.API.version())]);`;
  t.deepEqual(JSON.parse(await caller(newHost(t), body)), [
    'TypeError: The RPC receiver does not implement the method "field".',
    'TypeError: The RPC receiver does not implement the method "hasOwnProperty".',
    `TypeError: 'constructor' is a reserved method and cannot be called over RPC.`,
    'TypeError: The RPC receiver does not implement the method "nope".',
    'TypeError: The RPC receiver does not implement the method "instanceField".',
    'TypeError: "version" is not a function.',
  ]);
});

test('errors keep their name and message', async t => {
  t.is(await caller(newHost(t), 'return new Response(await fails(env.API.throws()));'), 'Own: no');
});

test('what cannot be cloned is a DataCloneError on the side that sends it', async t => {
  const body =
    'return Response.json([await fails(env.API.echo(Symbol())), await fails(env.API.echo(new WeakMap())), await fails(env.API.echo(new (class A {})())), await fails(env.API.instance())]);';
  const errors: string[] = JSON.parse(await caller(newHost(t), body));
  for (const error of errors) t.regex(error, /^DataCloneError: /);
});

test('an RpcTarget is passed by reference, and its methods can be called before it is there', async t => {
  const body = `const c = await env.API.counter(5);
    const first = [await c.increment(), await c.increment(2), await c.value];
    const pipelined = [await env.API.counter(7).increment(), await env.API.counter(2).child().child().value];
    const { a, b, note } = await env.API.counters();
    return Response.json([first, pipelined, await a.increment(), await b.increment(), note]);`;
  t.is(await caller(newHost(t), body), '[[6,8,8],[8,200],2,3,"two"]');
});

test('functions are passed by reference in both directions', async t => {
  const body = `const add = await env.API.adder(10);
    const calls = [];
    const result = await env.API.twice(n => { calls.push(n); return n * 3; });
    const own = await env.API.back(() => 'own');
    return Response.json([await add(1), result, calls, await own()]);`;
  t.is(await caller(newHost(t), body), '[11,[3,6],[1,2],"own"]');
});

test('a parameter ends with its call unless it was duplicated', async t => {
  const body = `const log = [];
    const later = await env.API.keep(text => { log.push(text); return 'ok'; });
    return Response.json([await later(), log]);`;
  t.is(await caller(newHost(t), body), '["ok",["later"]]');
});

test('a stub that was disposed of cannot be used, a duplicate can', async t => {
  const body = `const c = await env.API.counter(1);
    const d = c.dup();
    c[Symbol.dispose]();
    return Response.json([await fails(c.increment()), await d.increment()]);`;
  t.is(await caller(newHost(t), body), '["TypeError: RPC stub used after being disposed.",2]');
});

test('the target is disposed of when its last stub is', async t => {
  const host = newHost(t);
  const logged = new Promise<string>(resolve => {
    host.on('log', ({ message }) => resolve(message));
  });
  const over = nextInvocation(host, event => event.function === 'api' && event.subrequests === 0 && event.logLines > 0);
  const body = `const c = await env.API.counter(3); c[Symbol.dispose](); return new Response('done');`;
  t.is(await caller(host, body), 'done');
  t.is(await logged, 'disposed 3');
  t.is((await over).outcome, 'ok');
});

test('a method is ok when its caller ends without disposing what it got, or never waited for it', async t => {
  const host = newHost(t);
  await host.load(API, { name: 'api' });
  const fn = await host.load(
    handler(
      'await (await env.API.counter(5)).increment(); await env.API.counter(7).increment(); return new Response()',
    ),
    { name: 'caller', services: { API: 'api' } },
  );
  const outcomes: string[] = [];
  const all = new Promise<void>(resolve => {
    host.on('invocation', event => {
      if (event.function === 'api') outcomes.push(event.outcome);
      if (outcomes.length === 4) resolve();
    });
  });
  await textOf(fn.fetch('http://x/'));
  await all;
  t.deepEqual(outcomes, ['ok', 'ok', 'ok', 'ok']);
});

for (const backend of ['inline', 'process'] as const) {
  test(`what a caller leaves unread and undisposed is not held when it is over (${backend})`, async t => {
    const host = newHost(t, { backend, ...(backend === 'process' && { storage: await temporaryDirectory(t) }) });
    const account = host.account('acme', { hostBytes: 2 ** 20 });
    await account.load(API, { name: 'api' });
    const fn = await account.load(
      handler(`for (let i = 0; i < 4; i++) {
        await env.API.counter(1).increment();
        await env.API.counters();
        await env.API.fetch('http://api/');
      }
      return new Response('done');`),
      { name: 'caller', services: { API: 'api' } },
    );
    // Each call that is under way is counted with 5 KiB.
    for (let round = 0; round < 40; round++) t.is(await textOf(fn.fetch('http://x/')), 'done');
  });
}

test('the end of the caller ends what it holds', async t => {
  const host = newHost(t);
  const over = nextInvocation(host, event => event.function === 'api');
  t.is(await caller(host, `await env.API.counter(3); return new Response('done');`), 'done');
  t.is((await over).function, 'api');
});

test('streams are passed as arguments and results', async t => {
  const body = `const bytes = text => new Response(text).body;
    const { readable, writable } = new TransformStream();
    const got = new Response(readable).text();
    return Response.json([await new Response(await env.API.stream()).text(), await env.API.text(bytes('in')), await env.API.texts(bytes('a'), bytes('b')), await env.API.write(writable), await got]);`;
  t.is(await caller(newHost(t), body), '["abc","in",["a","b"],"written","hello"]');
});

test('Request, Response and Headers are passed', async t => {
  const body = `const response = await env.API.response();
    const sent = await env.API.request(new Request('http://y/z', { method: 'POST', body: 'sent', headers: { 'x-a': '1' } }));
    const headers = await env.API.echo(new Headers({ 'x-b': '2' }));
    return Response.json([response.status, response.headers.get('x-a'), await response.text(), sent, headers.get('x-b')]);`;
  t.is(await caller(newHost(t), body), '[202,"b","body",["POST","http://y/z","1","sent"],"2"]');
});

test('a handler of an object takes exactly one argument', async t => {
  const api =
    'export default { fetch() {}, double(n, env, ctx) { return [n * 2, env.VERSION, typeof ctx.waitUntil]; } };';
  const body =
    'return Response.json([await env.API.double(4), await fails(env.API.double()), await fails(env.API.double(1, 2))]);';
  const [ok, none, two] = JSON.parse(await caller(newHost(t), body, api));
  t.deepEqual(ok, [8, 2, 'function']);
  t.regex(none, /TypeError: Cannot call the handler function "double" over RPC with 0 arguments/);
  t.regex(two, /with 2 arguments/);
});

test('each call is a subrequest, those of stubs too, and an object of 32 levels is the deepest', async t => {
  const host = newHost(t);
  await host.load(API, { name: 'api' });
  const fn = await host.load(
    handler(`const c = await env.API.counter(0); let n = 0, code;
      for (let i = 0; i < 60; i++) try { n = await c.increment(); } catch (error) { code = error.code; break; }
      return Response.json([n, code]);`),
    { services: { API: 'api' }, limits: { subrequests: 50 } },
  );
  t.is(await textOf(fn.fetch('http://x/')), '[49,"EDGE_SUBREQUEST_LIMIT"]');
});

test('functions that call each other by stubs end at 32 levels', async t => {
  const host = newHost(t);
  await host.load(
    `${WORKERS} export default class extends FunctionEntrypoint { bounce(f, n) { return f(g => g, n); } }`,
    { name: 'api' },
  );
  const fn = await host.load(
    `export default { async fetch(request, env) {
      let deepest = 0;
      const down = async n => { deepest = Math.max(deepest, n); return (await env.API.relay(m => down(m), n + 1)); };
      try { await down(0); return new Response('no end'); } catch (error) { return Response.json([deepest > 10 && deepest <= 32, error.code ?? error.message]); }
    } };`,
    { services: { API: 'relay' } },
  );
  await host.load(`${WORKERS} export default class extends FunctionEntrypoint { relay(f, n) { return f(n); } }`, {
    name: 'relay',
  });
  const [isBounded] = JSON.parse(await textOf(fn.fetch('http://x/')));
  t.true(isBounded);
});

test('a function with entrypoints alone needs no handler', async t => {
  const host = newHost(t);
  const api = `${WORKERS} export class Named extends FunctionEntrypoint { hi() { return 'hi'; } }`;
  await host.load(api, { name: 'named' });
  const fn = await host.load(handler('return new Response(await env.N.hi());'), {
    services: { N: { function: 'named', entrypoint: 'Named' } },
  });
  t.is(await textOf(fn.fetch('http://x/')), 'hi');
});
