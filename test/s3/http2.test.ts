/** The S3-compatible endpoint over HTTP/2. */
import { once } from 'node:events';
import http2 from 'node:http2';
import test, { type ExecutionContext } from 'ava';
import { portOf } from '../servers.js';
import { type Door, KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

interface Rig {
  readonly door: Door;
  open(method: string, target: string, payloadHash: string, headers?: Record<string, string>): http2.ClientHttp2Stream;
}

async function rig(t: ExecutionContext): Promise<Rig> {
  const door = await openDoor(t);
  const server = http2.createServer();
  server.on('request', door.handler.listener as never); // the types of node:http2 are not those of node:http
  server.on('checkContinue', door.handler.continueListener as never); // likewise
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${portOf(server)}`;
  const session = http2.connect(`http://${host}`);
  t.teardown(() => {
    session.destroy();
    server.close();
  });
  return {
    door,
    open: (method, target, payloadHash, more = {}) => {
      const {
        headers: { host: authority, ...headers },
      } = signRequest(method, target, { host, ...KEYS, payloadHash });
      const head = { ':method': method, ':path': target, ':authority': authority ?? '', ...headers, ...more };
      const stream = session.request(head, { endStream: method === 'GET' || method === 'HEAD' });
      stream.on('error', () => {});
      return stream;
    },
  };
}

async function answerOf(stream: http2.ClientHttp2Stream): Promise<readonly [status: number, text: string]> {
  const [head] = await once(stream, 'response');
  return [head[':status'], Buffer.concat(await stream.toArray()).toString()];
}

const UNSIGNED = 'UNSIGNED-PAYLOAD';

for (const announced of [true, false]) {
  test(`PUT, GET and HEAD work over HTTP/2, the length ${announced ? 'announced' : 'not announced'}`, async t => {
    const { open } = await rig(t);
    const body = 'x'.repeat(300_000);
    const put = open('PUT', '/files/k', UNSIGNED, announced ? { 'content-length': String(body.length) } : {});
    put.end(body);
    t.is((await answerOf(put))[0], 200);
    t.deepEqual(await answerOf(open('GET', '/files/k', UNSIGNED)), [200, body]);
    t.deepEqual(await answerOf(open('HEAD', '/files/k', UNSIGNED)), [200, '']);
    const [status, text] = await answerOf(open('GET', '/files/none', UNSIGNED));
    t.is(status, 404);
    t.regex(text, /NoSuchKey/);
  });

  test(`an upload over HTTP/2 that the client resets is not stored, the length ${announced ? 'announced' : 'not announced'}`, async t => {
    const { open, door } = await rig(t);
    const put = open('PUT', '/files/k', UNSIGNED, announced ? { 'content-length': '300000' } : {});
    put.write('x'.repeat(100_000));
    await new Promise(resolve => setTimeout(resolve, 200));
    put.close(http2.constants.NGHTTP2_CANCEL);
    await once(put, 'close');
    await new Promise(resolve => setTimeout(resolve, 300));
    t.is((await door.send('HEAD', '/files/k')).status, 404);
  });
}

test('an upload over HTTP/2 that waits for the word to go on gets it, or its refusal', async t => {
  const { open } = await rig(t);
  const put = open('PUT', '/files/k', UNSIGNED, { 'content-length': '3', expect: '100-continue' });
  await once(put, 'continue');
  put.end('abc');
  t.is((await answerOf(put))[0], 200);
  const refused = open('PUT', '/none/k', UNSIGNED, { 'content-length': '3', expect: '100-continue' });
  t.is((await answerOf(refused))[0], 404);
});
