/** Libraries of npm that import Node's modules, bundled as their users bundle them: they load. */
import { builtinModules } from 'node:module';
import test from 'ava';
import { build } from 'esbuild';
import { ROOT } from '../docs/markdown.js';
import { newHost, textOf } from '../host/new-host.js';

/** Each with the modules of Node that its bundle imports. */
const LIBRARIES = {
  postgres: ['buffer', 'events', 'stream'],
  redis: ['crypto', 'diagnostics_channel', 'events', 'net', 'tls'],
  'redis-on-workers': ['net', 'stream', 'tls'],
  '@hono/node-server': ['http', 'http2', 'stream'],
} as const;

async function bundled(library: string): Promise<string> {
  const contents = `import * as library from '${library}';
    export default { fetch: () => Response.json(Object.keys(library)) };`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: ROOT },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    mainFields: ['browser', 'module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2023',
    external: ['node:*', 'cloudflare:*', ...builtinModules],
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

for (const [library, modules] of Object.entries(LIBRARIES)) {
  test(`${library} loads, and answers its exports`, async t => {
    const text = await bundled(library);
    const imported = [...text.matchAll(/(?:from|import|require\d*\()\s*["'](?:node:)?([\w/]+)["']/g)].map(
      match => match[1],
    );
    t.deepEqual(
      modules.filter(name => !imported.includes(name)),
      [],
    );
    const fn = await newHost(t, { limits: { cpuMs: 5000, startupMs: 5000 } }).load(text);
    const exports: unknown = JSON.parse(await textOf(fn.fetch('http://x/')));
    t.true(Array.isArray(exports) && exports.length > 0);
  });
}
