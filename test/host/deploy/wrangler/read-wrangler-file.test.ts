import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { readFunctionFile } from '../../../../src/host/deploy/config-file.js';
import { resolveLoadOptions } from '../../../../src/host/options/options.js';
import { EdgeHost } from '../../../../src/index.js';
import { folder, HELLO, json, project } from './config-folder.js';

const TOML = `
name = "gallery"
main = "src/index.js"
compatibility_date = "2024-09-23"
workers_dev = true
routes = [
  { pattern = "shop.example.com", custom_domain = true },
  { pattern = "example.com/api/*", zone_name = "example.com" },
]

[vars]
TITLE = "Pictures"
SIZES = [320, 640]

[triggers]
crons = ["0 4 * * 1"]

[limits]
cpu_ms = 20

[[kv_namespaces]]
binding = "KV"
id = "0123456789abcdef0123456789abcdef"
preview_id = "other"

[[r2_buckets]]
binding = "FILES"
bucket_name = "pictures"

[[d1_databases]]
binding = "DB"
database_name = "main"
database_id = "a-b-c"

[[queues.producers]]
binding = "JOBS"
queue = "jobs"
delivery_delay = 60

[[queues.consumers]]
queue = "jobs"
max_batch_size = 20
max_batch_timeout = 1
max_retries = 2
retry_delay = 30
dead_letter_queue = "dead"
max_concurrency = 3

[[durable_objects.bindings]]
name = "ROOM"
class_name = "Room"

[[durable_objects.bindings]]
name = "OTHER"
class_name = "Counter"
script_name = "counters"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["Room"]

[[services]]
binding = "AUTH"
service = "auth"
entrypoint = "Admin"
props = { role = "clerk" }

[[tail_consumers]]
service = "watcher"

[[rules]]
type = "Text"
globs = ["**/*.md"]
fallthrough = true
`;

const GALLERY = {
  'src/index.js': "import about from './about.md';\nexport default { fetch: () => new Response(about) };\n",
  'src/about.md': '# About',
};

const GALLERY_OPTIONS = {
  name: 'gallery',
  compatibilityDate: '2024-09-23',
  compatibilityFlags: ['global_navigator', 'cron_weekdays_start_at_1'],
  routes: [
    { pattern: 'shop.example.com/*', customDomain: true },
    { pattern: 'example.com/api/*', zone: 'example.com' },
  ],
  crons: ['0 4 * * 1'],
  kv: { KV: '0123456789abcdef0123456789abcdef' },
  buckets: { FILES: 'pictures' },
  sql: { DB: 'main' },
  queues: { JOBS: { queue: 'jobs', deliveryDelaySeconds: 60 } },
  objects: { ROOM: 'Room', OTHER: { class: 'Counter', function: 'counters' } },
  services: { AUTH: { function: 'auth', entrypoint: 'Admin', props: { role: 'clerk' } } },
  vars: { TITLE: 'Pictures', SIZES: [320, 640] },
  secrets: {},
  tails: ['watcher'],
  consumers: [
    {
      queue: 'jobs',
      maxBatchSize: 20,
      maxBatchTimeoutSeconds: 1,
      maxRetries: 2,
      retryDelaySeconds: 30,
      deadLetterQueue: 'dead',
      maxConcurrency: 3,
    },
  ],
  limits: { cpuMs: 20 },
};

test('readFunctionFile() reads wrangler.toml as the options of load()', async t => {
  const root = folder(t, { 'wrangler.toml': TOML, ...GALLERY });
  const { source, options, notes } = await readFunctionFile(root);
  t.deepEqual(options, GALLERY_OPTIONS);
  t.notThrows(() => resolveLoadOptions(options));
  t.deepEqual(notes, ['wrangler.toml: ignored, as they concern deployment to the hosted platform: workers_dev']);
  t.deepEqual(typeof source === 'string' ? [] : Object.keys(source?.modules ?? {}), ['src/index.js', 'src/about.md']);
});

