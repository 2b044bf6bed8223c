import { rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { answering, edgehost, folderOf, Program, put, replace, textOf } from './program.js';

const DEV = ['dev', '--port', '0', '--json'];

const TYPESCRIPT = `import { greet } from 'greeter';
import { name } from './lib/name';

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    console.warn('asked for', pathname);
    if (pathname === '/throws') throw new Error('on purpose');
    return new Response(greet(name));
  },
};
`;

const PROJECT = {
  'index.ts': TYPESCRIPT,
  'lib/name.ts': "export const name: string = 'first';\n",
  'node_modules/greeter/package.json': '{"name":"greeter","type":"module","exports":"./main.js"}',
  'node_modules/greeter/main.js': 'export function greet(name) { return "hello " + name; }\n',
};

test('edgehost dev bundles TypeScript and packages, reloads what is changed, and keeps the version that loads', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, PROJECT);
  const dev = new Program(t, DEV, { cwd });
  t.like(await dev.event('loaded'), { isReload: false, isBundled: true });
  const url = await dev.url();
  t.is(await textOf(url), 'hello first');
  t.like(await dev.event('log'), { level: 'warn', message: 'asked for /' });
  t.like(await dev.event('invocation'), { method: 'GET', url: `${url}/`, status: 200, outcome: 'ok' });

  await put(join(cwd, 'lib/name.ts'), "export const name: string = 'second';\n");
  t.like(await dev.event('loaded'), { isReload: true });
  t.is(await textOf(url), 'hello second');

  await put(join(cwd, 'lib/name.ts'), 'export const name: string = ;\n');
  const failed = await dev.event('error');
  t.like(failed, { isServing: true, location: { line: 1, column: 29 } });
  t.regex(String(failed.message), /lib\/name\.ts:1:29: Unexpected ";"/);
  t.is(await textOf(url), 'hello second');

  await replace(join(cwd, 'lib/name.ts'), "export const name: string = 'third';\n");
  t.like(await dev.event('loaded'), { isReload: true });
  t.is(await textOf(url), 'hello third');
  t.is((await dev.stop()).code, 0);
  await t.throwsAsync(fetch(url));
});

test('edgehost dev shows where in the source a function has thrown', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, PROJECT);
  const dev = new Program(t, ['dev', '--port', '0'], { cwd });
  const [, url = ''] = await dev.printed(/Listening on (\S+)/);
  t.is((await fetch(`${url}/throws`)).status, 500);
  await dev.printed(/GET \/throws 500 .* exception\n {2}.*on purpose.*\n {4}.*index\.ts:8:/);
  const { code, out } = await dev.stop('SIGINT');
  t.is(code, 0);
  t.regex(out, /warn {2}\S+ asked for \/throws/);
  t.regex(out, /stopped\n$/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are what must not be there
  t.notRegex(out, /\x1b/);
});

for (const [env, isColoured] of [
  [{ FORCE_COLOR: '1' }, true],
  [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false],
] as const) {
  test(`edgehost dev prints ${isColoured ? 'colours' : 'no colours'} with ${Object.keys(env).join(' and ')}`, async t => {
    const cwd = await folderOf(t, { 'index.js': answering('x') });
    const dev = new Program(t, ['dev', '--port', '0'], { cwd, env });
    await dev.printed(/Listening on/);
    t.is(dev.out.includes('\u001b[32mloaded'), isColoured);
    await dev.stop();
  });
}

test('edgehost dev ends with 1 when another process has its storage open, and says what to do', async t => {
  t.timeout(240_000);
  const configuration = 'name = "x"\nmain = "index.js"\n[[store_buckets]]\nbinding = "FILES"\nbucket_name = "files"\n';
  const cwd = await folderOf(t, { 'index.js': answering('x'), 'edgehost.toml': configuration });
  const first = new Program(t, DEV, { cwd });
  await first.url();
  const { code, out, err } = await edgehost(t, DEV, { cwd });
  t.is(code, 1);
  t.is(out, '');
  t.regex(err, /^edgehost dev: .*\.edgehost": another host has the .* directory open.*\(EDGE_STORAGE_LOCKED\)\n/);
  t.regex(err, /\nEnd the process that has it open, .*--persist DIR.*--persist :memory:/);
  const beside = new Program(t, [...DEV, '--persist', ':memory:'], { cwd });
  t.is(await textOf(await beside.url()), 'x');
  await first.stop();
  await beside.stop();
});

test('edgehost dev loses no request while versions change', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, { 'index.js': answering('0') });
  const dev = new Program(t, DEV, { cwd });
  const url = await dev.url();
  let isFinished = false;
  const answers: string[] = [];
  const ask = async (): Promise<void> => {
    while (!isFinished) {
      const response = await fetch(url);
      answers.push(response.status === 200 ? await response.text() : `status ${response.status}`);
    }
  };
  const asking = Promise.all([ask(), ask(), ask()]);
  for (let version = 1; version <= 5; version++) {
    await put(join(cwd, 'index.js'), answering(String(version)));
    await dev.event('loaded', { isReload: true });
  }
  isFinished = true;
  await asking;
  t.is(await textOf(url), '5');
  t.deepEqual(
    answers.filter(answer => !/^[0-5]$/.test(answer)),
    [],
  );
  await dev.stop();
});

