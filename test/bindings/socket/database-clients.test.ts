/** Libraries that were written for sockets of this kind, against the servers that they are for. */

import type { ExecutionContext } from 'ava';
import { build, type Plugin } from 'esbuild';
import type { EdgeFunction } from '../../../src/index.js';
import { newHost, textOf } from '../../host/new-host.js';
import { unlessMissing } from '../../needs.js';
import { isMissing, postgresServer, redisServer } from './database-servers.js';

const withRedis = unlessMissing(isMissing('redis-server'));
const withPostgres = unlessMissing(isMissing('initdb', 'postgres'));

/** As much of Node's modules as the library for PostgreSQL uses where it runs on an edge. */
const NODE: Readonly<Record<string, string>> = {
  'node:buffer': `export { Buffer } from 'buffer/';`,
  'node:stream': `export default { Readable: class {}, Writable: class {}, Duplex: class {} };`,
  'node:events': `export class EventEmitter {
    #listeners = new Map();
    on(name, listener) { this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]); return this; }
    once(name, listener) { const once = (...args) => { this.off(name, once); listener(...args); }; once.of = listener; return this.on(name, once); }
    off(name, listener) { this.#listeners.set(name, (this.#listeners.get(name) ?? []).filter(own => own !== listener && own.of !== listener)); return this; }
    emit(name, ...args) { for (const listener of this.#listeners.get(name) ?? []) listener.apply(this, args); return this.#listeners.has(name); }
    removeListener(name, listener) { return this.off(name, listener); }
    removeAllListeners(name) { this.#listeners.delete(name); return this; }
  }`,
};

const node: Plugin = {
  name: 'node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'node' }));
    onLoad({ filter: /.*/, namespace: 'node' }, ({ path }) => ({
      contents: NODE[path] ?? `throw new Error(${JSON.stringify(path)})`,
      resolveDir: process.cwd(),
    }));
  },
};

async function bundled(t: ExecutionContext, source: string): Promise<EdgeFunction> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: process.cwd() },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2023',
    external: ['edgehost:*', 'cloudflare:*'],
    plugins: [node],
  });
  const host = newHost(t, { egress: { allow: ['127.0.0.0/8'] } });
  return host.load(outputFiles[0]?.text ?? '');
}

withRedis('a library for Redis works over connect()', async t => {
  const port = await redisServer(t);
  const fn = await bundled(
    t,
    `import { createRedis } from 'redis-on-workers';
     export default { async fetch() {
       const redis = createRedis('redis://127.0.0.1:${port}');
       await redis.send('SET', 'greeting', 'hello');
       const answers = [];
       for (const command of [['GET', 'greeting'], ['INCR', 'count'], ['INCR', 'count']]) answers.push(await redis.send(...command));
       const long = 'x'.repeat(1_000_000);
       await redis.send('SET', 'long', long);
       answers.push((await redis.send('GET', 'long')) === long);
       await redis.close();
       return Response.json(answers);
     } };`,
  );
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), ['hello', 1, 2, true]);
});

withPostgres('a library for PostgreSQL works over connect()', async t => {
  t.timeout(120_000);
  const port = await postgresServer(t);
  const fn = await bundled(
    t,
    `import postgres from 'postgres';
     export default { async fetch() {
       const sql = postgres({ host: '127.0.0.1', port: ${port}, username: 'edge', database: 'postgres', max: 2 });
       await sql\`create table notes (id serial primary key, text text)\`;
       await sql.begin(async sql => {
         await sql\`insert into notes \${sql([{ text: 'one' }, { text: 'two' }])}\`;
       });
       const rows = await sql\`select id, text from notes where text <> \${'none'} order by id\`;
       const many = await sql\`select g, repeat('x', 1000) as filler from generate_series(1, 2000) g\`;
       const failure = await sql\`select nothing\`.catch(error => error.code);
       await sql.end();
       return Response.json([rows, many.length, many.at(-1).g, failure]);
     } };`,
  );
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
    [
      { id: 1, text: 'one' },
      { id: 2, text: 'two' },
    ],
    2000,
    2000,
    '42703',
  ]);
});
