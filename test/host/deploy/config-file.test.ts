import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readFunctionFile } from '../../../src/host/deploy/config-file.js';
import { EdgeHost } from '../../../src/index.js';

type Files = Readonly<Record<string, string | Uint8Array>>;

function folder(t: ExecutionContext, files: Files): string {
  const root = mkdtempSync(join(tmpdir(), 'edgehost-config-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  return root;
}

const HELLO = "export default { fetch: () => new Response('hello') };\n";
const HEAD = 'name = "hello"\nmain = "index.js"\n';

function configFolder(t: ExecutionContext, toml: string): string {
  return folder(t, { 'edgehost.toml': toml, 'index.js': HELLO });
}

test('readFunctionFile() reads every key', async t => {
  const toml = `
name = "gallery"
main = "src/index.js"
compatibility_date = "2024-01-01"
compatibility_flags = ["store_list_honor_include"]
callers = ["friend"]
routes = [
  "example.com/gallery/*",
  { pattern = "*.example.org/*", mode = "fail-open", zone_name = "example.org", custom_domain = true },
]

[triggers]
crons = ["*/5 * * * *", { cron = "0 4 * * *", missed = "latest", overlap = "skip", jitter_ms = 5000 }]

[vars]
TITLE = "Pictures"
SIZES = [320, 640]

[limits]
cpu_ms = 50
requests_per_day = inf

[[store_buckets]]
binding = "FILES"
bucket_name = "pictures"

[[store_buckets]]
binding = "THUMBS"
bucket_name = "thumbnails"

[[services]]
binding = "AUTH"
service = "auth"

[[services]]
binding = "ADMIN"
service = "auth"
entrypoint = "Admin"
props = { role = "clerk" }
account = "other"

[[queues.producers]]
binding = "JOBS"
queue = "jobs"

[[queues.producers]]
binding = "MAIL"
queue = "mail"
delivery_delay = 60

[[queues.consumers]]
queue = "jobs"

[[queues.consumers]]
queue = "mail"
max_batch_size = 20
max_batch_timeout = 1
max_retries = 2
retry_delay = 30
dead_letter_queue = "dead"
max_concurrency = 3


[[rules]]
type = "Text"
globs = ["**/*.md"]
`;
  const root = folder(t, {
    'edgehost.toml': toml,
    'src/index.js': `import about from './about.md';\nimport { size } from '../lib/size.js';\nexport default { fetch: () => new Response(about + size) };\n`,
    'src/about.md': '# About',
    'lib/size.js': 'export const size = 1;\n',
    'src/unrelated.js': 'this does not parse',
  });
  const { source, options } = await readFunctionFile(root);
  t.deepEqual(options, {
    name: 'gallery',
    compatibilityDate: '2024-01-01',
    compatibilityFlags: ['store_list_honor_include'],
    routes: [
      { pattern: 'example.com/gallery/*' },
      { pattern: '*.example.org/*', mode: 'fail-open', zone: 'example.org', customDomain: true },
    ],
    crons: ['*/5 * * * *', { cron: '0 4 * * *', missed: 'latest', overlap: 'skip', jitterMs: 5000 }],
    buckets: { FILES: 'pictures', THUMBS: 'thumbnails' },
    services: {
      AUTH: { function: 'auth' },
      ADMIN: { function: 'auth', entrypoint: 'Admin', props: { role: 'clerk' }, account: 'other' },
    },
    callers: ['friend'],
    queues: { JOBS: 'jobs', MAIL: { queue: 'mail', deliveryDelaySeconds: 60 } },
    consumers: [
      { queue: 'jobs' },
      {
        queue: 'mail',
        maxBatchSize: 20,
        maxBatchTimeoutSeconds: 1,
        maxRetries: 2,
        retryDelaySeconds: 30,
        deadLetterQueue: 'dead',
        maxConcurrency: 3,
      },
    ],
    vars: { TITLE: 'Pictures', SIZES: [320, 640] },
    limits: { cpuMs: 50, requestsPerDay: Number.POSITIVE_INFINITY },
  });
  if (typeof source === 'string') return t.fail();
  t.is(source?.main, 'src/index.js');
  t.deepEqual(Object.keys(source?.modules ?? {}), ['src/index.js', 'src/about.md', 'lib/size.js']);
});

test('readFunctionFile() reads tail_consumers as the tails of the function', async t => {
  const root = folder(t, {
    'edgehost.toml': 'name = "hello"\nmain = "index.js"\ntail_consumers = [{ service = "watcher" }]\n',
    'index.js': 'export default { fetch() {} };',
  });
  t.deepEqual((await readFunctionFile(root)).options.tails, ['watcher']);
});

test('readFunctionFile() reads the hosts that the function may reach, and no secrets', async t => {
  const head = 'name = "hello"\nmain = "index.js"\n[egress]\n';
  const files = (egress: string): Record<string, string> => ({
    'edgehost.toml': head + egress,
    'index.js': 'export default { fetch() {} };',
  });
  const hosts = 'hosts = ["a.example", { host = "b.example", ports = [443], methods = ["GET"], paths = ["/v1/*"] }]';
  const { options } = await readFunctionFile(folder(t, files(hosts)));
  t.deepEqual(options.egress, {
    hosts: ['a.example', { host: 'b.example', ports: [443], methods: ['GET'], paths: ['/v1/*'] }],
  });
  for (const wrong of ['hosts = ["https://a.example"]', `${hosts}\nsecrets = {}`, ''])
    await t.throwsAsync(readFunctionFile(folder(t, files(wrong))), { code: 'EDGE_CONFIG_INVALID' }, wrong);
});

test('loadFile() runs the function with its modules, variables and secrets', async t => {
  const root = folder(t, {
    'edgehost.toml': `${HEAD}[vars]\nNAME = "world"\n`,
    'index.js': `import { greet } from './lib/greet';
import suffix from './suffix.txt';
import table from './table.json';
import bytes from './bytes.bin';
export default { fetch(request, env) {
  return new Response([greet(env.NAME), suffix, table.a, new Uint8Array(bytes).length, env.TOKEN].join(' '));
} };`,
    'lib/greet.js': "import { word } from '../word.mjs';\nexport const greet = name => [word, name].join(' ');\n",
    'word.mjs': "export const word = 'hello';\n",
    'suffix.txt': 'and',
    'table.json': '{"a": 7}',
    'bytes.bin': new Uint8Array([0, 255, 128]),
  });
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => host.close());
  const loaded = await host.loadFile(join(root, 'edgehost.toml'), { secrets: { TOKEN: 's3cret' } });
  const response = await loaded.fetch('https://example.com/');
  t.is(await response.text(), 'hello world and 7 3 s3cret');
  t.is(loaded.name, 'hello');
});

test('readFunctionFile() tells everything that is wrong with a file at once, each with its line', async t => {
  const toml =
    'name = "hello"\nmain = 5\nworkers_dev = true\n[observability]\nenabled = true\n[limits]\ncpu_m = 5\nsubrequests = 1\n';
  const root = configFolder(t, toml);
  const file = join(root, 'edgehost.toml');
  const error = await t.throwsAsync(readFunctionFile(file), { code: 'EDGE_CONFIG_INVALID' });
  const lines = (error?.message ?? '').split('\n').map(line => line.replace(`${file}:`, ''));
  t.is(lines.length, 4, error?.message);
  for (const [place, text] of [
    ['2:', 'main is the number 5'],
    ['3:', 'no key "workers_dev"'],
    ['4:', 'no key "observability"'],
    ['7:', 'no key "cpu_m"'],
  ] as const)
    t.true(
      lines.some(line => line.startsWith(place) && line.includes(text)),
      error?.message,
    );
});

test('readFunctionFile() says how an array of tables is written where there is one table', async t => {
  const root = configFolder(t, `${HEAD}[kv_namespaces]\nbinding = "KV"\nid = "kv"\n`);
  const message = /kv_namespaces is an object, expected an array.*: write \[\[kv_namespaces\]\]$/;
  await t.throwsAsync(readFunctionFile(root), { code: 'EDGE_CONFIG_INVALID', message });
});

test('loadFile() lets the options of the call replace those of the file', async t => {
  const root = configFolder(t, HEAD);
  const host = new EdgeHost({ storage: ':memory:' });
  t.teardown(() => host.close());
  const loaded = await host.account('acme').loadFile(root, { name: 'other' });
  t.is(loaded.name, 'other');
  t.is(loaded.account, 'acme');
});

const wrong = test.macro({
  title: (_, what: string) => `readFunctionFile() tells the line when ${what}`,
  exec: async (t, _: string, toml: string, place: string, message: RegExp) => {
    const root = configFolder(t, toml);
    const file = join(root, 'edgehost.toml');
    const error = await t.throwsAsync(readFunctionFile(file), { code: 'EDGE_CONFIG_INVALID', message });
    t.true(error?.message.startsWith(`${file}:${place}: `), error?.message);
    const [line, column] = place.split(':').map(Number);
    t.like(error, { location: { file, line, column } });
  },
});

test(wrong, 'the file is no TOML', 'name = "a"\nmain = \n', '2:8', /./);
test(wrong, 'a key is unknown', `${HEAD}\n# comment\nlanguage = "1"\n`, '5:1', /no key "language"; its keys are name,/);
test(
  wrong,
  'a key has another name on hosted platforms',
  `${HEAD}[[d1_databases]]\nbinding = "DB"\n`,
  '3:1',
  /the file has no key "d1_databases": write \[\[sql_databases\]\] with the same keys/,
);
test(
  wrong,
  'a key is misspelled far down',
  `${HEAD}[vars]\nA = """\nb = 1\n"""\n\n[[store_buckets]]\nbinding = "A1"\nbucket = "x"\n`,
  '10:1',
  /store_buckets\[0\] has no key "bucket"/,
);
test(
  wrong,
  'the same key is wrong in the second table only',
  `${HEAD}[[store_buckets]]\nbinding = "A"\nbucket_name = "files"\n[[store_buckets]]\nbinding = "1"\nbucket_name = "files"\n`,
  '7:1',
  /store_buckets\[1\]\.binding is the string "1", expected a JavaScript identifier/,
);
test(
  wrong,
  'a service has an unknown key',
  `${HEAD}[[services]]\nbinding = "A"\nservice = "auth"\nentry = "Admin"\n`,
  '6:1',
  /services\[0\] has no key "entry"/,
);
test(
  wrong,
  'an entrypoint is no name of an export',
  `${HEAD}[[services]]\nbinding = "A"\nservice = "auth"\nentrypoint = "a-b"\n`,
  '6:1',
  /services\[0\]\.entrypoint is the string "a-b", expected the name of an export of the main module/,
);
test(wrong, 'a bucket has no name', `${HEAD}[[store_buckets]]\nbinding = "A"\n`, '3:1', /bucket_name is missing/);
test(
  wrong,
  'a binding is given twice',
  `${HEAD}[[store_buckets]]\nbinding = "A"\nbucket_name = "files"\n[[store_buckets]]\nbinding = "A"\nbucket_name = "images"\n`,
  '7:1',
  /"A" is given twice/,
);
test(
  wrong,
  'a variable has the name of a bucket',
  `${HEAD}[vars]\nA = "1"\n[[store_buckets]]\nbinding = "A"\nbucket_name = "files"\n`,
  '4:1',
  /"A" is a variable and a binding of store_buckets/,
);
test(wrong, 'a variable cannot be written as JSON', `${HEAD}[vars]\nA = [1, inf]\n`, '4:1', /JSON cannot hold/);
test(wrong, 'a table is no table', `${HEAD}vars = 3\n`, '3:1', /vars is the number 3, expected an object/);
test(
  wrong,
  'a limit is unknown',
  `${HEAD}[limits]\ncpuMs = 50\n`,
  '4:1',
  /limits has no key "cpuMs"; its keys are cpu_ms, /,
);
test(
  wrong,
  'a limit is out of bounds',
  `${HEAD}[limits]\ncpu_ms = 0\n`,
  '4:1',
  /limits\.cpu_ms is the number 0, expected a whole number of ms from 1 on/,
);
test(wrong, 'a limit is no number', `${HEAD}limits.cpu_ms = "50"\n`, '3:1', /limits\.cpu_ms is the string "50"/);
test(wrong, 'the date is none', `${HEAD}compatibility_date = "2024-02-30"\n`, '3:1', /2024-02-30/);
test(
  wrong,
  'the date is not quoted',
  `${HEAD}compatibility_date = 2024-02-03\n`,
  '3:1',
  /expected a date as the string/,
);
test(wrong, 'a route has a star in the middle', `${HEAD}routes = ["a.com/*", "a.*.com/"]\n`, '3:1', /a\.\*\.com/);
test(
  wrong,
  'a route has an unknown mode',
  `${HEAD}[[routes]]\npattern = "a.com/*"\nmode = "open"\n`,
  '5:1',
  /fail-open/,
);
test(wrong, 'route and routes are given', `${HEAD}routes = []\nroute = "a.com/*"\n`, '4:1', /both given/);
test(
  wrong,
  'a rule has an unknown type',
  `${HEAD}[[rules]]\ntype = "CompiledWasm"\nglobs = ["*"]\n`,
  '4:1',
  /expected one of 'ESModule', 'Text'/,
);
test(wrong, 'a rule has no globs', `${HEAD}[[rules]]\ntype = "Text"\n`, '3:1', /globs/);
test(wrong, 'the main file is not there', 'name = "a"\nmain = "missing.js"\n', '2:1', /no such file/);
test(wrong, 'the name is not one', 'name = "a b"\nmain = "index.js"\n', '1:1', /letters/);
test(wrong, 'the lines end with CR LF', 'name = "a"\r\nmain = "index.js"\r\nfoo = 1\r\n', '3:1', /no key "foo"/);

test('readFunctionFile() says what is missing when the file has no name', async t => {
  const root = configFolder(t, 'main = "index.js"\n');
  await t.throwsAsync(readFunctionFile(root), {
    code: 'EDGE_CONFIG_INVALID',
    message: /edgehost\.toml: name is missing/,
  });
});

test('readFunctionFile() says so when there is no file', async t => {
  const root = folder(t, {});
  await t.throwsAsync(readFunctionFile(root), { code: 'EDGE_CONFIG_INVALID', message: /no such file/ });
  await t.throwsAsync(readFunctionFile(join(root, 'a', 'b.toml')), { code: 'EDGE_CONFIG_INVALID', message: /ENOENT/ });
});

test('readFunctionFile() refuses a file that is too large to be one', async t => {
  const root = configFolder(t, `# ${'x'.repeat(256 * 1024)}\n${HEAD}`);
  await t.throwsAsync(readFunctionFile(root), { code: 'EDGE_CONFIG_INVALID', message: /at most 262144/ });
});

test('readFunctionFile() tells file, line and column of an import of nothing', async t => {
  const root = folder(t, { 'edgehost.toml': HEAD, 'index.js': `// line 1\nexport * from   './missing.js';\n${HELLO}` });
  const error = await t.throwsAsync(readFunctionFile(root), {
    code: 'EDGE_SCRIPT_IMPORT',
    message: /index\.js:2:17: ".\/missing\.js"/,
  });
  t.like(error, { location: { file: 'index.js', line: 2, column: 17 } });
});

test('readFunctionFile() says what keeps a file of WebAssembly, or of no known kind, from being a module', async t => {
  for (const [name, message] of [
    ['a.wasm', /index\.js:1:8: .*"a\.wasm" is WebAssembly, which is not available in functions/],
    ['a.xyz', /index\.js:1:8: .*"a\.xyz" is a file of no known kind; known are \.js, /],
  ] as const) {
    const root = folder(t, { 'edgehost.toml': HEAD, 'index.js': `import './${name}';`, [name]: 'x' });
    await t.throwsAsync(readFunctionFile(root), { code: 'EDGE_SCRIPT_IMPORT', message });
  }
});

test('readFunctionFile() follows import() of a literal and leaves computed and bare ones to the runtime', async t => {
  const root = folder(t, {
    'edgehost.toml': HEAD,
    'index.js': "import 'node:fs';\nimport(name);\nimport('./lazy.js');\n// import './comment.js'\n",
    'lazy.js': 'export default 1;\n',
  });
  const { source } = await readFunctionFile(root);
  t.deepEqual(typeof source === 'string' ? [] : Object.keys(source?.modules ?? {}), ['index.js', 'lazy.js']);
});

test('readFunctionFile() follows circular imports once', async t => {
  const root = folder(t, {
    'edgehost.toml': HEAD,
    'index.js': "import './a.js';\n",
    'a.js': "import './index.js';\nimport './a.js';\n",
  });
  const { source } = await readFunctionFile(root);
  t.deepEqual(typeof source === 'string' ? [] : Object.keys(source?.modules ?? {}), ['index.js', 'a.js']);
});

test('readFunctionFile() takes along the source maps that its modules name', async t => {
  const root = folder(t, {
    'edgehost.toml': HEAD,
    'index.js': "import './lib/a.js';\n//# sourceMappingURL=maps/index.js.map\n",
    'lib/a.js': '//# sourceMappingURL=a.js.map',
    'lib/a.js.map': '{}',
    'maps/index.js.map': '{}',
    'unnamed.js.map': '{}',
  });
  const { source } = await readFunctionFile(root);
  t.deepEqual(typeof source === 'string' ? [] : Object.keys(source?.modules ?? {}).sort(), [
    'index.js',
    'lib/a.js',
    'lib/a.js.map',
    'maps/index.js.map',
  ]);
});

for (const [what, url] of Object.entries({
  'is not there': 'index.js.map',
  'is outside of the folder': '../secret.map',
  'is of another host': 'https://example.com/index.js.map',
  'is of another ending': '../secret.txt',
  'has a zero in its name': 'a\0.map',
})) {
  test(`readFunctionFile() leaves out a source map that ${what}`, async t => {
    const root = folder(t, {
      'plugin/edgehost.toml': HEAD,
      'plugin/index.js': `${HELLO}//# sourceMappingURL=${url}`,
      'secret.map': 'secret',
      'secret.txt': 'secret',
    });
    const { source } = await readFunctionFile(join(root, 'plugin'));
    t.deepEqual(typeof source === 'string' ? [] : Object.keys(source?.modules ?? {}), ['index.js']);
  });
}

test('attack: a source map that is a link to a file outside of the folder reads nothing', async t => {
  const root = folder(t, {
    'plugin/edgehost.toml': HEAD,
    'plugin/index.js': `${HELLO}//# sourceMappingURL=index.js.map`,
    'secret.txt': 'secret',
  });
  symlinkSync(join(root, 'secret.txt'), join(root, 'plugin/index.js.map'));
  await t.throwsAsync(readFunctionFile(join(root, 'plugin')), {
    code: 'EDGE_SCRIPT_IMPORT',
    message: /link to a file outside/,
  });
});

test('attack: an import of a file outside of the folder reads nothing', async t => {
  const root = folder(t, {
    'plugin/edgehost.toml': HEAD,
    'plugin/index.js': "import secret from '../secret.txt';\n",
    'secret.txt': 'secret',
  });
  await t.throwsAsync(readFunctionFile(join(root, 'plugin')), {
    code: 'EDGE_SCRIPT_IMPORT',
    message: /outside of the function's folder/,
  });
});

test('attack: assets of a folder outside of the folder are refused, but for development', async t => {
  const root = folder(t, {
    'plugin/edgehost.toml': 'name = "a"\n[assets]\ndirectory = ".."\n',
    'secret.txt': 'secret',
  });
  await t.throwsAsync(readFunctionFile(join(root, 'plugin')), {
    code: 'EDGE_CONFIG_INVALID',
    message: /outside of the folder of the file/,
  });
  await t.notThrowsAsync(readFunctionFile(join(root, 'plugin'), undefined, { isDevelopment: true }));
});

test('attack: a link to a file outside of the folder reads nothing', async t => {
  const root = folder(t, {
    'plugin/edgehost.toml': HEAD,
    'plugin/index.js': "import secret from './innocent.txt';\n",
    'secret.txt': 'secret',
  });
  symlinkSync(join(root, 'secret.txt'), join(root, 'plugin/innocent.txt'));
  await t.throwsAsync(readFunctionFile(join(root, 'plugin')), {
    code: 'EDGE_SCRIPT_IMPORT',
    message: /link to a file outside/,
  });
});

test('attack: a main file that is a link to elsewhere is refused', async t => {
  const root = folder(t, { 'plugin/edgehost.toml': HEAD, 'secret.js': HELLO });
  symlinkSync(join(root, 'secret.js'), join(root, 'plugin/index.js'));
  await t.throwsAsync(readFunctionFile(join(root, 'plugin')), {
    code: 'EDGE_CONFIG_INVALID',
    message: /outside of the folder/,
  });
});

test('attack: a module named __proto__ is a module like any other', async t => {
  const root = folder(t, { 'edgehost.toml': HEAD, 'index.js': "import './__proto__';\n", '__proto__.js': HELLO });
  const { source } = await readFunctionFile(root);
  t.deepEqual(typeof source === 'string' ? [] : Object.keys(source?.modules ?? {}), ['index.js', '__proto__.js']);
});

test('attack: nesting that exhausts a parser ends nothing but the load', async t => {
  const deep = `${'('.repeat(200_000)}1${')'.repeat(200_000)}`;
  const root = folder(t, { 'edgehost.toml': `${HEAD}`, 'index.js': `import './a.js';\n${deep}` });
  const { source } = await readFunctionFile(root);
  t.deepEqual(typeof source === 'string' ? [] : Object.keys(source?.modules ?? {}), ['index.js']);
});

test('attack: a configuration file of nothing but brackets is an error of its own', async t => {
  const root = configFolder(t, `${HEAD}vars.A = ${'['.repeat(100_000)}`);
  await t.throwsAsync(readFunctionFile(root), { code: 'EDGE_CONFIG_INVALID' });
});

test('attack: a configuration file that is slow to search is told without a line', async t => {
  const root = configFolder(t, `${HEAD}[vars]\nA = """${'\na = 1'.repeat(30_000)}"""\n[b]\n`);
  const error = await t.throwsAsync(readFunctionFile(root), { code: 'EDGE_CONFIG_INVALID', message: /no key "b"/ });
  t.like(error, { location: { line: undefined } });
});