test('readFunctionFile() prefers edgehost.toml, then wrangler.json, wrangler.jsonc and wrangler.toml', async t => {
  const files: Record<string, string> = { 'index.js': HELLO };
  for (const [name, text] of [
    ['wrangler.toml', 'name = "toml"\nmain = "index.js"\n'],
    ['wrangler.jsonc', '// comment\n{ "name": "jsonc", "main": "index.js", }'],
    ['wrangler.json', json({ name: 'json', main: 'index.js' })],
    ['edgehost.toml', 'name = "own"\nmain = "index.js"\n'],
  ] as const) {
    files[name] = text;
    const { options } = await readFunctionFile(folder(t, files));
    t.is(options.name, name === 'edgehost.toml' ? 'own' : name.replace('wrangler.', ''));
  }
});

test('an environment has its own bindings, inherits other keys and has a name of its own', async t => {
  const root = project(t, {
    vars: { A: 'top' },
    kv_namespaces: [{ binding: 'KV', id: 'top' }],
    routes: ['top.example.com/*'],
    env: {
      staging: { vars: { A: 'staging' }, route: 'staging.example.com/*' },
      production: { name: 'shop-live', compatibility_date: '2025-06-01' },
    },
  });
  const staging = await readFunctionFile(root, undefined, { environment: 'staging' });
  t.like(staging.options, {
    name: 'shop-staging',
    compatibilityDate: '2025-01-01',
    vars: { A: 'staging' },
    kv: undefined,
    routes: [{ pattern: 'staging.example.com/*' }],
  });
  t.regex(staging.notes.join('\n'), /not inherited: kv_namespaces$/m);
  const production = await readFunctionFile(root, undefined, { environment: 'production' });
  t.like(production.options, { name: 'shop-live', compatibilityDate: '2025-06-01', vars: {} });
  t.deepEqual(production.options.routes, [{ pattern: 'top.example.com/*' }]);
  await t.throwsAsync(readFunctionFile(root, undefined, { environment: 'nope' }), {
    code: 'EDGE_CONFIG_INVALID',
    message: /wrangler\.jsonc:\d+:3: The environment is "nope", expected one of staging, production$/,
  });
});

test('stores without a name, or with an id that is none here, get one', async t => {
  const root = project(t, {
    kv_namespaces: [{ binding: 'KV' }, { binding: 'KV_2', id: '<YOUR_ID>' }],
    r2_buckets: [{ binding: 'MY_FILES' }],
    d1_databases: [{ binding: 'DB' }, { binding: 'DB2', database_id: 'a-b' }],
  });
  const { options } = await readFunctionFile(root);
  t.like(options, {
    kv: { KV: 'shop-KV', KV_2: 'YOUR_ID-' },
    buckets: { MY_FILES: 'shop-my-files' },
    sql: { DB: 'shop-DB', DB2: 'a-b' },
  });
  t.notThrows(() => resolveLoadOptions(options));
});

test('services that do not exist here are told, and throw what to do when they are used', async t => {
  const root = project(
    t,
    {
      ai: { binding: 'AI' },
      vectorize: [{ binding: 'INDEX', index_name: 'x' }],
      send_email: [{ name: 'MAIL' }],
      unsafe: { bindings: [] },
      hyperdrive: [{ binding: 'PG', id: '1' }],
    },
    {
      'index.js': `export default { fetch(_, env) {
        const told = [];
        for (const use of [() => env.AI.run('m'), () => env.PG.connectionString, () => { env.MAIL.x = 1; }]) {
          try { use(); told.push('nothing'); } catch (error) { told.push(error.message); }
        }
        return Response.json({ told, type: typeof env.INDEX, names: Object.keys(env), shown: JSON.stringify(env.AI) });
      } };`,
    },
  );
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => host.close());
  const loaded = await host.loadFile(root);
  const answer: { told: string[] } = JSON.parse(await (await loaded.fetch('http://x/')).text());
  t.like(answer, { type: 'object', names: ['AI', 'INDEX', 'MAIL', 'PG'], shown: '{}' });
  t.regex(answer.told[0] ?? '', /^env\.AI is not available here: "ai" of the configuration .*; call a model by fetch/);
  t.regex(answer.told[1] ?? '', /^env\.PG is not available here: .*localConnectionString/);
  t.regex(answer.told[2] ?? '', /MAIL|defineProperty|'set' on proxy/);
  const { notes } = await readFunctionFile(root);
  t.is(notes.length, 4, notes.join('\n'));
  t.regex(
    notes.join('\n'),
    /^wrangler\.jsonc: "vectorize" \(env\.INDEX\) is not available here: call a vector database/m,
  );
});

