/** Modules that functions import without deploying them. */
import test from 'ava';
import { ISOLATIONS, newHost, nextInvocation, textOf } from './new-host.js';

for (const isolation of ISOLATIONS) {
  test(`a module of the deployment imports edgehost:workers (${isolation})`, async t => {
    const source = `import { env, FunctionEntrypoint, RpcTarget } from 'edgehost:workers';
      const greeting = env.GREETING;
      export default class extends FunctionEntrypoint {
        fetch() { return Response.json([greeting, this.env === env, typeof this.ctx.waitUntil, typeof RpcTarget]); }
      }`;
    const fn = await newHost(t, { isolation }).load(source, { vars: { GREETING: 'hi' } });
    t.is(await textOf(fn.fetch('http://x/')), '["hi",true,"function","function"]');
  });
}

test('cloudflare:workers is the same module, with the names of the hosted platform', async t => {
  const fn = await newHost(t).load(`import * as own from 'edgehost:workers';
    import * as other from 'cloudflare:workers';
    export default { fetch: () => Response.json([
      other.WorkerEntrypoint === own.FunctionEntrypoint, other.RpcTarget === own.RpcTarget, other.env === own.env,
      Object.keys(own), Object.keys(other),
    ]) };`);
  const own = [
    'FunctionEntrypoint',
    'RpcTarget',
    'StatefulObject',
    'WorkflowEntrypoint',
    'env',
    'exports',
    'waitUntil',
  ];
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
    true,
    true,
    true,
    own,
    [
      'DurableObject',
      'FunctionEntrypoint',
      'RpcTarget',
      'StatefulObject',
      'WorkerEntrypoint',
      'WorkflowEntrypoint',
      'env',
      'exports',
      'waitUntil',
    ],
  ]);
});

test('import() finds built-in modules', async t => {
  const fn = await newHost(t).load(`export default { async fetch() {
    const { RpcTarget } = await import('edgehost:workers');
    return new Response(typeof RpcTarget);
  } };`);
  t.is(await textOf(fn.fetch('http://x/')), 'function');
});

test('a module of the deployment goes before a built-in module of its name', async t => {
  const fn = await newHost(t).load({
    main: 'main.js',
    modules: {
      'main.js': `import { env } from 'cloudflare:workers'; export default { fetch: () => new Response(env) };`,
      'cloudflare:workers': { type: 'esm', source: `export const env = 'own';` },
    },
  });
  t.is(await textOf(fn.fetch('http://x/')), 'own');
});

test('an import of what a built-in module does not export, or of one that is not there, says so', async t => {
  const host = newHost(t);
  const load = (text: string): Promise<unknown> => host.load(`${text} export default { fetch() {} };`);
  await t.throwsAsync(load(`import { tracing } from 'edgehost:workers';`), {
    code: 'EDGE_SCRIPT_IMPORT',
    message: /'edgehost:workers' does not provide an export named 'tracing'/,
  });
  await t.throwsAsync(load(`import { x } from 'edgehost:files';`), {
    code: 'EDGE_SCRIPT_IMPORT',
    message: /imports "edgehost:files", .*: the built-in modules are edgehost:workers, /,
  });
});

test('waitUntil() of edgehost:workers keeps the invocation of its caller open', async t => {
  const host = newHost(t);
  const fn = await host.load(`import { waitUntil } from 'edgehost:workers';
    let over = () => {};
    export default { async fetch(request) {
      if (request.url.endsWith('/end')) { over(); return new Response(); }
      await null;
      waitUntil(new Promise(resolve => { over = resolve; }));
      return new Response('answered');
    } };`);
  const ended: string[] = [];
  const isOver = nextInvocation(host, event => {
    ended.push(event.outcome);
    return ended.length === 2;
  });
  t.is(await textOf(fn.fetch('http://x/')), 'answered');
  t.deepEqual(ended, []);
  await fn.fetch('http://x/end');
  await isOver;
  t.is(ended.length, 2);
});

test('waitUntil() is not allowed in the global scope', async t => {
  const load = newHost(t).load(
    `import { waitUntil } from 'edgehost:workers'; waitUntil(1); export default { fetch() {} };`,
  );
  await t.throwsAsync(load, { message: /waitUntil\(\) is not allowed in the global scope/ });
});

test('what function code does to prototypes does not change a built-in module', async t => {
  const fn = await newHost(t).load({
    main: 'main.js',
    modules: {
      'main.js': `import './patch.js'; export { default } from './late.js';`,
      'patch.js': `Object.defineProperty(Object.prototype, 'RpcTarget', { set() { throw 1; }, get: () => 'patched', configurable: true });
        Function.prototype.call = () => 'patched';`,
      'late.js': `import { RpcTarget } from 'edgehost:workers'; export default { fetch: () => new Response(typeof new RpcTarget()) };`,
    },
  });
  t.is(await textOf(fn.fetch('http://x/')), 'object');
});
