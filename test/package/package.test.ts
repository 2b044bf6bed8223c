/** The package as it would be published: packed, installed into an empty project, used. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import { blocksOf, ROOT } from '../docs/markdown.js';
import { installedProject, type Packed } from './installed-project.js';

const run = promisify(execFile);
const test = anyTest.serial as TestFn<never>; // no context; one project, made once
let project = '';
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const APP_LIB = ['es2023', 'esnext.disposable'];
const MAX_TARBALL_BYTES = 2000 * 1024;

let packed: Packed;

test.before('pack and install', async t => {
  t.timeout(300_000);
  ({ project, packed } = await installedProject());
});

test.after.always(() => rmSync(project, { recursive: true, force: true }));

test('the tarball has what runs and what documents it, and no more', t => {
  t.log(`${packed.size} bytes, ${packed.files.length} files`);
  t.true(packed.size < MAX_TARBALL_BYTES, `${packed.size} bytes`);
  const paths = packed.files.map(({ path }) => path);
  for (const path of [
    'dist/src/bundle/index.js',
    'dist/src/bundle/ai.js',
    'dist/src/bundle/cli.js',
    'dist/src/bundle/backend.js',
    'dist/src/sqlite/engine/main.js',
    'dist/src/index.cjs',
    'dist/src/next.js',
    'dist/src/package-files.js',
    'dist/src/index.d.cts',
    'dist/src/ai.d.ts',
    'dist/src/index.d.ts',
    'dist/src/worker.d.ts',
    'dist/src/worker/dom.d.ts',
    'dist/src/worker/standard.d.ts',
    'dist/src/worker/web.d.ts',
    'dist/src/isolate/guest.bundle.js',
    'dist/src/isolate/guest-node.bundle.js',
    'dist/src/isolate/parser.bundle.cjs',
    'dist/src/isolate/typescript.bundle.cjs',
    'dist/src/isolate/worker.bundle.cjs',
    'dist/src/pool/cell/cell-main.bundle.cjs',
    'dist/src/native/edgehost-confine-linux-x64',
    'dist/src/native/edgehost-confine-linux-arm64',
  ]) {
    t.true(paths.includes(path), path);
  }
  const odd =
    /^(dist\/src\/.*\.(c?js|d\.c?ts)|dist\/src\/(bundle|isolate)\/LICENSES\.txt|dist\/src\/native\/edgehost-confine-linux-(x64|arm64)|native\/confine\.c|docs\/[^/]*\.md|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/;
  t.deepEqual(
    paths.filter(path => !odd.test(path)),
    [],
  );
});

test('the licences of packages whose code is in bundles go along with it', t => {
  const licenses = (folder: string): string =>
    readFileSync(join(project, 'node_modules/edgehost/dist/src', folder, 'LICENSES.txt'), 'utf8');
  for (const [folder, names] of [
    [
      'bundle',
      ['abstract-level', 'acorn', 'ajv', 'fast-uri', 'http-cache-semantics', 'lru-cache', 'p-queue', 'smol-toml'],
    ],
    ['isolate', ['acorn', 'piscina', 'typescript', 'urlpattern-polyfill', 'web-streams-polyfill']],
  ] as const) {
    const text = licenses(folder);
    for (const name of names) t.regex(text, new RegExp(`^==== ${name} \\d[^]*?copyright`, 'im'), name);
  }
});

test('the quick start of the README runs in a project that installed the tarball', async t => {
  t.timeout(120_000);
  writeFileSync(join(project, 'quick-start.js'), quickStart());
  const { stdout } = await run(process.execPath, ['quick-start.js'], { cwd: project, timeout: 60_000 });
  t.is(stdout, 'Hello!\n');
});

test('the quick start runs where packages are installed as links', async t => {
  t.timeout(300_000);
  const linked = join(project, 'linked');
  mkdirSync(linked);
  writeFileSync(join(linked, 'package.json'), '{"name":"linked","private":true,"type":"module"}');
  const args = ['install', '--install-strategy=linked', '--prefer-offline', '--no-audit', '--no-fund'];
  await run('npm', [...args, join(project, packed.filename)], { cwd: linked });
  writeFileSync(join(linked, 'quick-start.js'), quickStart());
  const { stdout } = await run(process.execPath, ['quick-start.js'], { cwd: linked, timeout: 60_000 });
  t.is(stdout, 'Hello!\n');
});

test('the command edgehost is installed', async t => {
  const { stdout } = await run(process.execPath, [join(project, 'node_modules/.bin/edgehost'), '--help']);
  t.regex(stdout, /Usage: edgehost/);
});

test('edgehost dev, serve and check say how to install esbuild where it is needed and not there', async t => {
  const bin = join(project, 'node_modules/.bin/edgehost');
  writeFileSync(join(project, 'typed.ts'), 'export default { fetch: (): Response => new Response() };');
  writeFileSync(join(project, 'imports.js'), "import { x } from 'some-package';\nexport default { fetch: () => x };");
  writeFileSync(join(project, 'plain.js'), 'export default { fetch: () => new Response() };');
  for (const [file, why] of [
    ['typed.ts', 'typed\\.ts is TypeScript, which esbuild compiles'],
    ['imports.js', 'imports\\.js imports the package "some-package", which esbuild bundles'],
  ]) {
    const failed = await t.throwsAsync(run(process.execPath, [bin, 'check', `${file}`], { cwd: project }));
    const output = failed !== undefined && 'stdout' in failed ? String(failed.stdout) : '';
    t.regex(output, new RegExp(`${why}\\. It is not installed here: npm install --save-dev esbuild\\n`));
  }
  const { stdout } = await run(process.execPath, [bin, 'check', 'plain.js'], { cwd: project });
  t.regex(stdout, /^ok/);
});

test('an application in TypeScript compiles against the installed package, with skipLibCheck: false', async t => {
  t.timeout(120_000);
  writeFileSync(
    join(project, 'app.ts'),
    `import { EdgeError, EdgeHost, type EdgeFunction, type StoreObject } from 'edgehost';
     const host = new EdgeHost({ storage: ':memory:', limits: { cpuMs: { fetch: 5 } }, egress: { allow: ['10.0.0.0/8'] } });
     const fn: EdgeFunction = await host.account('a', { plan: 'free' }).load('', { name: 'b', crons: ['* * * * *'] });
     const object: StoreObject | null = await host.bucket('files').head('key');
     host.on('invocation', event => event.outcome === 'exceededCpu' && object?.etag);
     try { await fn.fetch(new Request('https://a/')); } catch (error) { if (error instanceof EdgeError) error.code satisfies string; }
     // @ts-expect-error there is no such option
     new EdgeHost({ store: './data' });
    `,
  );
  for (const lib of [APP_LIB, [...APP_LIB, 'dom']]) {
    await t.notThrowsAsync(compile('app.ts', lib, 'node'));
  }
});

for (const module of ['node16', 'nodenext']) {
  test(`an application in CommonJS compiles under module ${module}, and runs`, async t => {
    t.timeout(120_000);
    writeFileSync(
      join(project, 'app.cts'),
      `import { EdgeError, EdgeHost, type EdgeFunction, type LimitOverrides } from 'edgehost';
       const limits: LimitOverrides = { cpuMs: 50 };
       async function main(): Promise<void> {
         const host: EdgeHost = new EdgeHost({ storage: ':memory:', limits });
         host.on('invocation', event => event.outcome satisfies string);
         const fn: EdgeFunction = await host.load('export default { fetch() { throw new Error("no"); } };');
         const error: unknown = await fn.fetch('https://a/').catch((reason: unknown) => reason);
         console.log(error instanceof EdgeError && error.code);
         await host.close();
         // @ts-expect-error there is no such option
         new EdgeHost({ store: './data' });
       }
       main().catch(error => console.log(error instanceof TypeError));
      `,
    );
    await t.notThrowsAsync(compile('app.cts', APP_LIB, 'node', { module, noEmit: false }));
    const { stdout, stderr } = await run(process.execPath, [join(project, 'app.cjs')], { cwd: project });
    t.deepEqual([stdout, stderr], ['EDGE_HANDLER_THREW\ntrue\n', '']);
  });
}

test('import and require() give the same, and the types of both name every value', async t => {
  const program = `const required = require('edgehost');
    import('edgehost').then(imported => {
      const names = Object.keys(imported).filter(name => imported[name] === required[name]);
      console.log(JSON.stringify([Object.keys(imported), names]));
    });`;
  const { stdout } = await run(process.execPath, ['--input-type=commonjs', '--eval', program], { cwd: project });
  const [all, same]: string[][] = JSON.parse(stdout);
  t.deepEqual(same, all);
  const types = readFileSync(join(project, 'node_modules/edgehost/dist/src/index.d.cts'), 'utf8');
  t.deepEqual([...types.matchAll(/declare const (\w+)/g)].map(match => match[1] ?? '').sort(), all?.sort());
});

test('edgehost init of the tarball writes where the tarball is', async t => {
  const main = join(project, 'node_modules/edgehost/dist/src/bundle/cli.js');
  const { stdout } = await run(process.execPath, [main, 'init', 'hello'], { cwd: project });
  t.regex(stdout, /does not come from a registry: package\.json takes it from .*\.tgz\./);
  const { devDependencies } = JSON.parse(readFileSync(join(project, 'hello/package.json'), 'utf8'));
  t.is(devDependencies.edgehost, `file:../${packed.filename}`);
});

for (const [types, lib] of [
  ['edgehost/worker', ['es2022']],
  ['edgehost/worker/dom', ['es2023', 'webworker']],
  ['edgehost/worker/dom', ['es2023', 'dom']],
] as const) {
  test(`functions in TypeScript compile with ${types}, lib ${lib} and no types of Node`, async t => {
    t.timeout(120_000);
    writeFileSync(
      join(project, 'function.ts'),
      `interface Env { FILES: StoreBucket; TOKEN: string }
       export default {
         async fetch(request, env, context) {
           const stored: StoreObject | null = await env.FILES.put('a', request.body ?? 'x', { onlyIf: request.headers });
           const object = await env.FILES.get('a', { range: { suffix: 3 } });
           if (object === null || !('body' in object)) return new Response(null, { status: 404 });
           context.waitUntil(env.FILES.delete(['a', 'b']));
           const headers = new Headers({ ETag: stored?.httpEtag ?? '' });
           object.writeHttpMetadata(headers);
           return new Response(object.body, { headers });
         },
         async scheduled(controller, env) { await env.FILES.put(controller.cron, String(controller.scheduledTime)); },
         queue(batch) { for (const message of batch.messages) message.retry({ delaySeconds: 1 }); },
       } satisfies ExportedHandler<Env>;
       // @ts-expect-error functions have no Node
       process.exit();
      `,
    );
    writeFileSync(
      join(project, 'script.ts'),
      `addEventListener('fetch', event => event.respondWith(new Response(event.request.url)));
       addEventListener('scheduled', event => event.waitUntil(Promise.resolve(event.cron)));
      `,
    );
    await t.notThrowsAsync(compile('function.ts', lib, types));
    await t.notThrowsAsync(compile('script.ts', lib, types));
  });
}

test('the functions of the examples compile with edgehost/worker alone', async t => {
  t.timeout(120_000);
  cpSync(join(ROOT, 'examples/dev/functions'), join(project, 'functions'), { recursive: true });
  const options = { module: 'esnext', moduleResolution: 'bundler', rootDir: '..' };
  for (const file of ['functions/hello.ts', 'functions/notes/index.ts'])
    await t.notThrowsAsync(compile(file, ['es2022'], 'edgehost/worker', options));
});

test('a function that uses what browsers have does not compile with edgehost/worker', async t => {
  t.timeout(120_000);
  const names = ['document', 'indexedDB', 'RTCPeerConnection', 'XMLHttpRequest'];
  writeFileSync(join(project, 'browser.ts'), `${names.map(name => `void ${name};`).join('\n')}\nexport {};\n`);
  const error = await t.throwsAsync(compile('browser.ts', ['es2022'], 'edgehost/worker'));
  for (const name of names) t.regex(error?.message ?? '', new RegExp(`Cannot find name '${name}'`));
});

const FRAMEWORKS = join(ROOT, 'test/package/frameworks');
/** Those that the programs import, from the repository. */
const PACKAGES = [
  '@hono/node-server',
  '@nestjs/common',
  '@nestjs/core',
  'express',
  'fastify',
  'hono',
  'jest',
  'koa',
  'reflect-metadata',
  'vitest',
];

