/** Code that functions load: what it consists of, and how it is called. */
import test from 'ava';
import { ISOLATIONS, newHost, textOf } from '../../host/new-host.js';
import { answerOf, jsonOf, loadLoading } from './loader.js';

for (const isolation of ISOLATIONS) {
  test(`load() runs code that a function was given (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    t.is(
      await answerOf(host, `return env.LOADER.load(js(HELLO)).getEntrypoint().fetch('http://y/there');`),
      'hello /there',
    );
  });

  test(`get() calls its function when the code is not loaded, and not when it is (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await loadLoading(
      host,
      `let calls = 0;
      const code = js('let count = 0; export default { fetch() { return new Response(String(++count)); } }');
      const stub = env.LOADER.get('counter', async () => { calls++; await undefined; return code; });
      const answer = await (await stub.getEntrypoint().fetch('http://y/')).text();
      return new Response(answer + ' ' + calls);`,
    );
    t.is(await textOf(fn.fetch('http://x/')), '1 1');
    t.is(await textOf(fn.fetch('http://x/')), '2 0');
    t.is(await textOf(fn.fetch('http://x/')), '3 0');
  });
}

test('modules have the type that their names or their objects say', async t => {
  const body = `
    const main = \`import { name } from './lib/name.js';
      import text from 'note'; import data from './bytes'; import json from 'config.json';
      export default { async fetch() { return Response.json([name, text, data instanceof ArrayBuffer, [...new Uint8Array(data)], json, (await import('./late.js')).late]); } }\`;
    return env.LOADER.load({ mainModule: 'src/main.js', modules: {
      'src/main.js': main, 'src/lib/name.js': 'export const name = "lib";', 'src/late.js': { js: 'export const late = true;' },
      note: { text: 'é' }, 'src/bytes': { data: new Uint8Array([0, 255]).buffer }, 'config.json': { json: { a: [1, null] } },
    } }).getEntrypoint().fetch('http://y/');`;
  t.deepEqual(await jsonOf(newHost(t), body), ['lib', 'é', true, [0, 255], { a: [1, null] }, true]);
});

test('mistakes in the code are errors that name what was given and what is allowed', async t => {
  const body = `
    const load = code => fails(() => env.LOADER.load(code).getEntrypoint().fetch('http://y/'));
    return Response.json([
      await load(),
      await load({ ...js(HELLO), cpu: 1 }),
      await load({ mainModule: 'other.js', modules: { 'main.js': HELLO } }),
      await load({ mainModule: 'main.js', modules: {} }),
      await load({ mainModule: 'main.ts', modules: { 'main.ts': HELLO } }),
      await load({ mainModule: 'main.py', modules: { 'main.py': 'x' } }),
      await load({ mainModule: 'm', modules: { m: { js: HELLO, text: '' } } }),
      await load({ mainModule: 'm', modules: { m: { text: HELLO } } }),
      await load({ mainModule: 'm', modules: { m: { esm: HELLO } } }),
      await load({ mainModule: 'm', modules: { m: { wasm: new Uint8Array(1) } } }),
      await load({ mainModule: 'main.js', modules: { 'main.js': HELLO, 'lib.cjs': { cjs: 'module.exports = 1' } } }),
      await load({ mainModule: 'main.cjs', modules: { 'main.cjs': 'module.exports = {}' } }),
      await load(js(HELLO, { compatibilityDate: 'tomorrow' })),
      (await load(js(HELLO, { compatibilityFlags: ['no_such_flag'] }))).split(', expected')[0],
      await load(js(HELLO, { allowExperimental: true })),
      await load(js(HELLO, { limits: { cpuMs: 0 } })),
      await load(js(HELLO, { limits: { memory: 1 } })),
      await load(js(HELLO, { globalOutbound: 'none' })),
      await load(js(HELLO, { env: [] })),
      await load(js('export default {')),
      await load(js('throw new RangeError("at start")')),
      await load(js('import "./missing.js"; export default { fetch() {} }')),
      await fails(() => env.LOADER.get('a')),
      await fails(() => env.LOADER.get('a', 1)),
      await fails(() => env.LOADER.load(js(HELLO)).getDurableObjectClass('Room')),
      await fails(env.LOADER.load(js(HELLO)).getEntrypoint('Nope').greet()),
      await fails(env.LOADER.load(js(HELLO)).getEntrypoint('not a name').greet()),
    ]);`;
  t.deepEqual(await jsonOf(newHost(t), body), [
    'TypeError: The code of LOADER.load() is no object, expected { mainModule, modules }',
    'TypeError: The code of LOADER.load() has the unknown property "cpu", expected compatibilityDate, compatibilityFlags, allowExperimental, mainModule, modules, env, globalOutbound, tails, streamingTails, limits',
    'TypeError: The mainModule of the loaded code is the string "other.js", expected one of its modules: main.js',
    'TypeError: The code of LOADER.load() has no modules, expected at least one',
    'TypeError: The module "main.ts" is a string, and its name does not end in .js: give an object that says its type, such as { js: \'...\' }. TypeScript is compiled first',
    'EDGE_NOT_SUPPORTED: Error: Loaded code does not support the Python module "main.py"',
    'TypeError: The module "m" has the properties js, text, expected a string, or an object with one of js, text, data, json',
    'TypeError: The mainModule of the loaded code, the string "m", is of the kind text, expected an ES module: { js: \'...\' }',
    'TypeError: The module "m" has the property "esm", expected one of js, text, data, json',
    'EDGE_NOT_SUPPORTED: Error: Loaded code does not support { wasm } of the module "m"',
    'EDGE_NOT_SUPPORTED: Error: Loaded code does not support { cjs } of the module "lib.cjs"',
    'TypeError: The module "main.cjs" is a string, and its name does not end in .js: give an object that says its type, such as { js: \'...\' }. TypeScript is compiled first',
    'TypeError: Option compatibilityDate of the loader is the string "tomorrow", expected a date as the string YYYY-MM-DD',
    'TypeError: Option compatibilityFlags[0] of the loader is the string "no_such_flag"',
    'EDGE_NOT_SUPPORTED: Error: Loaded code does not support allowExperimental: there are no experimental flags',
    'TypeError: The value of limits.cpuMs of LOADER.load() is 0, expected a whole number from 1 on',
    'TypeError: The limits of LOADER.load() have "memory", expected cpuMs and subRequests',
    'TypeError: The globalOutbound of LOADER.load() is no service: expected a service binding of env, or an entrypoint of ctx.exports',
    'TypeError: The env of LOADER.load() is no plain object',
    'EDGE_SCRIPT_SYNTAX: Error: Cannot load function "agent/LOADER": it does not parse: Unexpected end of input (main.js:1:17)',
    'EDGE_SCRIPT_THREW: Error: Cannot load function "agent/LOADER": its global scope threw RangeError: at start (main.js:1:7)',
    'EDGE_SCRIPT_IMPORT: Error: Cannot load function "agent/LOADER": "main.js" imports "./missing.js", which is not among the modules of the deployment: main.js (main.js:1:8)',
    'TypeError: get requires 2 arguments, but 1 was given',
    'TypeError: The second argument of LOADER.get() is no function',
    'EDGE_NOT_SUPPORTED: Error: Loaded code does not support getDurableObjectClass(): call a stateful object of the function that loads the code',
    'TypeError: The function has no entrypoint "Nope": its main module does not export it',
    'TypeError: The entrypoint is the string "not a name", expected the name of an export of the main module: a JavaScript identifier of up to 255 characters',
  ]);
});

