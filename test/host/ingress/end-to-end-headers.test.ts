/** Headers of a connection, which functions do not get. HTTP/2 has none: http2.test.ts tests that they are refused there. */
import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { listen } from '../../servers.js';
import { handler, newHost } from '../new-host.js';

const ECHO = handler('return Response.json([...request.headers].map(([name]) => name));');

async function serve(t: ExecutionContext): Promise<string> {
  const host = newHost(t);
  const fn = await host.load(ECHO, { name: 'f' });
  return listen(t, host.listener({ function: fn }));
}

test('a header that the client names in Connection does not reach the function, and what frames the request does', async t => {
  const url = await serve(t);
  const headers = {
    connection: 'close, X-Evil, Host, x-forwarded-for',
    'x-evil': '1',
    'x-good': '2',
    'x-forwarded-for': '::1',
  };
  const [response] = await once(http.get(url, { headers }), 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  const names: string[] = JSON.parse(text);
  t.false(names.includes('x-evil'));
  for (const name of ['x-good', 'host', 'x-forwarded-for']) t.true(names.includes(name), text);
});

test('a request line of HTTP/1 that says another version is not served as that version', async t => {
  const { port, hostname } = new URL(await serve(t));
  const socket = connect(Number(port), hostname);
  socket.end('GET / HTTP/2.0\r\nHost: a\r\nConnection: close\r\n\r\n');
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  t.regex(answer, /^HTTP\/1\.1 400 /);
});
