/** Mistakes of applications and authors, and the texts that name them. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import type { HostEvents } from '../../src/index.js';
import { handler, ISOLATIONS, newHost } from './new-host.js';

test('on() refuses an event that a host does not have, naming those that it has', t => {
  const host = newHost(t);
  const unknown = 'invocations' as keyof HostEvents; // what a program in JavaScript may write
  t.throws(() => host.on(unknown, () => {}), {
    instanceOf: TypeError,
    message: /no event "invocations".*invocation, log, cron/,
  });
  t.throws(() => host.once(unknown, () => {}), { instanceOf: TypeError });
  t.is(host.listenerCount(unknown), 0);
});

test('once() of node:events waits for an event of a host', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('return new Response()'));
  const invocation = once(host, 'invocation');
  await fn.fetch('http://x/');
  t.like(await invocation, [{ outcome: 'ok' }]);
});

test('load(), fetch(), rpcTo() and service bindings refuse props with a value that JSON would lose', async t => {
  const host = newHost(t);
  const source = handler('return new Response()');
  const fn = await host.load(source);
  for (const [lost, name] of [
    [new Map(), 'a Map'],
    [new Set(), 'a Set'],
    [Promise.resolve(), 'a Promise'],
    [new Error('lost'), 'an Error'],
    [/lost/, 'a RegExp'],
    [Buffer.from('lost'), 'a Buffer'],
    [new ArrayBuffer(1), 'an ArrayBuffer'],
    [() => {}, 'a function'],
    [Number.NaN, 'NaN'],
  ] as const) {
    const message = new RegExp(`props.*${name}`);
    const props = { deep: [{ lost }] };
    await t.throwsAsync(host.load(source, { props }), { instanceOf: TypeError, message });
    await t.throwsAsync(fn.fetch('http://x/', { props }), { instanceOf: TypeError, message });
    const services = { OTHER: { function: 'other', props } };
    await t.throwsAsync(host.load(source, { services }), { instanceOf: TypeError, message });
    t.throws(() => fn.rpcTo({ props }), { instanceOf: TypeError, message });
  }
});

test('load() refuses circular props, and keeps a Date as its text', async t => {
  const host = newHost(t);
  const circular: Record<string, unknown> = {};
  circular.one = circular.two = circular;
  const source = 'export default { fetch(request, env, ctx) { return Response.json(ctx.props); } };';
  await t.throwsAsync(host.load(source, { props: circular }), { instanceOf: TypeError, message: /props.*circular/ });
  const fn = await host.load(source, { props: { day: new Date(0) } });
  t.deepEqual(await (await fn.fetch('http://x/')).json(), { day: '1970-01-01T00:00:00.000Z' });
});

test('load() names the flag of a variable of Node, and where to read on about others that are not there', async t => {
  const flag = /Buffer is not defined\. Functions have Buffer with the compatibility flag "nodejs_compat"/;
  const old = { compatibilityDate: '2026-08-03' };
  await t.throwsAsync(newHost(t).load('Buffer.from(""); export default { fetch() {} };', old), { message: flag });
  const message = /WebAssembly is not defined\. Functions have no WebAssembly: docs\/functions\.md/;
  await t.throwsAsync(newHost(t).load('WebAssembly.compile(); export default { fetch() {} };'), { message });
});

test('load() says of code from strings where to read on', async t => {
  const message = /Code generation from strings disallowed.*\. Functions compile no text, .*docs\/functions\.md/;
  for (const code of ['eval("1")', 'new Function("1")()'])
    await t.throwsAsync(newHost(t).load(`${code}; export default { fetch() {} };`), { message });
});

test('load() names the place of an import that is missing once', async t => {
  const modules = { main: 'm.js', modules: { 'm.js': 'import "./a.js"; export default { fetch() {} };' } };
  const error = await t.throwsAsync(newHost(t).load(modules), { code: 'EDGE_SCRIPT_IMPORT' });
  t.is(error?.message.match(/\(m\.js/g)?.length, 1, error?.message);
});

test('get() of a value that is not JSON names its key', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(
      "await env.KV.put('a/b', 'text'); return new Response(await env.KV.get('a/b', 'json').catch(e => e.name + ' ' + e.message))",
    ),
    { kv: { KV: 'kv' } },
  );
  t.regex(await (await fn.fetch('http://x/')).text(), /^SyntaxError The value of key "a\/b" is not JSON: /);
  await t.throwsAsync(host.kv('kv').get('a/b', 'json'), { message: /The value of key "a\/b" is not JSON/ });
});

test('the error of the CPU limit says why one of the first invocations may take more', async t => {
  const fn = await newHost(t).load(handler('for (;;);'), { limits: { cpuMs: 10 } });
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CPU_LIMIT', message: /; one of the first invocations/ });
});

test("new EdgeHost() says that Yarn's Plug'n'Play is not supported, and what to do", async t => {
  const entry = new URL('../../src/index.js', import.meta.url).href;
  const program = `process.versions.pnp = '3'; const { EdgeHost } = await import('${entry}');
    try { new EdgeHost(); } catch (error) { console.log(error.code, error.message); }`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  t.regex(stdout, /^EDGE_NOT_SUPPORTED .*Plug'n'Play.*nodeLinker: node-modules/);
});

test('values that are no JSON are named by their key and the place of the call, of namespaces and of buckets', async t => {
  const fn = await newHost(t).load(
    handler(`await env.KV.put('a', 'text');
      await env.FILES.put('b', 'text');
      if (request.url.endsWith('kv')) return Response.json(await env.KV.get('a', 'json'));
      return Response.json(await (await env.FILES.get('b')).json());`),
    { name: 'reads', kv: { KV: 'values' }, buckets: { FILES: 'files' } },
  );
  for (const [path, key, line] of [
    ['kv', 'a', 3],
    ['bucket', 'b', 4],
  ] as const) {
    await t.throwsAsync(fn.fetch(`http://x/${path}`), {
      message: new RegExp(`threw SyntaxError: The value of key "${key}" is not JSON: Unexpected token`),
    });
    const error = await fn.fetch(`http://x/${path}`).catch((thrown: unknown) => thrown);
    t.like(error, { location: { file: 'reads.js', line } });
  }
});

for (const isolation of ISOLATIONS) {
  test(`fetch() names the export that gave no Response, and what to return (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const source = `import { FunctionEntrypoint, StatefulObject } from 'edgehost:workers';
      export class Admin extends FunctionEntrypoint { fetch() { return 'text'; } }
      export class Room extends StatefulObject { fetch() { return null; } }
      export default {
        async fetch(request, env) {
          const { pathname } = new URL(request.url);
          if (pathname === '/admin') return env.ADMIN.fetch(request);
          if (pathname === '/room') return env.ROOM.getByName('a').fetch(request);
          if (pathname === '/object') return { a: 1 };
        },
      };`;
    const fn = await host.load(source, {
      name: 'own',
      objects: { ROOM: 'Room' },
      services: { ADMIN: { function: 'own', entrypoint: 'Admin' } },
    });
    const messages: string[] = [];
    host.on('invocation', ({ error }) => messages.push(error?.message ?? ''));
    for (const [path, expected] of [
      ['/', /: fetch\(\) of the default export returned nothing: a Response is wanted, whatever the request$/],
      [
        '/object',
        /: fetch\(\) of the default export returned a value of type object: return a Response, such as Response\.json\(value\)$/,
      ],
      ['/admin', /: fetch\(\) of the export "Admin" returned a string: return new Response\(text\)$/],
      [
        '/room',
        /: fetch\(\) of the export "Room" returned null: return a Response, such as new Response\(null, \{ status: 204 \}\)$/,
      ],
    ] as const) {
      messages.length = 0;
      await t.throwsAsync(fn.fetch(`http://x${path}`));
      t.true(
        messages.some(message => expected.test(message)),
        `${path}: ${messages.join(' | ')}`,
      );
    }
  });
}
