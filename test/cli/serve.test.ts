import { access, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { answering, edgehost, folderOf, Program, put, textOf } from './program.js';

const FILES = {
  'server.toml': `
host = "127.0.0.1"
port = 0
storage = "data"

[[accounts]]
id = "acme"
zones = ["acme.test"]
functions = ["acme", { path = "extra.ts", name = "extra", routes = ["acme.test/extra"], env_file = "extra.env" }]

[[accounts]]
id = "globex"
plan = "free"
limits = { cpu_ms = 5 }
functions = ["globex"]
`,
  'acme/edgehost.toml':
    'name = "site"\nmain = "index.js"\nroutes = ["acme.test/*"]\n[[worker_loaders]]\nbinding = "LOADER"\n',
  'acme/index.js': `const code = { mainModule: 'site.js', modules: { 'site.js': ${JSON.stringify(answering('the site of acme'))} } };
  export default { fetch: (request, env) => env.LOADER.load(code).getEntrypoint().fetch(request) };`,
  'extra.ts': 'export default { fetch: (_: Request, env: { WORD: string }) => new Response(env.WORD) };',
  'extra.env': 'WORD=extra',
  'globex/one.js': answering('never called'),
  'globex/two/edgehost.toml': 'name = "two"\nmain = "two.js"\nroutes = ["*/two"]\n',
  'globex/two/two.js': `export default {
    async fetch() {
      console.log('begun');
      await new Promise(resolve => setTimeout(resolve, 300));
      return new Response('two');
    },
  };`,
};

test('edgehost serve serves accounts from a file by their routes, and finishes what it answers when it is stopped', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, FILES);
  const serve = new Program(t, ['serve', 'server.toml', '--json'], { cwd });
  t.regex(
    String((await serve.event('warning')).message),
    /^Function "one" of account "globex" is never called: it has no routes and no crons$/,
  );
  const { url, functions } = await serve.event('listening');
  t.is(Array.isArray(functions) ? functions.length : 0, 4);
  const ofAcme = (path: string) => textOf(`${url}${path}`, { headers: { 'x-forwarded-host': 'acme.test' } });
  // Without trust_proxy the header is the client's word alone.
  t.regex(await ofAcme('/'), /EDGE_NO_ROUTE/);
  const answer = textOf(`${url}/two`);
  await serve.event('log', { account: 'globex', message: 'begun' });
  const ended = serve.stop('SIGINT');
  t.is(await answer, 'two');
  t.is((await ended).code, 0);
});

test('edgehost serve takes the host name from a proxy with trust_proxy, and prints requests with log_requests', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, FILES);
  await put(join(cwd, 'server.toml'), `trust_proxy = true\nlog_requests = true\n${FILES['server.toml']}`);
  const serve = new Program(t, ['serve', 'server.toml', '--json'], { cwd });
  const url = await serve.url();
  const ofAcme = (path: string) => textOf(`${url}${path}`, { headers: { 'x-forwarded-host': 'acme.test' } });
  t.is(await ofAcme('/'), 'the site of acme');
  // The code that it has loaded has an event of its own.
  t.like(await serve.event('invocation', { function: 'site' }), { account: 'acme', status: 200 });
  t.is(await ofAcme('/extra'), 'extra');
  await serve.stop();
});

test('edgehost serve serves nothing when a function does not load, and the others with --keep-going', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, { ...FILES, 'acme/index.js': 'export default {' });
  const refused = await edgehost(t, ['serve', 'server.toml'], { cwd });
  t.is(refused.code, 1);
  t.regex(refused.out, /error acme\/acme \(EDGE_SCRIPT_SYNTAX\)\n.*index\.js:1:17/);
  t.regex(refused.err, /1 of the functions cannot be loaded; --keep-going serves the others/);
  const serve = new Program(t, ['serve', 'server.toml', '--keep-going', '--json'], { cwd });
  t.is(await textOf(`${await serve.url()}/two`), 'two');
  await serve.stop();
});

for (const keepGoing of [[], ['--keep-going']]) {
  test(`edgehost serve ${keepGoing.join()} ends with 1 when another process has its storage open, and says what to do`, async t => {
    t.timeout(240_000);
    const cwd = await folderOf(t, FILES);
    const first = new Program(t, ['serve', 'server.toml', '--json'], { cwd });
    await first.url();
    const { code, out, err } = await edgehost(t, ['serve', 'server.toml', ...keepGoing], { cwd });
    t.is(code, 1);
    t.is(out, '');
    t.regex(err, /^edgehost serve: .*"[^"]*data": another host has the .* directory open.*\(EDGE_STORAGE_LOCKED\)\n/);
    t.regex(err, /\nEnd the process that has it open, .*"storage" of the file/);
    await first.stop();
  });
}

test('edgehost serve ends with 1 when its storage directory cannot be made, and says why', async t => {
  const cwd = await folderOf(t, { ...FILES, data: 'a file' });
  const { code, out, err } = await edgehost(t, ['serve', 'server.toml'], { cwd });
  t.is(code, 1);
  t.is(out, '');
  t.regex(err, /^edgehost serve: Cannot open the storage directory "[^"]*data": .*\(EDGE_STORAGE_PATH\)\n/);
});