test('a database behind hyperdrive is a variable with the parts of its connection string', async t => {
  const text = 'postgres://me:p%40ss@127.0.0.1:6432/shop?sslmode=disable';
  const root = project(t, { hyperdrive: [{ binding: 'PG', id: '1', localConnectionString: text }] });
  t.deepEqual((await readFunctionFile(root)).options.vars, {
    PG: { connectionString: text, host: '127.0.0.1', port: 6432, user: 'me', password: 'p@ss', database: 'shop' },
  });
});

test('version_metadata is a variable that stays the same while the modules do', async t => {
  const root = project(t, { version_metadata: { binding: 'VERSION' } });
  const { options } = await readFunctionFile(root);
  const version = options.vars?.VERSION as { id: string; tag: string; timestamp: string };
  t.regex(version.id, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  t.is(version.tag, '');
  t.is(new Date(version.timestamp).toISOString(), version.timestamp);
  t.deepEqual((await readFunctionFile(root)).options.vars, options.vars);
});

test('unknown keys are remarks with the nearest name, at every depth', async t => {
  const root = project(t, { kv_namespace: [], limits: { cpu_m: 5 }, queues: { producer: [] } });
  const { notes } = await readFunctionFile(root);
  t.deepEqual(notes, [
    'wrangler.jsonc: unknown key "kv_namespace" (did you mean kv_namespaces?)',
    'wrangler.jsonc: unknown key "limits.cpu_m" (did you mean cpu_ms?)',
    'wrangler.jsonc: unknown key "queues.producer" (did you mean producers?)',
  ]);
});

for (const [what, text, message] of [
  ['JSON lacks a comma', '{\n  "name": "a"\n  "main": "index.js"\n}', /wrangler\.jsonc:3:3: comma expected$/],
  ['JSON is no object', '[]', /wrangler\.jsonc:1:1: expected an object$/],
  ['JSON is empty', '', /wrangler\.jsonc:1:1: /],
  [
    'a value is wrong',
    '{\n  "name": "a",\n  "main": 5\n}',
    /wrangler\.jsonc:3:3: main is the number 5, expected a string /,
  ],
  [
    'a binding in an environment is wrong',
    '{\n  "main": "index.js",\n  "env": { "e": {\n    "kv_namespaces": [\n      { "binding": "a-b" }\n    ] } }\n}',
    /wrangler\.jsonc:5:9: env\.e\.kv_namespaces\[0\]\.binding is the string "a-b", expected a JavaScript identifier/,
  ],
  ['main is missing', '{ "name": "a" }', /main is missing/],
  [
    'main is not there',
    '{ "main": "src/x.js" }',
    /wrangler\.jsonc:1:3: main is "src\/x\.js", and there is no such file$/,
  ],
  ['values are too deep', `{ "vars": ${'['.repeat(100_000)} }`, /nested more than 200 levels/],
  [
    'a name is given twice',
    '{ "main": "index.js", "vars": { "A": "1" }, "kv_namespaces": [{ "binding": "A" }] }',
    /Binding "A" is given twice: by vars and by kv_namespaces/,
  ],
  [
    'a queue is consumed by other programs',
    '{ "main": "index.js", "queues": { "consumers": [{ "queue": "q", "type": "http_pull" }] } }',
    /queues\.consumers\[0\]\.type is "http_pull", expected "worker"/,
  ],
] as const) {
  test(`readFunctionFile() tells the place when ${what}`, async t => {
    const root = folder(t, { 'wrangler.jsonc': text, 'index.js': HELLO });
    const environment = text.includes('"env"') ? 'e' : undefined;
    await t.throwsAsync(readFunctionFile(root, undefined, { environment }), { code: 'EDGE_CONFIG_INVALID', message });
  });
}

test('a redirect that a build tool has written is followed, and its files are found beside the target', async t => {
  const built = json({
    name: 'built',
    main: 'index.js',
    no_bundle: true,
    rules: [{ type: 'ESModule', globs: ['**/*.js'] }],
  });
  const root = folder(t, {
    'wrangler.jsonc': json({ name: 'source', main: 'src/index.ts' }),
    '.wrangler/deploy/config.json': json({ configPath: '../../dist/server/wrangler.json', auxiliaryWorkers: [] }),
    'dist/server/wrangler.json': built,
    'dist/server/index.js':
      "export default { fetch: async (_, env) => new Response((await import('./chunks/' + 'a.js')).a + env.TOKEN) };",
    'dist/server/chunks/a.js': "export const a = 'chunk ';",
    '.dev.vars': 'TOKEN=secret',
  });
  const { options, notes, inputs } = await readFunctionFile(root);
  t.is(options.name, 'built');
  t.regex(notes.join('\n'), /read from .*dist\/server\/wrangler\.json, which the build tool has written/);
  t.true(inputs.includes(join(root, '.wrangler/deploy/config.json')));
  await t.throwsAsync(readFunctionFile(root, undefined, { environment: 'x' }), { message: /build it for that/ });
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => host.close());
  const loaded = await host.loadFile(root);
  t.is(await (await loaded.fetch('http://x/')).text(), 'chunk secret');
});

