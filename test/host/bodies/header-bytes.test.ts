/** Header values are bytes, one character each, on every way through a host. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { handler, ISOLATIONS, newHost } from '../new-host.js';

for (const isolation of ISOLATIONS) {
  test(`fetch() of a function sends and receives header bytes as they are (${isolation})`, async t => {
    const heads: string[] = [];
    // Not node:http, which writes headers as UTF-8 when a body of text goes with them.
    const server = createServer(socket => {
      socket.on('error', () => {});
      socket.on('data', data => {
        heads.push(data.toString('latin1'));
        socket.end(Buffer.from('HTTP/1.1 200 OK\r\nx-back: \xe9\xff\r\ncontent-length: 0\r\n\r\n', 'latin1'));
      });
    }).listen(0, '127.0.0.1');
    t.teardown(() => server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
    const fn = await host.load(
      handler(`const answer = await fetch('http://127.0.0.1:${port}/', { headers: { 'x-value': request.headers.get('x-value') } });
        return new Response(null, { headers: { 'x-back': answer.headers.get('x-back') } });`),
    );
    const response = await fn.fetch('http://x/', { headers: { 'x-value': 'é\xff' } });
    t.regex(heads[0] ?? '', /x-value: \xe9\xff\r\n/);
    t.is(response.headers.get('x-back'), 'é\xff');
  });

  test(`fetch() of a function rejects with a TypeError that has the code when there is no answer (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(
      handler(`try { await fetch('http://127.0.0.1:9999/'); } catch (error) {
        return Response.json([error instanceof TypeError, error.name, error.code]);
      }`),
    );
    const response = await fn.fetch('http://x/');
    t.deepEqual(await response.json(), [true, 'TypeError', 'EDGE_EGRESS_DENIED']);
  });
}
