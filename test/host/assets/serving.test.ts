/** Static files in the engine: their answers, the headers of these, and the files that are never served. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { listen } from '../../servers.js';
import { handler, ISOLATIONS, newHost } from '../new-host.js';
import { assetFolder } from './asset-folder.js';

const SCRIPT = handler('return new Response("function " + new URL(request.url).pathname)');

for (const isolation of ISOLATIONS) {
  test(`load() serves files before the function, and by the binding, with isolation '${isolation}'`, async t => {
    const host = newHost(t, { isolation });
    const directory = assetFolder(t, { 'a.txt': 'file', 'big.bin': new Uint8Array(300_000) });
    const source = handler(`
      if (new URL(request.url).pathname !== '/own') return new Response('function');
      const [small, big, none] = await Promise.all(['a.txt', 'big.bin', 'none'].map(name => env.ASSETS.fetch('http://y/' + name)));
      return Response.json([await small.text(), (await big.arrayBuffer()).byteLength, none.status]);`);
    const fn = await host.load(source, { assets: { directory, binding: 'ASSETS' } });
    t.is(await (await fn.fetch('http://x/a.txt')).text(), 'file');
    t.is((await (await fn.fetch('http://x/big.bin')).arrayBuffer()).byteLength, 300_000);
    t.is(await (await fn.fetch('http://x/none')).text(), 'function');
    t.deepEqual(await (await fn.fetch('http://x/own')).json(), ['file', 300_000, 404]);
    const caller = await host.load(handler('return env.SITE.fetch("http://y/a.txt")'), {
      name: 'caller',
      services: { SITE: fn.name },
    });
    t.is(await (await caller.fetch('http://x/')).text(), 'file', 'a service binding');
  });
}

test('a file has a tag, a type and a length, and answers conditions and ranges', async t => {
  const host = newHost(t);
  const fn = await host.load({ assets: assetFolder(t, { 'a.txt': '0123456789' }) });
  const get = (headers: Record<string, string>, method = 'GET') => fn.fetch('http://x/a.txt', { headers, method });
  const whole = await get({});
  const etag = whole.headers.get('etag') ?? '';
  t.regex(etag, /^"[0-9a-f]{32}"$/);
  t.is(whole.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.is(whole.headers.get('cache-control'), 'public, max-age=0, must-revalidate');
  t.is((await get({ 'if-none-match': `"x", W/${etag}` })).status, 304);
  t.is((await get({ 'if-none-match': '"x"' })).status, 200);
  const part = await get({ range: 'bytes=2-4' });
  t.deepEqual([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 2-4/10', '234']);
  t.is(await (await get({ range: 'bytes=-3' })).text(), '789');
  t.is((await get({ range: 'bytes=10-' })).status, 416);
  t.is((await get({ range: 'bytes=0-1', 'if-range': '"x"' })).status, 200);
  const head = await get({}, 'HEAD');
  t.deepEqual([head.headers.get('content-length'), await head.text()], ['10', '']);
  t.is((await get({}, 'POST')).status, 405);
});

test('notFoundHandling serves pages: to navigations where there is a script, else to all', async t => {
  const host = newHost(t);
  const directory = assetFolder(t, { 'index.html': 'app', 'docs/404.html': 'no page' });
  const assets = { directory, notFoundHandling: 'single-page-application' } as const;
  const app = await host.load(SCRIPT, { name: 'app', assets });
  t.is(await (await app.fetch('http://x/users')).text(), 'function /users');
  t.is(await (await app.fetch('http://x/users', { headers: { 'sec-fetch-mode': 'navigate' } })).text(), 'app');
  const plain = await host.load({ name: 'plain', assets: { directory, notFoundHandling: '404-page' } });
  const missing = await plain.fetch('http://x/docs/deep/none');
  t.deepEqual([missing.status, await missing.text()], [404, 'no page']);
});

test('runWorkerFirst sends paths to the function, except for exceptions', async t => {
  const host = newHost(t);
  const directory = assetFolder(t, { 'api/a.txt': 'a', 'api/docs/b.txt': 'b' });
  const fn = await host.load(SCRIPT, { assets: { directory, runWorkerFirst: ['/api/*', '!/api/docs/*'] } });
  t.is(await (await fn.fetch('http://x/api/a.txt')).text(), 'function /api/a.txt');
  t.is(await (await fn.fetch('http://x/api/docs/b.txt')).text(), 'b');
  t.is((await fn.fetch('http://x/%61pi/a.txt')).status, 307, 'another spelling of the path is not served');
});

test('_redirects and _headers have splats and placeholders', async t => {
  const host = newHost(t);
  const directory = assetFolder(t, {
    'page.html': 'page',
    'a/b.txt': 'b',
    _redirects: '/old /page 301\n/news/:year-:slug /:year/:slug\n/proxy/* /page 200\n/go/* /:splat 308\n',
    _headers: '/a/*\n  X-Name: :splat\n  ! ETag\n/a/b.txt\n  X-Name: two\n',
  });
  const fn = await host.load({ assets: directory });
  const location = async (path: string) => {
    const response = await fn.fetch(`http://x${path}`);
    return [response.status, response.headers.get('location')];
  };
  t.deepEqual(await location('/old?q=1'), [301, '/page?q=1']);
  t.deepEqual(await location('/news/2024-a-b'), [302, '/2024-a/b']);
  t.deepEqual(await location('/go//evil.example/x'), [308, '/evil.example/x']);
  t.is(await (await fn.fetch('http://x/proxy/any')).text(), 'page');
  const { headers } = await fn.fetch('http://x/a/b.txt');
  t.deepEqual([headers.get('x-name'), headers.get('etag')], ['b.txt, two', null]);
});

test('load() rejects rules with the lines of their mistakes', async t => {
  const host = newHost(t);
  const directory = assetFolder(t, { _redirects: '# one\n/* /index.html 200\n/a /b 404\n', 'a.txt': '' });
  await t.throwsAsync(host.load({ assets: directory }), {
    code: 'EDGE_CONFIG_INVALID',
    message: /_redirects:2: .*endless loop\n.*_redirects:3: the status is 404/s,
  });
});

test('a client cannot leave the folder, or read hidden files and rules', async t => {
  const host = newHost(t);
  const root = assetFolder(t, { 'site/a.txt': 'a', 'site/.env': 'S', 'site/_headers': '', 'secret.txt': 'S' });
  const fn = await host.load({ assets: join(root, 'site') });
  const origin = await listen(t, host.listener({ function: fn }));
  for (const path of [
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
    '/a.txt%00',
    '/..\\secret.txt',
    '/.env',
    '/_headers',
  ]) {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      http.get(`${origin}`, { path }, response => resolve(response.resume().statusCode)).on('error', reject);
    });
    t.true(status === 404 || status === 400, `${path} is answered with ${status}`);
  }
});

test('load() rejects a link out of the folder, and a file in the place of an indexed one is not served', async t => {
  const host = newHost(t);
  const root = assetFolder(t, { 'site/a.txt': 'a', 'secret.txt': 's' });
  const site = join(root, 'site');
  const fn = await host.load({ name: 'site', assets: site });
  rmSync(join(site, 'a.txt'));
  symlinkSync(join(root, 'secret.txt'), join(site, 'a.txt'));
  await t.throwsAsync(fn.fetch('http://x/a.txt'), { code: 'EDGE_ASSETS_CHANGED' });
  await t.throwsAsync(host.load({ name: 'site', assets: site }), {
    code: 'EDGE_CONFIG_INVALID',
    message: /outside of the folder/,
  });
  rmSync(join(site, 'a.txt'));
  writeFileSync(join(site, 'a.txt'), 'new');
  const again = await host.load({ name: 'site', assets: site });
  t.is(await (await again.fetch('http://x/a.txt')).text(), 'new');
  rmSync(site, { recursive: true });
  mkdirSync(site);
  const origin = await listen(t, host.listener({ function: again }));
  t.is((await fetch(`${origin}/a.txt`)).status, 500);
});

test('clients that do not read hold no descriptors', async t => {
  const host = newHost(t, { openDescriptors: 2 });
  const fn = await host.load({ assets: assetFolder(t, { 'big.bin': new Uint8Array(8 * 1024 * 1024) }) });
  const origin = await listen(t, host.listener({ function: fn }));
  const slow = await Promise.all(Array.from({ length: 8 }, () => fetch(`${origin}/big.bin`)));
  t.is((await (await fetch(`${origin}/big.bin`)).arrayBuffer()).byteLength, 8 * 1024 * 1024);
  await Promise.all(slow.map(each => each.body?.cancel()));
});