for (const [what, redirect, message] of [
  ['leads out of the folder', { configPath: '../../../other/wrangler.json' }, /outside of the folder|no such file/],
  ['leads nowhere', { configPath: '../../missing.json' }, /no such file: build the project again/],
  ['names no file', {}, /configPath is missing/],
] as const) {
  test(`attack: a redirect that ${what} is refused`, async t => {
    const root = folder(t, {
      'project/wrangler.json': json({ main: 'index.js' }),
      'project/index.js': HELLO,
      'project/.wrangler/deploy/config.json': json(redirect),
      'other/wrangler.json': json({ main: 'index.js' }),
    });
    await t.throwsAsync(readFunctionFile(join(root, 'project')), { code: 'EDGE_CONFIG_INVALID', message });
  });
}

test('.dev.vars gives secrets and replaces variables; that of an environment replaces the file', async t => {
  const root = project(
    t,
    { vars: { A: '1', B: '2' }, env: { e: {} } },
    { '.dev.vars': 'A=x\nTOKEN="a b"\n', '.dev.vars.e': 'ONLY=1\n', '.env': 'NOT=1\n' },
  );
  const { options } = await readFunctionFile(root, undefined, { isDevelopment: true });
  t.like(options, { vars: { A: 'x', B: '2' }, secrets: { TOKEN: 'a b' } });
  const named = await readFunctionFile(root, undefined, { environment: 'e' });
  t.deepEqual(named.options.secrets, { ONLY: '1' });
});

test('.env is read in development only, and later files replace earlier ones', async t => {
  const files = { '.env': 'A=1\nB=1\nC=1\nD=1\n', '.env.local': 'B=2\n', '.env.e': 'C=3\n', '.env.e.local': 'D=4\n' };
  const root = project(t, { env: { e: {} } }, files);
  t.deepEqual((await readFunctionFile(root)).options.secrets, {});
  const { options } = await readFunctionFile(root, undefined, { isDevelopment: true, environment: 'e' });
  t.deepEqual(options.secrets, { A: '1', B: '2', C: '3', D: '4' });
});

test('secrets.required names the secrets that are read, and one without a value is told', async t => {
  const root = project(t, { secrets: { required: ['TOKEN', 'KEY'] } }, { '.dev.vars': 'TOKEN=1\nOTHER=2\n' });
  const { options, notes } = await readFunctionFile(root);
  t.deepEqual(options.secrets, { TOKEN: '1' });
  t.regex(notes.join('\n'), /required secrets have no value: KEY; write them to .*\.dev\.vars$/);
});

test('attack: .dev.vars that is a link out of the folder is refused', async t => {
  const root = folder(t, {
    'project/wrangler.json': json({ main: 'index.js' }),
    'project/index.js': HELLO,
    secret: 'A=1',
  });
  symlinkSync(join(root, 'secret'), join(root, 'project/.dev.vars'));
  await t.throwsAsync(readFunctionFile(join(root, 'project')), {
    code: 'EDGE_CONFIG_INVALID',
    message: /link to a file outside/,
  });
});

