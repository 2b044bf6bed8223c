/** `edgehost dev` over folders in the shapes of the hosted platform's templates: each is served, or its error says why not. */
import { join } from 'node:path';
import test from 'ava';
import { folderOf, Program } from './program.js';

interface Template {
  readonly files: Readonly<Record<string, string>>;
  /** Below the function's own path. @default '' */
  readonly path?: string;
  readonly answer: string;
}

const HEAD = { compatibility_date: '2026-08-04', observability: { enabled: true } };

/** The name of a template is that of its folder, of its function, and of its path. */
function wrangler(name: string, more: object, main = 'src/index.ts'): string {
  const schema = { $schema: 'node_modules/wrangler/config-schema.json' };
  return `// For more details see the documentation.\n${JSON.stringify({ ...schema, name, main, ...HEAD, ...more })}`;
}

const TEMPLATES: Readonly<Record<string, Template>> = {
  'hello-world': {
    files: {
      'wrangler.jsonc': wrangler('hello-world', {}),
      'tsconfig.json': '{ "compilerOptions": { "target": "es2024", "module": "es2022", "types": [] } }',
      'src/index.ts': `interface Env {}
        export default {
          async fetch(request, env, ctx): Promise<Response> { return new Response('Hello World!'); },
        } satisfies ExportedHandler<Env>;`,
    },
    answer: 'Hello World!',
  },
  'service-worker': {
    files: {
      'wrangler.toml':
        'name = "service-worker"\nmain = "index.js"\ncompatibility_date = "2022-01-01"\nworkers_dev = true\n',
      'index.js': `addEventListener('fetch', event => { event.respondWith(new Response('classic')); });`,
    },
    answer: 'classic',
  },
  'd1-template': {
    files: {
      'wrangler.jsonc': wrangler('d1-template', {
        d1_databases: [
          { binding: 'DB', database_name: 'd1-template-database', database_id: 'x', migrations_dir: 'migrations' },
        ],
      }),
      'migrations/0001_create_comments_table.sql': `CREATE TABLE IF NOT EXISTS comments (id INTEGER PRIMARY KEY AUTOINCREMENT, author TEXT NOT NULL);
        INSERT INTO comments (author) VALUES ('Kristian'), ('Serena');`,
      'src/index.ts': `import { page } from './page';
        export default {
          async fetch(request: Request, env: any) {
            const { results } = await env.DB.prepare('SELECT * FROM comments LIMIT ?').bind(3).all();
            return new Response(page(JSON.stringify(results)), { headers: { 'content-type': 'text/html' } });
          },
        };`,
      'src/page.ts': 'export function page(content: string) { return "<pre>" + content + "</pre>"; }',
    },
    answer: '<pre>[{"id":1,"author":"Kristian"},{"id":2,"author":"Serena"}]</pre>',
  },
  kv: {
    files: {
      'wrangler.jsonc': wrangler('kv', { kv_namespaces: [{ binding: 'LINKS' }] }),
      'src/index.ts': `export default { async fetch(_: Request, { LINKS }: any) {
        await LINKS.put('a', JSON.stringify({ url: 'b' }), { metadata: { by: 'me' }, expirationTtl: 60 });
        const { value, metadata } = await LINKS.getWithMetadata('a', 'json');
        const { keys, list_complete } = await LINKS.list({ prefix: 'a' });
        return Response.json([value.url, metadata.by, keys.length, list_complete]);
      } };`,
    },
    answer: '["b","me",1,true]',
  },
  r2: {
    files: {
      'wrangler.jsonc': wrangler('r2', { r2_buckets: [{ binding: 'MY_BUCKET', bucket_name: 'pictures' }] }),
      'src/index.ts': `export default { async fetch(_: Request, { MY_BUCKET }: any) {
        await MY_BUCKET.put('cat.png', 'meow', { httpMetadata: { contentType: 'image/png' } });
        const object = await MY_BUCKET.get('cat.png');
        const headers = new Headers();
        object.writeHttpMetadata(headers);
        headers.set('etag', object.httpEtag);
        return new Response([headers.get('content-type'), object.size, await object.text()].join());
      } };`,
    },
    answer: 'image/png,4,meow',
  },
  queues: {
    files: {
      'wrangler.toml': `name = "queues"
main = "src/index.ts"
compatibility_date = "2026-01-01"
[[queues.producers]]
queue = "uploads"
binding = "MY_QUEUE"
[[queues.consumers]]
queue = "uploads"
max_batch_size = 10
max_batch_timeout = 1
`,
      'src/index.ts': `export default {
        async fetch(_: Request, env: any) { await env.MY_QUEUE.send({ url: 'a' }); return new Response('sent'); },
        async queue(batch: any) { for (const message of batch.messages) message.ack(); },
      };`,
    },
    answer: 'sent',
  },
  'durable-chat': {
    files: {
      'wrangler.jsonc': wrangler('durable-chat', {
        durable_objects: { bindings: [{ name: 'CHAT', class_name: 'Chat' }] },
        migrations: [{ tag: 'v1', new_sqlite_classes: ['Chat'] }],
      }),
      'src/index.ts': `import { DurableObject } from 'cloudflare:workers';
        export class Chat extends DurableObject {
          constructor(ctx: any, env: unknown) {
            super(ctx, env);
            ctx.blockConcurrencyWhile(async () => { ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS messages (text TEXT)'); });
          }
          async fetch(request: Request) {
            if (request.headers.get('upgrade') === 'websocket') {
              const [client, server] = Object.values(new WebSocketPair());
              this.ctx.acceptWebSocket(server);
              return new Response(null, { status: 101, webSocket: client });
            }
            this.ctx.storage.sql.exec('INSERT INTO messages VALUES (?)', 'hi');
            const { count } = this.ctx.storage.sql.exec('SELECT COUNT(*) AS count FROM messages').one();
            return new Response(count + ' ' + this.ctx.getWebSockets().length);
          }
          webSocketMessage(socket: WebSocket, text: string) { socket.send(text); }
        }
        export default { fetch: (request: Request, env: any) => env.CHAT.getByName('lobby').fetch(request) };`,
    },
    answer: '1 0',
  },
  assets: {
    files: {
      'wrangler.jsonc': wrangler('assets', {
        assets: {
          directory: './public',
          binding: 'ASSETS',
          not_found_handling: 'single-page-application',
          run_worker_first: ['/assets/api/*'],
        },
      }),
      'public/assets/logo.txt': 'logo',
      'src/index.ts': `export default { async fetch(request: Request, env: any) {
        const logo = await env.ASSETS.fetch(new URL('/assets/logo.txt', request.url));
        return Response.json({ name: 'api', logo: await logo.text() });
      } };`,
    },
    path: '/api/name',
    answer: '{"name":"api","logo":"logo"}',
  },
  cron: {
    files: {
      'wrangler.jsonc': wrangler('cron', {
        triggers: { crons: ['0 0 * * mon', '*/5 * * * *'] },
        vars: { NAME: 'cron' },
      }),
      'src/index.ts': `export default {
        async scheduled(event: any, env: any, ctx: any) { ctx.waitUntil(Promise.resolve(event.cron)); },
        fetch: (_: Request, env: any) => new Response(env.NAME),
      };`,
    },
    answer: 'cron',
  },
  gateway: {
    files: {
      'wrangler.toml': `name = "gateway"
main = "index.ts"
compatibility_date = "2026-01-01"
services = [
  { binding = "BACKEND", service = "backend" },
  { binding = "SUMS", service = "backend", entrypoint = "Sums" }
]
`,
      'index.ts': `export default { async fetch(request: Request, env: any) {
        const answer = await env.BACKEND.fetch(request);
        using counter = await env.SUMS.counter(40);
        return new Response([await answer.text(), await env.SUMS.add(1, 2), await counter.increment(2)].join());
      } };`,
    },
    answer: 'backend,3,42',
  },
  backend: {
    files: {
      'wrangler.toml': 'name = "backend"\nmain = "src/index.ts"\ncompatibility_date = "2026-01-01"\n',
      'src/index.ts': `import { RpcTarget, WorkerEntrypoint } from 'cloudflare:workers';
        class Counter extends RpcTarget {
          #value: number;
          constructor(value: number) { super(); this.#value = value; }
          increment(by: number) { return (this.#value += by); }
        }
        export class Sums extends WorkerEntrypoint {
          add(a: number, b: number) { return a + b; }
          counter(value: number) { return new Counter(value); }
        }
        export default class extends WorkerEntrypoint { fetch() { return new Response('backend'); } }`,
    },
    answer: 'backend',
  },
  'nodejs-compat': {
    files: {
      'wrangler.jsonc': wrangler('nodejs-compat', { compatibility_flags: ['nodejs_compat'] }),
      'src/index.ts': `import { Buffer } from 'node:buffer';
        import { createHash } from 'crypto';
        export default { fetch: () => new Response(createHash('sha256').update(Buffer.from('a')).digest('hex').slice(0, 8)) };`,
    },
    answer: 'ca978112',
  },
};

