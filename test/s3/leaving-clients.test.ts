/** The S3-compatible endpoint and clients that disconnect before they are answered, or wait for 100 (Continue). */
import { once } from 'node:events';
import test from 'ava';
import { overBoth, sessionOf } from '../host/protocols.js';
import { KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

const UNSIGNED = { ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' };

for (const framing of [{ 'content-length': '100000' }, { 'transfer-encoding': 'chunked' }]) {
  const length = 'content-length' in framing ? 'a length' : 'no length';
  overBoth(
    `a whole upload with ${length} is not stored when the client goes before it is`,
    async (t, { protocol, open }) => {
      const { buckets, endpoint, port, send, server } = await openDoor(t, { protocol });
      const bucket = await buckets.open('files');
      const closed = new Promise<void>(resolve => {
        server.once('request', (_request, response) => response.once('close', () => resolve()));
      });
      let leave = (): void => {};
      const { put } = bucket;
      // The store asks for it when all of the body has arrived.
      const transferChecksum = async (): Promise<undefined> => {
        leave();
        await closed;
      };
      bucket.put = (key, body, options, work) => put.call(bucket, key, body, { ...options, transferChecksum }, work);
      const { target, headers } = signRequest('PUT', '/files/k', { host: `127.0.0.1:${port}`, ...UNSIGNED });
      const request = open(endpoint, { method: 'PUT', target, headers: { ...headers, ...framing } });
      ({ leave } = request);
      request.body.end(Buffer.alloc(100_000));
      await closed;
      // Behind the one that was given up.
      bucket.put = put;
      t.is((await send('PUT', '/files/other', { body: 'x' })).status, 200);
      t.is((await send('HEAD', '/files/k')).status, 404);
    },
  );
}

test('an upload over HTTP/2 that waits for 100 (Continue) gets it, or its refusal', async t => {
  const { endpoint, port } = await openDoor(t, { protocol: 'HTTP/2' });
  const upload = (bucket: string) => {
    const { headers, target } = signRequest('PUT', `/${bucket}/k`, { host: `127.0.0.1:${port}`, ...UNSIGNED });
    const { host, ...fields } = headers;
    const head = { ':method': 'PUT', ':path': target, ':authority': host, ...fields };
    return sessionOf(endpoint).request({ ...head, 'content-length': '3', expect: '100-continue' });
  };
  const put = upload('files');
  await once(put, 'continue');
  put.end('abc');
  t.is((await once(put, 'response'))[0][':status'], 200);
  const refused = upload('none');
  t.is((await once(refused, 'response'))[0][':status'], 404);
});