test('migrations of a database are read in the order of their names', async t => {
  const root = project(
    t,
    { d1_databases: [{ binding: 'DB', database_name: 'main', migrations_dir: 'db' }] },
    { 'db/0002_b.sql': 'two', 'db/0001_a.sql': 'one', 'db/notes.md': 'x' },
  );
  t.deepEqual((await readFunctionFile(root)).migrations, [
    {
      database: 'main',
      files: [
        { name: '0001_a.sql', sql: 'one' },
        { name: '0002_b.sql', sql: 'two' },
      ],
    },
  ]);
  const missing = project(t, { d1_databases: [{ binding: 'DB', migrations_dir: 'db' }] });
  await t.throwsAsync(readFunctionFile(missing), { code: 'EDGE_CONFIG_INVALID', message: /no such folder/ });
});

test('attack: migrations outside of the folder are refused', async t => {
  const root = folder(t, {
    'project/wrangler.json': json({ main: 'index.js', d1_databases: [{ binding: 'DB', migrations_dir: '../other' }] }),
    'project/index.js': HELLO,
    'other/0001_a.sql': 'secret',
  });
  await t.throwsAsync(readFunctionFile(join(root, 'project')), {
    code: 'EDGE_CONFIG_INVALID',
    message: /outside of the folder/,
  });
});

for (const [name, settings] of Object.entries({
  'assets of another folder': { assets: { directory: '../other' } },
  'assets behind a link': { assets: { directory: 'link' } },
  'a tsconfig of another folder': { main: 'index.js', tsconfig: '../other/tsconfig.json' },
})) {
  test(`attack: ${name} are refused, but for development`, async t => {
    const root = folder(t, {
      'project/wrangler.json': json(settings),
      'project/index.js': HELLO,
      'other/tsconfig.json': '{}',
    });
    symlinkSync(join(root, 'other'), join(root, 'project/link'));
    await t.throwsAsync(readFunctionFile(join(root, 'project')), {
      code: 'EDGE_CONFIG_INVALID',
      message: /outside of the folder of the project/,
    });
    await t.notThrowsAsync(readFunctionFile(join(root, 'project'), undefined, { isDevelopment: true }));
  });
}

test('the assets of a project whose build tool has written its file elsewhere in it are found', async t => {
  const root = folder(t, {
    '.wrangler/deploy/config.json': json({ configPath: '../../dist/server/wrangler.json' }),
    'dist/server/wrangler.json': json({ main: 'index.js', assets: { directory: '../client' } }),
    'dist/server/index.js': HELLO,
    'dist/client/index.html': 'page',
  });
  const { options } = await readFunctionFile(root);
  t.deepEqual(options.assets, { directory: join(root, 'dist/client') });
});

test('loadFile() bundles TypeScript and packages, replaces names, and has the environment that is asked for', async t => {
  const root = project(
    t,
    {
      main: 'src/index.ts',
      define: { VERSION: '"7"' },
      alias: { greeter: './src/greeter' },
      env: { e: { vars: { WHO: 'staging' } } },
      vars: { WHO: 'top' },
    },
    {
      'src/index.ts': `import { greet } from 'greeter';
declare const VERSION: string;
export default { fetch: (_: Request, env: { WHO: string }): Response => new Response(greet(env.WHO) + (typeof VERSION === 'string' ? VERSION : '')) };`,
      'src/greeter.ts': "export const greet = (name: string): string => 'hello ' + name + ' ';\n",
    },
  );
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => host.close());
  const loaded = await host.loadFile(root);
  t.is(await (await loaded.fetch('http://x/')).text(), 'hello top 7');
  const staging = await host.loadFile(root, { environment: 'e' });
  t.is(staging.name, 'shop-e');
  await t.throwsAsync(host.loadFile(root, { environment: 5 as never }), { instanceOf: TypeError });
});

test('loadFile() tells file and line of what the bundler refuses', async t => {
  const root = project(t, { main: 'index.ts' }, { 'index.ts': 'export default { fetch( };\n' });
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => host.close());
  const error = await t.throwsAsync(host.loadFile(root), { code: 'EDGE_SCRIPT_SYNTAX', message: /index\.ts:1:25/ });
  t.like(error, { location: { line: 1 } });
});

test('loadFile() runs no build command, and says that it is to be run first', async t => {
  const root = folder(t, {
    'wrangler.json': json({ main: 'dist/index.js', build: { command: 'touch ran' } }),
    'src/index.js': HELLO,
  });
  await t.throwsAsync(readFunctionFile(root), {
    code: 'EDGE_CONFIG_INVALID',
    message: /no such file; run its build command first: touch ran$/,
  });
});
