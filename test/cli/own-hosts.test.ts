/** The hosts that `edgehost dev` answers. */
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import test from 'ava';
import { isOwnHost } from '../../src/cli/dev/own-hosts.js';
import { answering, folderOf, Program } from './program.js';

test('isOwnHost() takes this machine, addresses, the address of --host and the hosts of routes, and nothing else', t => {
  const patterns = ['*/*', '*/hello', 'api.example.com/v1/*', '*.shop.example/*', 'https://ported.example:8080/*'];
  const isOwn = (host: string): boolean => isOwnHost(host, 'devbox', patterns);
  for (const host of [
    'localhost',
    'LOCALHOST:8787',
    'app.localhost:8787',
    '127.0.0.1:8787',
    '[::1]:8787',
    '192.168.1.7',
    'devbox:8787',
    'api.example.com:8787',
    'a.shop.example',
    'ported.example:8080',
  ])
    t.true(isOwn(host), host);
  for (const host of [
    'evil.example',
    'evil.example:8787',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'shop.example.evil',
    '',
  ])
    t.false(isOwn(host), host);
});

test('edgehost dev refuses a host that is not its own, for requests and for upgrades, and says what to do', async t => {
  t.timeout(120_000);
  const cwd = await folderOf(t, { 'ok.js': answering('ok') });
  const dev = new Program(t, ['dev', '--port', '0', '--json'], { cwd });
  const url = new URL(await dev.url());
  const get = async (host: string): Promise<string> => {
    const [response] = await once(http.get(new URL('/ok', url), { headers: { host } }), 'response');
    let text = String(response.statusCode);
    for await (const chunk of response.setEncoding('utf8')) text += ` ${chunk}`;
    return text;
  };
  t.is(await get('app.localhost'), '200 ok');
  t.regex(await get('evil.example'), /^421 .*"evil\.example".*\n.*--host/);
  const socket = connect(Number(url.port), url.hostname);
  socket.write('GET /ok HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  t.regex(answer, /^HTTP\/1\.1 421 [\s\S]*"evil\.example"/);
  await dev.stop();
});
