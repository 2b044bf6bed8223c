/** Corner cases of static files over HTTP: conditions, ranges, paths, upgrades, many clients at once, and files that change while they are sent. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { listen } from '../../servers.js';
import { connected, serveSockets } from '../ingress/websocket/servers.js';
import { handler, newHost } from '../new-host.js';
import { assetFolder } from './asset-folder.js';

const MIB = 1024 * 1024;

interface Answer {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** Sends the path as it is written, which fetch() would normalize. */
function ask(origin: string, path: string, headers: http.OutgoingHttpHeaders = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(origin, { path, headers, method, agent: false }, response => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
      response.on('error', reject);
    });
    request.on('error', reject).end();
  });
}

test('conditions, ranges and methods of a file are answered as RFC 9110 has them', async t => {
  const host = newHost(t);
  const fn = await host.load({ assets: assetFolder(t, { 'a.txt': '0123456789', 'empty.txt': '' }) });
  const origin = await listen(t, host.listener({ function: fn }));
  const { etag = '' } = (await ask(origin, '/a.txt')).headers;
  const rows: readonly (readonly [http.OutgoingHttpHeaders, string, number, string])[] = [
    [{ 'if-none-match': '*' }, 'GET', 304, ''],
    [{ 'if-none-match': etag }, 'HEAD', 304, ''],
    [{ 'if-none-match': etag, range: 'bytes=0-1' }, 'GET', 304, ''],
    [{ 'if-match': etag }, 'GET', 200, '0123456789'],
    [{ 'if-match': '*' }, 'GET', 200, '0123456789'],
    [{ 'if-match': '"other"' }, 'GET', 412, ''],
    [{ 'if-match': `W/${etag}`, 'if-none-match': etag }, 'GET', 412, ''],
    [{ range: 'bytes=0-0' }, 'GET', 206, '0'],
    [{ range: 'bytes=5-100' }, 'GET', 206, '56789'],
    [{ range: 'bytes=-100' }, 'GET', 206, '0123456789'],
    [{ range: 'bytes=0-1', 'if-range': etag }, 'GET', 206, '01'],
    [{ range: 'bytes=0-1,3-4' }, 'GET', 200, '0123456789'],
    [{ range: 'bytes=4-2' }, 'GET', 200, '0123456789'],
    [{ range: 'lines=0-1' }, 'GET', 200, '0123456789'],
    [{ range: 'bytes=0-1' }, 'HEAD', 200, ''],
  ];
  for (const [headers, method, status, body] of rows) {
    const answer = await ask(origin, '/a.txt', headers, method);
    t.deepEqual([answer.status, answer.body], [status, body], JSON.stringify([method, headers]));
  }
  const unmet = await ask(origin, '/a.txt', { range: 'bytes=10-' });
  t.deepEqual([unmet.status, unmet.headers['content-range']], [416, 'bytes */10']);
  t.like(await ask(origin, '/empty.txt'), { status: 200, body: '' });
  t.is((await ask(origin, '/empty.txt', { range: 'bytes=0-0' })).status, 416);
});

test('paths of files are decoded once, and those that name none go to the function', async t => {
  const host = newHost(t);
  const directory = assetFolder(t, { 'a b.txt': 'space', 'é.txt': 'accent', '100%.txt': 'percent', 'd/e.txt': 'deep' });
  const fn = await host.load(handler('return new Response("function")'), { assets: { directory } });
  const origin = await listen(t, host.listener({ function: fn }));
  const rows: readonly (readonly [string, string])[] = [
    ['/a%20b.txt', 'space'],
    ['/%C3%A9.txt', 'accent'],
    ['/100%25.txt', 'percent'],
    ['/100%2525.txt', 'function'],
    ['/d/e.txt?query=1', 'deep'],
    ['/D/e.txt', 'function'],
  ];
  for (const [path, body] of rows) t.is((await ask(origin, path)).body, body, path);
  const other = await ask(origin, '/%61%20b.txt?query=1');
  t.deepEqual([other.status, other.headers.location], [307, '/a%20b.txt?query=1']);
  const doubled = await ask(origin, '/d//e.txt');
  t.deepEqual([doubled.status, doubled.headers.location], [307, '/d/e.txt']);
  const encoded = await ask(origin, '/d%2Fe.txt');
  t.deepEqual([encoded.status, encoded.headers.location], [307, '/d/e.txt']);
  for (const path of ['/d/../d/e.txt', '/%', '/%ZZ', '/%C3.txt', '/d%5Ce.txt']) {
    const { status = 0, body } = await ask(origin, path);
    t.true(body === 'function' || status === 400, `${path}: ${status} ${body}`);
  }
});

test('an upgrade to a WebSocket reaches the function, and files are served beside it', async t => {
  const host = newHost(t);
  const source = `export default { fetch(request) {
    if (request.headers.get('upgrade') !== 'websocket') return new Response('function');
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    server.addEventListener('message', event => server.send('echo ' + event.data));
    return new Response(null, { status: 101, webSocket: client });
  } };`;
  await host.load(source, { assets: assetFolder(t, { 'chat.txt': 'file' }), routes: ['*/*'] });
  const url = await serveSockets(t, host);
  const socket = await connected(t, `${url}/chat`);
  const answer = once(socket, 'message');
  socket.send('hi');
  const [data] = await answer;
  t.is(String(data), 'echo hi');
  t.is((await ask(url.replace('ws', 'http'), '/chat.txt')).body, 'file');
});

test("files are served with backend 'process'", async t => {
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-assets-'));
  t.teardown(() => rmSync(storage, { recursive: true, force: true }));
  const host = newHost(t, { storage, backend: 'process' });
  const directory = assetFolder(t, { 'a.txt': 'file' });
  const fn = await host.load(handler('return env.ASSETS.fetch("http://x/a.txt")'), {
    assets: { directory, binding: 'ASSETS', runWorkerFirst: ['/own'] },
  });
  t.is(await (await fn.fetch('http://x/a.txt')).text(), 'file');
  t.is(await (await fn.fetch('http://x/own')).text(), 'file');
});

test('a thousand clients get their files at once, and the host holds nothing afterwards', async t => {
  const host = newHost(t);
  const big = new Uint8Array(200_000).fill(97);
  const fn = await host.load({ assets: assetFolder(t, { 'small.txt': 'small', 'big.txt': big }) });
  const answers = Array.from({ length: 1000 }, async (_, index) => {
    const response = await fn.fetch(`http://x/${index % 10 === 0 ? 'big' : 'small'}.txt`);
    return (await response.arrayBuffer()).byteLength;
  });
  const lengths = await Promise.all(answers);
  t.is(lengths.filter(length => length === 5).length, 900);
  t.is(lengths.filter(length => length === 200_000).length, 100);
});

test('a client of a file that changes while it is sent gets an error, and no mixture of both', async t => {
  const host = newHost(t);
  const directory = assetFolder(t, { 'big.bin': new Uint8Array(16 * MIB).fill(97) });
  const fn = await host.load({ assets: directory });
  const response = await fn.fetch('http://x/big.bin');
  const reader = response.body?.getReader();
  t.is((await reader?.read())?.value?.[0], 97);
  writeFileSync(join(directory, 'big.bin'), new Uint8Array(16 * MIB).fill(98));
  let others = 0;
  const rest = async (): Promise<void> => {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      if (part.value.includes(98)) others++;
  };
  await t.throwsAsync(rest());
  t.is(others, 0);
});
