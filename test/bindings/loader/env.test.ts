/** The environment, the network and the limits of code that functions load. */
import test from 'ava';
import { ISOLATIONS, newHost, nextInvocation, textOf } from '../../host/new-host.js';
import { jsonOf, loadLoading } from './loader.js';

const GREETER = `
export class Greeter extends FunctionEntrypoint { greet() { return 'Hello, ' + this.ctx.props.name; } fetch(request) { return new Response(this.ctx.props.name + ' ' + request.url); } }`;
const CALL_ENV = `import { WorkerEntrypoint } from 'cloudflare:workers';
  export default class extends WorkerEntrypoint { keys() { return Object.keys(this.env); } greet() { return this.env.GREETER.greet(); } deep() { return this.env.api.GREETER.greet(); } env_() { const { GREETER, api, ...rest } = this.env; return rest; } }`;

for (const isolation of ISOLATIONS) {
  test(`the env of loaded code has values and services (${isolation})`, async t => {
    const body = `
      const GREETER = ctx.exports.Greeter({ props: { name: 'Alice' } });
      const map = new Map([['a', 1n]]);
      const code = js(${JSON.stringify(CALL_ENV)}, { env: { text: 'é', map, bytes: new Uint8Array([0, 255]), GREETER, api: { GREETER } } });
      const entry = env.LOADER.load(code).getEntrypoint();
      const values = await entry.env_();
      return Response.json([await entry.keys(), await entry.greet(), await entry.deep(), values.text, String(values.map.get('a')), [...values.bytes]]);`;
    t.deepEqual(await jsonOf(newHost(t, { isolation }), body, { more: GREETER }), [
      ['text', 'map', 'bytes', 'GREETER', 'api'],
      'Hello, Alice',
      'Hello, Alice',
      'é',
      '1',
      [0, 255],
    ]);
  });

  test(`globalOutbound decides where fetch() goes (${isolation})`, async t => {
    const host = newHost(t, { isolation, outbound: request => new Response(`network ${request.url}`) });
    const body = `
      const code = more => js('export default { async fetch() { try { return await fetch("http://far.example/a"); } catch (error) { return new Response(error.code + ": " + error.message); } } }', more);
      const texts = [];
      for (const more of [{}, { globalOutbound: null }, { globalOutbound: ctx.exports.Greeter({ props: { name: 'proxy' } }) }, { globalOutbound: env.PEER }])
        texts.push(await (await env.LOADER.load(code(more)).getEntrypoint().fetch('http://y/')).text());
      return Response.json(texts);`;
    await host.load('export default { fetch: request => new Response("peer " + request.url) }', { name: 'peer' });
    const texts = await jsonOf(host, body, { more: GREETER, options: { services: { PEER: 'peer' } } });
    t.deepEqual(texts, [
      'network http://far.example/a',
      'EDGE_EGRESS_DENIED: Cannot fetch http://far.example:80 (GET): the code was loaded without a network of its own (its globalOutbound, a service that fetch() calls, or none, would allow it)',
      'proxy http://far.example/a',
      'peer http://far.example/a',
    ]);
  });
}

test('code without a network opens no sockets, and reaches no function of the host by its URL', async t => {
  const host = newHost(t);
  await host.load('export default { fetch: () => new Response("local") }', {
    name: 'local',
    routes: [{ pattern: 'local.example/*', customDomain: true }],
  });
  const body = `
    const code = js(\`import { connect } from 'cloudflare:sockets';
      const why = async work => { try { await work(); return 'done'; } catch (error) { return error.code ?? error.message; } };
      export default { async fetch() { return Response.json([
        await why(() => fetch('http://local.example/')), await why(() => connect('127.0.0.1:9').opened),
        await why(() => new Promise((_, reject) => { new WebSocket('ws://local.example/').onerror = event => reject(new Error('no socket')); })),
        await why(() => caches.default.match('http://local.example/')) ]); } }\`, { globalOutbound: null });
    return env.LOADER.load(code).getEntrypoint().fetch('http://y/');`;
  t.deepEqual(await jsonOf(host, body), [
    'EDGE_EGRESS_DENIED',
    'EDGE_EGRESS_DENIED',
    'no socket',
    'EDGE_NOT_SUPPORTED',
  ]);
});

test('a function, a stub, an instance and a binding of another kind cannot be in the env', async t => {
  const body = `
    class Own { x = 1; }
    const load = value => fails(() => env.LOADER.load(js(HELLO, { env: { value } })).getEntrypoint().fetch('http://y/'));
    const circle = {}; circle.self = circle;
    return Response.json([
      await load(() => 1), await load(new Own()), await load(env.KV), await load(new ReadableStream()), await load(Symbol()),
      await load(env.LOADER.load(js(HELLO)).getEntrypoint()), await load(circle), await load({ get x() { throw new RangeError('read'); } }),
      await load('x'.repeat(2 ** 20)), await load(JSON.parse('{"__proto__":1}')),
    ].map(text => text.slice(0, 70)));`;
  t.deepEqual(await jsonOf(newHost(t), body, { options: { kv: { KV: 'kv' } } }), [
    '25: DataCloneError: The env of LOADER.load() has a function or a stub,',
    '25: DataCloneError: The env of LOADER.load() has an instance of a clas',
    '25: DataCloneError: The env of LOADER.load() has a function or a stub,',
    '25: DataCloneError: The env of LOADER.load() has a stream, which can b',
    '25: DataCloneError: A symbol cannot be in the env of loaded code',
    '25: DataCloneError: The env of LOADER.load() is, or has, an object tha',
    'no error',
    'RangeError: read',
    'RangeError: The env of the loaded code has 1048592 bytes as it is pass',
    '25: DataCloneError: A property named "__proto__" cannot be in the env ',
  ]);
});

