/** How long loaded code is kept, who shares it, and the attacks on its bounds. */
import test from 'ava';
import { EdgeError } from '../../../src/quotas/errors.js';
import { ISOLATIONS, newHost, textOf } from '../../host/new-host.js';
import { jsonOf, loadLoading } from './loader.js';

const COUNT = `
const counter = js('let count = 0; export default { fetch() { return new Response(String(++count)); } }');
return env.LOADER.get('same', () => counter).getEntrypoint().fetch('http://y/');`;

test('functions share code by the id of their loaders, and not without one', async t => {
  const host = newHost(t);
  const own = [
    await loadLoading(host, COUNT, { options: { name: 'a' } }),
    await loadLoading(host, COUNT, { options: { name: 'b' } }),
  ];
  for (const fn of own) t.is(await textOf(fn.fetch('http://x/')), '1');
  const options = { loaders: { LOADER: { id: 'plugins' } } };
  const first = await loadLoading(host, COUNT, { options: { ...options, name: 'c' } });
  const second = await loadLoading(host, COUNT, { options: { ...options, name: 'd' } });
  t.is(await textOf(first.fetch('http://x/')), '1');
  t.is(await textOf(second.fetch('http://x/')), '2');
  const other = await host
    .account('other')
    .load(
      `export default { fetch: (request, env) => env.LOADER.get('same', () => { throw new Error('not shared'); }).getEntrypoint().fetch(request) }`,
      options,
    );
  await t.throwsAsync(other.fetch('http://x/'), { message: /not shared/ });
});

test('code is loaded again after its isolate was evicted', async t => {
  const host = newHost(t, { maxIsolates: 2 });
  const fn = await loadLoading(host, COUNT);
  t.is(await textOf(fn.fetch('http://x/')), '1');
  t.is(await textOf(fn.fetch('http://x/')), '2');
  const other = await host.load('export default { fetch: () => new Response("other") }', { name: 'other' });
  t.is(await textOf(other.fetch('http://x/')), 'other');
  t.is(await textOf(fn.fetch('http://x/')), '1');
});

test('code is loaded again after the limits of its account have changed', async t => {
  const account = newHost(t).account('a');
  const fn = await account.load(
    `const js = text => ({ mainModule: 'a.js', modules: { 'a.js': text } }); export default { async fetch(request, env) { ${COUNT} } };`,
    { loaders: { LOADER: {} } },
  );
  t.is(await textOf(fn.fetch('http://x/')), '1');
  t.is(await textOf(fn.fetch('http://x/')), '2');
  await account.update({ limits: { cpuMs: 20 } });
  t.is(await textOf(fn.fetch('http://x/')), '1');
});

test('loaded code ends with its account', async t => {
  const host = newHost(t);
  const fn = await host
    .account('a')
    .load(
      `const js = text => ({ mainModule: 'a.js', modules: { 'a.js': text } }); export default { async fetch(request, env) { ${COUNT} } };`,
      { loaders: { LOADER: {} } },
    );
  await textOf(fn.fetch('http://x/'));
  await host.removeAccount('a');
  const error = await t.throwsAsync(fn.fetch('http://x/'), { instanceOf: EdgeError });
  t.is(error?.code, 'EDGE_ACCOUNT_REMOVED');
});

for (const isolation of ISOLATIONS) {
  test(`an attacker floods a loader with ids (${isolation})`, async t => {
    const body = `
      let error = 'none'; let loaded = 0;
      for (let i = 0; i < 40 && error === 'none'; i++) {
        const text = await fails(env.LOADER.get('id' + i, () => js(HELLO)).getEntrypoint().fetch('http://y/').then(answer => answer.text()));
        if (text === 'no error') loaded++; else error = text;
      }
      return Response.json([loaded, error]);`;
    const [loaded, error] = (await jsonOf(newHost(t, { isolation, maxIsolatesPerAccount: 3 }), body)) as [
      number,
      string,
    ];
    // Calls of functions may begin 32 invocations, the first one among them.
    t.is(loaded, 31);
    t.regex(error, /^EDGE_LOOP/);
  });

  test(`an attacker lets code load itself in a loop (${isolation})`, async t => {
    const body = `
      const again = \`export default { async fetch(request, env) {
        const depth = Number(new URL(request.url).searchParams.get('depth'));
        try { return await env.LOADER.get('again', () => { throw new Error('it is loaded'); }).getEntrypoint().fetch('http://y/?depth=' + (depth + 1)); }
        catch (error) { return new Response(depth + ' ' + error.code); } } }\`;
      return env.LOADER.get('again', () => js(again, { env: { LOADER: env.LOADER } })).getEntrypoint().fetch('http://y/?depth=1');`;
    const host = newHost(t, { isolation });
    t.is(await textOf((await loadLoading(host, body)).fetch('http://x/')), '31 EDGE_LOOP');
  });

  test(`loaded code finds nothing of the host and nothing of its caller (${isolation})`, async t => {
    const body = `
      globalThis.secret = 1; Object.prototype.polluted = 1; Array.prototype.toJSON = () => 'polluted';
      const code = js(\`const probe = Function.prototype.constructor;
        const tryRun = run => { try { return String(run()); } catch (error) { return 'refused'; } };
        export default { async fetch(request, env) { return new Response([typeof process.mainModule, typeof require.main, typeof globalThis.secret, typeof {}.polluted, typeof [].toJSON,
          tryRun(() => probe('return process')()), tryRun(() => env.constructor.constructor('return process')()),
          tryRun(() => env.SELF.fetch.constructor('return process')()), tryRun(() => request.constructor.constructor('return this')().process)].join()); } }\`, { env: { SELF: env.SELF } });
      delete Array.prototype.toJSON;
      return env.LOADER.load(code).getEntrypoint().fetch('http://y/');`;
    const host = newHost(t, { isolation });
    const fn = await loadLoading(host, body, { options: { services: { SELF: 'agent' } } });
    t.is(
      await textOf(fn.fetch('http://x/')),
      'undefined,undefined,undefined,undefined,undefined,refused,refused,refused,refused',
    );
  });
}

test('an attacker loads huge modules', async t => {
  const body = `
    const big = size => ({ mainModule: 'main.js', modules: { 'main.js': HELLO, data: { data: new Uint8Array(size) } } });
    return Response.json([(await fails(env.LOADER.load(big(2 ** 25)).getEntrypoint().fetch('http://y/'))).slice(0, 21),
      (await fails(env.LOADER.load({ mainModule: 'm.js', modules: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [i === 0 ? 'm.js' : 'm' + i + '.js', ''])) }).getEntrypoint().fetch('http://y/')))]);`;
  t.deepEqual(await jsonOf(newHost(t), body), [
    'EDGE_SCRIPT_TOO_LARGE',
    'RangeError: The loaded code has 1001 modules, expected 1 to 1000',
  ]);
});
