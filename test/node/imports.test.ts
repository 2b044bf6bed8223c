import { builtinModules } from 'node:module';
import test from 'ava';
import { nodeModuleOf } from '../../src/isolate/imports/node-modules.js';
import { handler, ISOLATIONS, newHost, textOf } from '../host/new-host.js';

const NAMES = builtinModules.filter(name => !name.startsWith('node:'));

for (const isolation of ISOLATIONS) {
  test(`every name of builtinModules imports, with and without node:, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const imports = NAMES.flatMap((name, at) => [
      `import * as a${at} from ${JSON.stringify(name)};`,
      `import b${at} from ${JSON.stringify(`node:${name}`)};`,
    ]);
    const list = NAMES.map((_, at) => `[a${at}, b${at}]`).join();
    const body = `return Response.json([${list}].map(([a, b]) => a.default === b && b !== undefined && Object.keys(a).length))`;
    const fn = await host.load(imports.join('\n') + handler(body));
    const counts: unknown[] = JSON.parse(await textOf(fn.fetch('http://x/')));
    t.deepEqual(
      NAMES.filter((_, at) => typeof counts[at] !== 'number' || counts[at] === 0),
      [],
    );
  });

  test(`every name that Node's modules export links, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const statements: string[] = [];
    for (const name of NAMES) {
      // The properties of the process and of this machine's TLS are no part of the table.
      if (name === 'process' || name === 'tls') continue;
      const module: object = (await import(`node:${name}`)).default;
      const keys = Object.keys(module).filter(
        key => /^[A-Za-z_$][\w$]*$/.test(key) && key !== 'default' && Reflect.get(module, key) !== undefined,
      );
      if (keys.length === 0) continue;
      const id = statements.length;
      statements.push(`import { ${keys.map((key, at) => `${key} as v${id}_${at}`).join()} } from 'node:${name}';`);
    }
    const fn = await host.load(statements.join('\n') + handler('return new Response("linked")'));
    t.is(await textOf(fn.fetch('http://x/')), 'linked');
  });

  test(`a function that has no code throws when it is called, and names itself, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(`
      import { spawn } from 'node:child_process';
      import { Worker } from 'node:worker_threads';
      export default { fetch() {
        const texts = [];
        for (const act of [() => spawn('ls'), () => new Worker('x')]) {
          try { act(); } catch (error) { texts.push(error.code + ' ' + error.message); }
        }
        return Response.json(texts);
      } };`);
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
      'EDGE_NOT_SUPPORTED node:child_process: spawn() is not supported in functions. A function cannot start processes: call a service of the application, or fetch().',
      'EDGE_NOT_SUPPORTED node:worker_threads: new Worker() is not supported in functions. A function has one thread: use a queue, or call another function.',
    ]);
  });

  test(`import() and require() find Node's modules, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`
        const name = 'ev' + 'ents';
        const events = await import(name);
        const again = await import('node:events');
        const { EventEmitter } = require('node:events');
        const none = await import('node:nothing').catch(error => error.message);
        let missing;
        try { require('nothing'); } catch (error) { missing = error.code; }
        return Response.json([events === again, events.default === EventEmitter, none, missing]);`),
    );
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
      true,
      true,
      'import("node:nothing"): it is not among the modules of the deployment: Node has no such module',
      'MODULE_NOT_FOUND',
    ]);
  });

  test(`without the flag an import names the importer and the flag, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const source = { main: 'main.js', modules: { 'main.js': 'import "./a.js";', 'a.js': 'import "fs";' } };
    const expected = {
      code: 'EDGE_SCRIPT_IMPORT',
      message: /"a\.js" imports "fs", .*the compatibility flag "nodejs_compat" or a compatibility date from 2026-08-04/,
    };
    await t.throwsAsync(host.load(source, { compatibilityDate: '2026-08-03' }), expected);
    await t.throwsAsync(host.load(source, { compatibilityFlags: ['no_nodejs_compat'] }), expected);
    const fn = await host.load(handler('return new Response(typeof Buffer + typeof process)'), {
      compatibilityFlags: ['no_nodejs_compat'],
    });
    t.is(await textOf(fn.fetch('http://x/')), 'undefinedundefined');
    const old = { compatibilityDate: '2024-01-01', compatibilityFlags: ['nodejs_compat'] } as const;
    const named = await host.load(
      `import { Buffer } from 'buffer';${handler('return new Response(String(Buffer.from("a")))')}`,
      old,
    );
    t.is(await textOf(named.fetch('http://x/')), 'a');
  });
}

test('nodeModuleOf() knows every name of Node, and nothing else', t => {
  for (const name of NAMES) t.is(nodeModuleOf(name), name);
  t.is(nodeModuleOf('node:test'), 'test');
  for (const name of ['test', 'node:nothing', 'lodash', 'node:', '', 'fs/x', '__proto__'])
    t.is(nodeModuleOf(name), undefined);
});