test('a function that loads code in its global scope fails', async t => {
  const host = newHost(t);
  const source = `import { env } from 'edgehost:workers'; env.LOADER.load({ mainModule: 'a.js', modules: { 'a.js': '' } }); export default { fetch() {} }`;
  await t.throwsAsync(host.load(source, { loaders: { LOADER: {} } }), {
    code: 'EDGE_SCRIPT_THREW',
    message: /global scope/,
  });
});

test('the function of get() fails the calls of its stub, and is called again by the next one', async t => {
  const body = `
    const broken = env.LOADER.get('x', () => { throw new RangeError('no code'); });
    const first = await fails(broken.getEntrypoint().fetch('http://y/'));
    const rejecting = env.LOADER.get('x', () => Promise.reject(new TypeError('none')));
    const second = await fails(rejecting.getEntrypoint().call());
    const syntax = await fails(env.LOADER.get('x', () => js('export default {')).getEntrypoint().fetch('http://y/'));
    const answer = await env.LOADER.get('x', () => js(HELLO)).getEntrypoint().fetch('http://y/z');
    return Response.json([first, second, syntax.slice(0, 18), await answer.text()]);`;
  t.deepEqual(await jsonOf(newHost(t), body), [
    'RangeError: no code',
    'TypeError: none',
    'EDGE_SCRIPT_SYNTAX',
    'hello /z',
  ]);
});

test('entrypoints have methods, and props that they alone see', async t => {
  const body = `
    const code = js(\`import { WorkerEntrypoint } from 'cloudflare:workers';
      export class Greeter extends WorkerEntrypoint { greet(name) { return [this.ctx.props, name]; } fetch() { return Response.json(this.ctx.props); } }
      export default { fetch() { return new Response('default'); } }\`);
    const stub = env.LOADER.load(code);
    const greeter = stub.getEntrypoint('Greeter', { props: { tone: 'é', n: [1, null] } });
    return Response.json([await greeter.greet('you'), await (await greeter.fetch('http://y/')).json(), await (await stub.getEntrypoint('default').fetch('http://y/')).text(),
      await fails(() => stub.getEntrypoint('Greeter', { props: { f() {} } })), await fails(() => stub.getEntrypoint('Greeter', { props: [] }))]);`;
  const props = { tone: 'é', n: [1, null] };
  t.deepEqual(await jsonOf(newHost(t), body), [
    [props, 'you'],
    props,
    'default',
    'TypeError: The props of getEntrypoint() have a function, expected what JSON can hold',
    'TypeError: The props of getEntrypoint() are not an object',
  ]);
});

test('a request body, a stream of an answer and values cross', async t => {
  const body = `
    const code = js(\`import { WorkerEntrypoint } from 'cloudflare:workers';
      export default class extends WorkerEntrypoint { async fetch(request) { return new Response(request.body.pipeThrough(new TransformStream())); } async twice(f) { return [await f(1), await f(2)]; } counter() { return { next: () => 1 }; } }\`);
    const entry = env.LOADER.load(code).getEntrypoint();
    const answer = await entry.fetch('http://y/', { method: 'POST', body: 'x'.repeat(100_000) });
    return Response.json([(await answer.text()).length, await entry.twice(n => n * 10), await entry.counter().next()]);`;
  t.deepEqual(await jsonOf(newHost(t), body), [100_000, [10, 20], 1]);
});