for (const [what, file, message] of [
  [
    'a key that there is not',
    'prot = 3\n[[accounts]]\nid = "a"\nfunctions = ["f"]',
    /server\.toml:1:1: .*"prot".*port/,
  ],
  ['no accounts', 'port = 3\n', /accounts is missing/],
  [
    'an account without functions',
    '[[accounts]]\nid = "a"\nfunctions = []',
    /server\.toml:3:1: accounts\[0\]\.functions/,
  ],
  [
    'an account twice',
    '[[accounts]]\nid = "a"\nfunctions = ["f"]\n[[accounts]]\nid = "a"\nfunctions = ["f"]',
    /server\.toml:5:1: .*another account/,
  ],
  [
    'a limit that there is not',
    '[[accounts]]\nid = "a"\nfunctions = ["f"]\n[accounts.limits]\ncpu = 3',
    /server\.toml:5:1: .*cpu_ms/,
  ],
  [
    'an egress policy that is none',
    'egress = { allow = ["everything"] }\n[[accounts]]\nid = "a"\nfunctions = ["f"]',
    /everything/,
  ],
  ['text that is no TOML', 'port = \n', /server\.toml:1:\d+: /],
] as const) {
  test(`edgehost serve exits with 2 for ${what}, and says where`, async t => {
    const cwd = await folderOf(t, { 'server.toml': file });
    const { code, err } = await edgehost(t, ['serve', 'server.toml'], { cwd });
    t.is(code, 2);
    t.regex(err, message);
  });
}

for (const [what, file, message] of [
  [
    'a path without a function',
    '[[accounts]]\nid = "a"\nfunctions = [\n  "nowhere",\n]',
    /server\.toml:3:1: There is no file or folder/,
  ],
  [
    'a zone of another account',
    '[[accounts]]\nid = "a"\nzones = ["x.test"]\nfunctions = ["f.js"]\n[[accounts]]\nid = "b"\nzones = ["x.test"]\nfunctions = ["f.js"]',
    /server\.toml:6:1: .*x\.test/,
  ],
  [
    'one name for a folder of functions',
    '[[accounts]]\nid = "a"\nfunctions = [{ path = "folder", name = "x" }]',
    /folder has 2 functions: name and routes are for one/,
  ],
] as const) {
  test(`edgehost serve and edgehost check exit with 1 for ${what}, and say where`, async t => {
    const cwd = await folderOf(t, {
      'server.toml': file,
      'f.js': answering('f'),
      'folder/a.js': answering('a'),
      'folder/b.js': answering('b'),
    });
    for (const command of ['serve', 'check']) {
      const { code, out } = await edgehost(t, [command, 'server.toml'], { cwd });
      t.is(code, 1, out);
      t.regex(out, message);
    }
  });
}

/** An account whose folder has what its customer wrote, beside the folder of another account. */
function ofCustomer(files: Readonly<Record<string, string>>): Record<string, string> {
  const written = Object.entries(files).map(([name, text]) => [`customer/${name}`, text]);
  return {
    'server.toml': 'storage = ":memory:"\n[[accounts]]\nid = "acme"\nfunctions = ["customer"]\n',
    'other/secret.json': '{ "key": "other" }',
    'other/secret.txt': 'other',
    'other/secret.bin': 'other',
    'other/index.js': answering('other'),
    ...Object.fromEntries(written),
  };
}

test('a bundler in the folder of a function is not run by edgehost serve and edgehost check', async t => {
  const evil = `import { writeFileSync } from 'node:fs'; writeFileSync('taken', ''); export default {};`;
  const files = {
    'index.ts': 'export default { fetch: (): Response => new Response("own") };',
    'node_modules/esbuild/package.json': '{ "name": "esbuild", "type": "module", "main": "main.js" }',
    'node_modules/esbuild/main.js': evil,
  };
  const cwd = await folderOf(t, ofCustomer(files));
  const { code, out } = await edgehost(t, ['check', 'server.toml'], { cwd });
  t.is(code, 0, out);
  await t.throwsAsync(access(join(cwd, 'taken')));
});

for (const [what, files] of Object.entries({
  JSON: {
    'index.js': 'import secret from "../other/secret.json"; export default { fetch: () => Response.json(secret) };',
  },
  text: {
    'index.ts': 'import secret from "../other/secret.txt"; export default { fetch: () => new Response(secret) };',
  },
  data: {
    'index.ts': 'import secret from "../other/secret.bin"; export default { fetch: () => new Response(secret) };',
  },
  'any file by an attribute': {
    'index.ts':
      'import s from "../server.toml" with { type: "text" }; export default { fetch: () => new Response(s) };',
  },
  'any file by a rule': {
    'edgehost.toml': 'name = "rule"\nmain = "index.ts"\n[[rules]]\ntype = "Text"\nglobs = ["**/*.toml"]\n',
    'index.ts': 'import secret from "../server.toml"; export default { fetch: () => new Response(secret) };',
  },
})) {
  test(`a function that is bundled reads nothing outside of its folder: ${what}`, async t => {
    const cwd = await folderOf(t, ofCustomer(files));
    const { code, out } = await edgehost(t, ['check', 'server.toml'], { cwd });
    t.is(code, 1, out);
    t.regex(out, /is outside of the folder of the function/);
  });
}

test('links in the folder of an account lead to no file of another one', async t => {
  const bundled =
    'import s from "./link.json"; const f: string = s.key; export default { fetch: () => new Response(f) };';
  const cwd = await folderOf(t, ofCustomer({ 'a/index.ts': bundled, 'b/index.ts': bundled }));
  await symlink(join(cwd, 'other/secret.json'), join(cwd, 'customer/a/link.json'));
  await symlink(join(cwd, 'other/secret.json'), join(cwd, 'customer/b/link.json'));
  const files = await edgehost(t, ['check', 'server.toml'], { cwd });
  t.is(files.code, 1);
  t.is(files.out.match(/link|secret.json is outside of the folder/g)?.length ?? 0, 2, files.out);
  await symlink(join(cwd, 'other'), join(cwd, 'customer/c'));
  const folders = await edgehost(t, ['check', 'server.toml'], { cwd });
  t.is(folders.code, 1);
  t.regex(folders.out, /c\/index\.js is outside of the folder/);
});