for (const name of ['express', 'fastify', 'hono', 'koa', 'nest']) {
  test(`the installed package serves behind ${name}: bodies, cookies, streams`, async t => {
    t.timeout(120_000);
    const { stdout } = await run(process.execPath, [`${name}.mjs`], { cwd: frameworks(), timeout: 60_000 });
    t.is(stdout, 'ok\n');
  });
}

test('functions are tested by jest, as modules, with the installed package', async t => {
  t.timeout(120_000);
  const cwd = join(frameworks(), 'jest');
  const jest = [join(ROOT, 'node_modules/jest/bin/jest.js'), '--rootDir', cwd, '--config', '{"transform":{}}'];
  const { stderr } = await run(process.execPath, ['--experimental-vm-modules', ...jest], { cwd, timeout: 100_000 });
  t.regex(stderr, /Tests: +3 passed, 3 total/);
});

test('functions are tested by node:test with the installed package', async t => {
  t.timeout(120_000);
  const { stdout } = await run(process.execPath, ['--test', 'node-test.mjs'], { cwd: frameworks(), timeout: 100_000 });
  t.regex(stdout, /^# pass 1$/m);
});

test('functions are tested by vitest with the installed package', async t => {
  t.timeout(120_000);
  const cwd = join(frameworks(), 'vitest');
  const args = [
    join(ROOT, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--root',
    cwd,
    '--no-color',
    '--configLoader',
    'native',
  ];
  const { stdout } = await run(process.execPath, args, { cwd, timeout: 100_000 });
  t.regex(stdout, /Tests +3 passed/);
});

/** The programs within the project, which has the tarball; other packages are links. */
function frameworks(): string {
  const folder = join(project, 'frameworks');
  if (existsSync(folder)) return folder;
  cpSync(FRAMEWORKS, folder, { recursive: true });
  for (const name of PACKAGES) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link, 'dir');
  }
  return folder;
}