test('edgehost dev serves a folder of functions, each below its name and by its routes, and sees them come and go', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'hello.js': answering('hello'),
    'notes/edgehost.toml': 'name = "notes"\nmain = "main.js"\nroutes = ["*/api/*", "notes.localhost/*"]\n',
    'notes/main.js': answering('notes'),
    'notes/_helper.js': 'this is no function',
    'README.md': 'nor this',
  });
  const dev = new Program(t, [...DEV, '.'], { cwd });
  const { url, functions } = await dev.event('listening');
  t.like(functions, [
    { name: 'hello', urls: [`${url}/hello/`] },
    { name: 'notes', urls: [`${url}/api/`, `${url}/notes/`] },
  ]);
  t.is(await textOf(`${url}/hello`), 'hello');
  t.is(await textOf(`${url}/hello/there`), 'hello');
  t.is(await textOf(`${url}/api/x`), 'notes');
  const none = await fetch(`${url}/`);
  t.is(none.status, 404);
  t.is(
    await none.text(),
    'No function answers /; paths that are answered: /hello, /hello/*, /api/*, /notes, /notes/*\n',
  );
  t.like(await dev.event('refused'), { method: 'GET', path: '/', status: 404 });

  await put(join(cwd, 'later/index.js'), answering('later'));
  await dev.event('loaded', { function: 'later' });
  t.is(await textOf(`${url}/later/`), 'later');
  await rm(join(cwd, 'hello.js'));
  await dev.event('unloaded', { function: 'hello' });
  t.is((await fetch(`${url}/hello`)).status, 404);
  await put(join(cwd, 'notes/edgehost.toml'), 'name = "memos"\nmain = "main.js"\n');
  await dev.event('unloaded', { function: 'notes' });
  t.is(await textOf(`${url}/memos/`), 'notes');
  await dev.stop();
});

test('edgehost dev waits for a function that does not load, and says meanwhile why', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, { 'edgehost.toml': 'name = "late"\nmain = "src/main.js"\n', 'src/other.js': '' });
  const dev = new Program(t, DEV, { cwd });
  t.like(await dev.event('error'), {
    code: 'EDGE_CONFIG_INVALID',
    message: 'edgehost.toml:2:1: main is "src/main.js", and there is no such file',
    location: { file: 'edgehost.toml', line: 2, column: 1 },
    isServing: false,
  });
  const url = await dev.url();
  const response = await fetch(url);
  t.is(response.status, 503);
  t.regex(await response.text(), /main is "src\/main\.js", and there is no such file/);
  await put(join(cwd, 'edgehost.toml'), 'name = "late"\nmain = "src/other.js"\n');
  t.like(await dev.event('error'), { code: 'EDGE_SCRIPT_NO_HANDLER' });
  await put(join(cwd, 'src/other.js'), answering('here'));
  await dev.event('loaded');
  t.is(await textOf(url), 'here');
  await dev.stop();
});

test('edgehost dev sees a file that an import lacked, in a folder that is new, and a folder that was replaced', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'index.js': "import { text } from './lib/text.js';\nexport default { fetch: () => new Response(text) };\n",
  });
  const dev = new Program(t, DEV, { cwd });
  await dev.event('error');
  const url = await dev.url();
  // The folder comes with its file in it: one that is written into it a moment later may come before the folder is watched.
  const bring = async (text: string): Promise<void> => {
    await put(join(`${cwd}-lib`, 'text.js'), `export const text = "${text}";\n`);
    await rename(`${cwd}-lib`, join(cwd, 'lib'));
  };
  await bring('one');
  await dev.event('loaded');
  t.is(await textOf(url), 'one');
  await rm(join(cwd, 'lib'), { recursive: true });
  await dev.event('error', { isServing: true });
  await bring('two');
  await dev.event('loaded');
  // The new folder is watched, from a moment after that event on.
  do await put(join(cwd, 'lib/text.js'), 'export const text = "three";\n');
  while ((await textOf(url)) !== 'three');
  await dev.stop();
});