test('edgehost dev serves folders in the shapes of the templates of the hosted platform', async t => {
  t.timeout(240_000);
  const files = Object.entries(TEMPLATES).flatMap(([name, template]) =>
    Object.entries(template.files).map(([file, content]): [string, string] => [join('functions', name, file), content]),
  );
  const cwd = await folderOf(t, Object.fromEntries(files));
  const dev = new Program(t, ['dev', 'functions', '--port', '0', '--json', '--persist', ':memory:'], { cwd });
  const url = await dev.url();
  for (const [name, { path = '', answer }] of Object.entries(TEMPLATES)) {
    const response = await fetch(new URL(`/${name}${path}`, url));
    t.is(await response.text(), answer, name);
  }
  await dev.stop();
});

const REFUSED: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  [
    'of Python',
    {
      'wrangler.jsonc': wrangler('python', { compatibility_flags: ['python_workers'] }, 'src/entry.py'),
      'src/entry.py': '',
    },
    /python_workers|entry\.py/,
  ],
  [
    'that was not built',
    { 'wrangler.jsonc': wrangler('built', {}, '.svelte-kit/cloudflare/_worker.js') },
    /main is "\.svelte-kit\/cloudflare\/_worker\.js", and there is no such file/,
  ],
];

for (const [what, files, why] of REFUSED)
  test(`edgehost dev says in its first line why a folder ${what} is not served`, async t => {
    const dev = new Program(t, ['dev', '--port', '0', '--json', '--persist', ':memory:'], {
      cwd: await folderOf(t, files),
    });
    const { message } = await dev.event('error');
    t.regex(String(message), why);
    await dev.stop();
  });