test('loaded code loads code only by a loader in its env', async t => {
  const body = `
    const inner = \`export default { async fetch(request, env) { if (env.LOADER === undefined) return new Response('no loader');
      return env.LOADER.load({ mainModule: 'a.js', modules: { 'a.js': 'export default { fetch: () => new Response("inner") }' } }).getEntrypoint().fetch('http://z/'); } }\`;
    const run = more => env.LOADER.load(js(inner, more)).getEntrypoint().fetch('http://y/').then(answer => answer.text());
    return Response.json([await run(), await run({ env: { LOADER: env.LOADER } })]);`;
  t.deepEqual(await jsonOf(newHost(t), body), ['no loader', 'inner']);
});

test('limits of code, and of its entrypoints, can only be lowered', async t => {
  const host = newHost(t, { outbound: () => new Response('') });
  const body = `
    const code = more => js('export default { async fetch(request) { if (request.url.endsWith("spin")) for (;;); for (let i = 0; i < 3; i++) await fetch("http://z/"); return new Response("done"); } }', more);
    const call = async (limits, path, more) => fails(env.LOADER.load(code(more)).getEntrypoint(undefined, { limits }).fetch('http://y/' + path));
    return Response.json([
      (await call(undefined, 'spin', { limits: { cpuMs: 30 } })).slice(0, 14),
      (await call({ cpuMs: 30 }, 'spin')).slice(0, 14),
      (await call(undefined, '', { limits: { subRequests: 2 } })).includes('subrequests'),
      (await call({ subRequests: 2 }, '', { limits: { subRequests: 1_000_000 } })).includes('subrequests'),
      await call({ subRequests: 3 }, ''),
      await fails(() => env.LOADER.load(code()).getEntrypoint(undefined, { limits: { cpuMs: '1' } })),
    ]);`;
  t.deepEqual(await jsonOf(host, body), [
    'EDGE_CPU_LIMIT',
    'EDGE_CPU_LIMIT',
    true,
    true,
    'no error',
    'TypeError: The value of limits.cpuMs of getEntrypoint() is string, expected a whole number from 1 on',
  ]);
});

test('tails get what loaded code has logged, with the props of their entrypoint', async t => {
  const host = newHost(t);
  const more = `export class LogTailer extends FunctionEntrypoint { tail(events) { console.log(this.ctx.props.name + ': ' + events[0].logs[0].message[0]); } }`;
  const fn = await loadLoading(
    host,
    `const code = js('export default { fetch() { console.log("inside"); return new Response("ok"); } }', { tails: [ctx.exports.LogTailer({ props: { name: 'alice' } })] });
    return env.LOADER.load(code).getEntrypoint().fetch('http://y/');`,
    { more },
  );
  const logged = new Promise<string>(resolve => {
    host.on('log', ({ function: name, message }) => {
      if (name === 'agent') resolve(message);
    });
  });
  t.is(await textOf(fn.fetch('http://x/')), 'ok');
  t.is(await logged, 'alice: inside');
});

test('invocations of loaded code are events of their own, and subrequests of the caller', async t => {
  const host = newHost(t);
  const fn = await loadLoading(host, `return env.LOADER.load(js(HELLO)).getEntrypoint().fetch('http://y/');`);
  const inner = nextInvocation(host, event => event.function === 'agent/LOADER');
  const outer = nextInvocation(host, event => event.function === 'agent');
  await textOf(fn.fetch('http://x/'));
  t.is((await inner).outcome, 'ok');
  t.is((await outer).subrequests, 1);
  const { records } = await host.account('default').usage({ by: 'function' });
  const requests = records.map(record => [record.function, record.requests]);
  t.deepEqual(requests.sort(), [
    ['agent', 1],
    ['agent/LOADER', 1],
  ]);
});

test('ctx.exports calls the entrypoints of the function itself', async t => {
  const body = `
    const { exports } = await import('cloudflare:workers');
    return Response.json([await ctx.exports.Greeter({ props: { name: 'B' } }).greet(), await (await exports.Greeter({ props: { name: 'C' } }).fetch('http://z/')).text(), Object.keys(exports), await fails(ctx.exports.Greeter.greet()), await fails(() => exports.Room)]);`;
  const more = `${GREETER} import { StatefulObject } from 'edgehost:workers'; export class Room extends StatefulObject {}`;
  t.deepEqual(await jsonOf(newHost(t), body, { more }), [
    'Hello, B',
    'C http://z/',
    ['Greeter', 'Room', 'default'],
    'no error',
    'EDGE_NOT_SUPPORTED: Error: ctx.exports.Room is a class of stateful objects, which are called by a binding: give the function the option objects',
  ]);
});