test('edgehost dev gives functions the variables of --env-file, and its buckets are there the next time', async t => {
  t.timeout(240_000);
  const script = `export default {
    async fetch(request, env) {
      if (request.method === 'PUT') await env.FILES.put('key', request.body);
      const stored = await env.FILES.get('key');
      return new Response([env.GREETING, env.TOKEN, await stored?.text()].join(' '));
    },
  };`;
  const cwd = await folderOf(t, {
    'fn/index.js': script,
    'fn/edgehost.toml': `name = "fn"\nmain = "index.js"\n[vars]\nGREETING = "configured"\n[[store_buckets]]\nbinding = "FILES"\nbucket_name = "files"\n`,
    '.env': 'GREETING=hello\nTOKEN="s3cret" # a comment\n',
  });
  const args = [...DEV, 'fn', '--env-file', '.env', '--persist', 'kept'];
  const first = new Program(t, args, { cwd });
  const url = await first.url();
  t.is(await textOf(url, { method: 'PUT', body: 'stored' }), 'hello s3cret stored');
  await put(join(cwd, '.env'), 'TOKEN=changed\n');
  // A reload may have seen the file while it was being written.
  do await first.event('loaded', { isReload: true });
  while ((await textOf(url)) === 'configured  stored');
  t.is(await textOf(url), 'configured changed stored');
  t.is((await first.stop()).code, 0);
  const second = new Program(t, args, { cwd });
  t.is(await textOf(await second.url()), 'configured changed stored');
  await second.stop();
});

for (const [how, isGroup] of [
  ['by a signal', false],
  ['by Ctrl-C in a terminal, which goes to all its processes', true],
] as const) {
  test(`edgehost dev finishes what it answers when it is stopped ${how}`, async t => {
    const cwd = await folderOf(t, {
      'index.ts': `export default {
        async fetch(): Promise<Response> {
          console.log('begun');
          await new Promise(resolve => setTimeout(resolve, 300));
          return new Response('to the end');
        },
      };`,
    });
    const dev = new Program(t, DEV, { cwd, isGroup });
    const answer = textOf(await dev.url());
    await dev.event('log', { message: 'begun' });
    const stopped = isGroup ? dev.interrupt() : dev.stop();
    t.is(await answer, 'to the end');
    const { code, err } = await stopped;
    t.deepEqual([code, err], [0, '']);
  });
}

test('edgehost dev serves static files of a wrangler.toml without a script, and sees their changes', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'wrangler.toml': 'name = "site"\ncompatibility_date = "2026-01-01"\n[assets]\ndirectory = "public"\n',
    'public/index.html': 'first',
  });
  const dev = new Program(t, DEV, { cwd });
  await dev.event('loaded');
  const url = await dev.url();
  t.is(await textOf(url), 'first');
  await put(join(cwd, 'public/index.html'), 'second');
  t.like(await dev.event('loaded'), { isReload: true });
  t.is(await textOf(url), 'second');
  await put(join(cwd, 'public/new/page.html'), 'page');
  await dev.event('loaded');
  t.is(await textOf(`${url}/new/page`), 'page');
  t.is((await dev.stop()).code, 0);
});

test('edgehost dev ends when the package manager that has started it is gone', async t => {
  const cwd = await folderOf(t, { 'index.js': answering('x') });
  const dev = new Program(t, DEV, { cwd, env: { npm_lifecycle_event: 'npx' }, isInShell: true });
  const url = await dev.url();
  t.is(await textOf(url), 'x');
  await dev.stop();
  await dev.event('stopped');
  await t.throwsAsync(fetch(url));
});

test('edgehost dev applies the plan, and prints limits that are passed and requests that are refused', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, { 'index.js': 'export default { fetch() { for (;;); } };\n' });
  const dev = new Program(t, [...DEV, '--plan', 'free'], { cwd });
  const url = await dev.url();
  t.is((await fetch(url)).status, 503);
  t.like(await dev.event('invocation'), { outcome: 'exceededCpu', error: { code: 'EDGE_CPU_LIMIT' } });
  t.is((await fetch(`${url}/${'x'.repeat(20_000)}`)).status, 414);
  t.like(await dev.event('refused'), { status: 414 });
  await dev.stop();
});

test('edgehost dev says what is wrong with its arguments, and leaves nothing running', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'index.js': answering('x'),
    'notes.txt': '',
    'empty/x.md': '',
    'bad.env': 'not-a-name=1\n',
  });
  const taken = createServer();
  await new Promise<void>(resolve => {
    taken.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => taken.close());
  const address = taken.address();
  const port = typeof address === 'object' ? String(address?.port) : '';
  for (const [args, code, text] of [
    [['--port', port], 1, /^edgehost dev: Cannot listen on 127\.0\.0\.1:\d+: another program listens there/],
    [['nowhere'], 2, /There is no file or folder nowhere/],
    [['notes.txt'], 2, /notes\.txt is not a function/],
    [['empty'], 2, /There is no function in empty: .*edgehost init/],
    [['--env-file', 'bad.env'], 2, /bad\.env: "not-a-name" is not a name for a variable/],
    [['--plan', 'gold'], 2, /Option --plan is "gold", expected one of free, /],
    [['--alow', '::1'], 2, /There is no option --alow; did you mean --allow\?/],
    [['--allow', 'everything'], 2, /everything/],
  ] as const) {
    const ended = await edgehost(t, ['dev', ...args], { cwd });
    t.is(ended.code, code, ended.err);
    t.regex(ended.err, text);
    t.notRegex(ended.err, /\n {4}at /);
  }
});