function quickStart(): string {
  return blocksOf('README.md').find(({ language }) => language === 'js')?.code ?? '';
}

/** The compiler says what is wrong on its standard output. */
async function compile(
  file: string,
  lib: readonly string[],
  types: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const folder = join(project, `ts-${file.replaceAll('/', '-')}`);
  mkdirSync(folder, { recursive: true });
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    target: 'es2022',
    module: 'nodenext',
    lib,
    types: [types],
    ...options,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [`../${file}`] }));
  try {
    await run(process.execPath, [TSC, '-p', folder], { cwd: project });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`${file} does not compile:\n${output}`, { cause: error });
  }
}

test('package.json names a home for every export', t => {
  const { exports, bin, main } = JSON.parse(readFileSync(join(project, 'node_modules/edgehost/package.json'), 'utf8'));
  const { types, require, default: file } = exports['.'];
  const targets = [
    types,
    file,
    require.types,
    require.default,
    main,
    exports['./next'].types,
    exports['./next'].default,
    exports['./worker'].types,
    exports['./worker/dom'].types,
    `./${bin.edgehost}`,
  ];
  const paths = packed.files.map(({ path }) => `./${path}`);
  t.deepEqual(
    targets.filter(target => !paths.includes(target)),
    [],
  );
});

test('an installed package starts the processes of SQL and of the services', async t => {
  t.timeout(120_000);
  // Optional: without node:sqlite an application installs it when it needs it.
  const sqlite = 'node_modules/@photostructure/sqlite';
  if (!existsSync(join(project, sqlite))) {
    mkdirSync(join(project, 'node_modules/@photostructure'), { recursive: true });
    symlinkSync(join(ROOT, sqlite), join(project, sqlite));
  }
  writeFileSync(
    join(project, 'processes.js'),
    `import { EdgeHost } from 'edgehost';
     const host = new EdgeHost({ storage: 'processes', backend: 'process' });
     const fn = await host.load(
       \`import { StatefulObject } from 'edgehost:workers';
       export class Counter extends StatefulObject {
         count() { return this.ctx.storage.sql.exec('SELECT 20 + 1 AS n').one().n; }
       }
       export default { async fetch(request, env) {
         const n = await env.DB.prepare('SELECT 20 + 1 AS n').first('n');
         return new Response(String(n + await env.COUNTER.getByName('a').count()));
       } };\`,
       { name: 'counter', sql: { DB: 'numbers' }, objects: { COUNTER: 'Counter' } },
     );
     process.stdout.write(await (await fn.fetch('https://example.com/')).text());
     await host.close();`,
  );
  const { stdout } = await run(process.execPath, ['processes.js'], { cwd: project, timeout: 60_000 });
  t.is(stdout, '42');
});
