/** `edgehost dev` and `serve` in folders that were written for the hosted platform. */
import { join } from 'node:path';
import test from 'ava';
import { answering, edgehost, folderOf, Program, put, textOf } from './program.js';

const DEV = ['dev', '--port', '0', '--json'];

const TYPESCRIPT = `interface Env {
  GREETING: string;
  TOKEN: string;
  DB: { prepare(sql: string): { first(column: string): Promise<unknown> } };
  KV: { put(key: string, value: string): Promise<void>; get(key: string): Promise<string | null> };
  FILES: { put(key: string, value: string): Promise<unknown>; get(key: string): Promise<{ text(): Promise<string> } | null> };
  ROOM: { idFromName(name: string): unknown; get(id: unknown): { count(): Promise<number> } };
}
import { DurableObject } from 'cloudflare:workers';
import page from './page.html';

export class Room extends DurableObject {
  async count(): Promise<number> {
    const count = ((await this.ctx.storage.get<number>('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return count;
  }
}

export default {
  async fetch(_: Request, env: Env): Promise<Response> {
    await env.KV.put('a', 'kv');
    await env.FILES.put('a', 'bucket');
    const parts = [
      env.GREETING,
      env.TOKEN,
      page,
      await env.KV.get('a'),
      await (await env.FILES.get('a'))?.text(),
      await env.DB.prepare('SELECT name FROM users').first('name'),
      await env.ROOM.get(env.ROOM.idFromName('lobby')).count(),
    ];
    return new Response(parts.join(' '));
  },
};
`;

const CONFIGURATION = `{
  // Templates have this key.
  "$schema": "node_modules/wrangler/config-schema.json",
  "name": "shop",
  "main": "src/index.ts",
  "compatibility_date": "2025-05-05",
  "observability": { "enabled": true },
  "vars": { "GREETING": "hello" },
  "kv_namespaces": [{ "binding": "KV", "id": "<KV_ID>" }],
  "r2_buckets": [{ "binding": "FILES", "bucket_name": "files" }],
  "d1_databases": [{ "binding": "DB", "database_name": "main", "database_id": "x", "migrations_dir": "migrations" }],
  "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }],
  "rules": [{ "type": "Text", "globs": ["**/*.html"], "fallthrough": true }],
  "ai": { "binding": "AI" },
  "env": { "staging": { "vars": { "GREETING": "hi" } } },
}
`;

const PROJECT = {
  'wrangler.jsonc': CONFIGURATION,
  'src/index.ts': TYPESCRIPT,
  'src/page.html': '<p>',
  'migrations/0001_users.sql': "CREATE TABLE users (name TEXT); INSERT INTO users VALUES ('Ada');",
  '.dev.vars': 'TOKEN=secret\n',
};

test('edgehost dev serves a folder that was written for the hosted platform', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, PROJECT);
  const dev = new Program(t, DEV, { cwd });
  const unavailable = await dev.event('warning');
  t.regex(String(unavailable.message), /^wrangler\.jsonc: "ai" \(env\.AI\) is not available here/);
  const ignored = await dev.event('warning');
  t.regex(String(ignored.message), /^wrangler\.jsonc: ignored, .*: observability$/);
  t.like(await dev.event('notice'), { message: 'Migrations of database "main" were applied: 0001_users.sql' });
  const url = await dev.url();
  t.is(await textOf(url), 'hello secret <p> kv bucket Ada 1');
  await put(join(cwd, 'wrangler.jsonc'), CONFIGURATION.replace('"hello"', '"good day"'));
  await dev.event('loaded', { isReload: true });
  t.is(await textOf(url), 'good day secret <p> kv bucket Ada 2');
  await put(join(cwd, '.dev.vars'), 'TOKEN=other\n');
  await dev.event('loaded', { isReload: true });
  t.is(await textOf(url), 'good day other <p> kv bucket Ada 3');
  await put(join(cwd, 'migrations/0002_more.sql'), "UPDATE users SET name = 'Bob';");
  await dev.stop();
  const again = new Program(t, DEV, { cwd });
  t.like(await again.event('notice'), { message: 'Migrations of database "main" were applied: 0002_more.sql' });
  t.is(await textOf(await again.url()), 'good day other <p> kv bucket Bob 4');
  await again.stop();
});

test('edgehost dev runs the build command, shows its output, and runs it again when its sources change', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'wrangler.toml':
      'name = "built"\nmain = "dist/index.js"\n[build]\ncommand = "echo building && mkdir -p dist && cp src/index.js dist/index.js"\n',
    'src/index.js': answering('first'),
  });
  const dev = new Program(t, DEV, { cwd });
  t.like(await dev.event('build'), { message: 'building\n' });
  const url = await dev.url();
  t.is(await textOf(url), 'first');
  await put(join(cwd, 'src/index.js'), answering('second'));
  t.like(await dev.event('build'), { message: 'building\n' });
  await dev.event('loaded', { isReload: true });
  t.is(await textOf(url), 'second');
  await dev.stop();
});

test('edgehost dev tells what a build command that fails has printed', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'wrangler.toml': 'name = "built"\nmain = "dist/index.js"\n[build]\ncommand = "echo no good >&2; exit 3"\n',
  });
  const dev = new Program(t, DEV, { cwd });
  const { message } = await dev.event('error');
  t.regex(String(message), /^The build command "echo no good >&2; exit 3" ended with 3:\nno good$/);
  await dev.stop();
});

test('edgehost dev says in its first line why a configuration cannot be used', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, { 'wrangler.jsonc': '{\n  "name": "a",\n  "main": 5\n}' });
  const dev = new Program(t, ['dev', '--port', '0'], { cwd });
  await dev.printed(/Listening on/);
  t.regex(
    dev.out,
    /^\S+ error \S+ \(EDGE_CONFIG_INVALID\)\n {2}wrangler\.jsonc:3:3: main is the number 5, expected a string/,
  );
  await dev.stop();
});

test('edgehost serve takes folders of the hosted platform, each with its environment, and runs no build command', async t => {
  t.timeout(240_000);
  const cwd = await folderOf(t, {
    'server.toml':
      'port = 0\nstorage = ":memory:"\n[[accounts]]\nid = "acme"\nfunctions = [{ path = "shop", environment = "staging", routes = ["*/*"] }]\n',
    ...Object.fromEntries(Object.entries(PROJECT).map(([name, text]) => [`shop/${name}`, text])),
    'built/wrangler.toml': 'name = "built"\nmain = "dist/index.js"\n[build]\ncommand = "touch ran"\n',
  });
  const configuration = JSON.parse(CONFIGURATION.replace(/^\s*\/\/.*$/m, '').replace(/,\s*\}\s*$/, '}'));
  configuration.env.staging = { ...configuration, env: undefined, name: 'shop-live', vars: { GREETING: 'hi' } };
  delete configuration.env.staging.$schema;
  await put(join(cwd, 'shop/wrangler.jsonc'), JSON.stringify(configuration));
  const serve = new Program(t, ['serve', 'server.toml', '--json'], { cwd });
  t.is(await textOf(await serve.url()), 'hi secret <p> kv bucket Ada 1');
  await serve.stop();
  const { code, out } = await edgehost(t, ['check', 'built'], { cwd });
  t.is(code, 1);
  t.regex(out, /run its build command first: touch ran/);
});
