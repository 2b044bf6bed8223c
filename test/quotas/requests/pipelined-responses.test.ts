/** Responses that wait for those before them on their connection, and end with it. */
import { once } from 'node:events';
import http, { type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { closeWithConnection } from '../../../src/quotas/requests/pipelined-responses.js';

interface Pipelined {
  readonly client: net.Socket;
  readonly responses: readonly ServerResponse[];
  /** The numbers of the responses that have closed, one for each event. */
  readonly closed: number[];
}

/** So many requests on one connection, none of which is answered. */
async function pipelined(t: ExecutionContext, count: number, isWatched = true): Promise<Pipelined> {
  const responses: ServerResponse[] = [];
  const closed: number[] = [];
  const server = http.createServer();
  const all = new Promise<void>(resolve => {
    server.on('request', (request, response) => {
      if (isWatched) closeWithConnection(request, response);
      const index = responses.push(response) - 1;
      response.on('close', () => closed.push(index));
      if (responses.length === count) resolve();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect((server.address() as AddressInfo).port, '127.0.0.1'); // it listens on TCP
  t.teardown(() => {
    client.destroy();
    server.close();
  });
  client.on('error', () => {});
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(count));
  await all;
  return { client, responses, closed };
}

test('closeWithConnection() closes every response of a connection that ends, once', async t => {
  const { client, responses, closed } = await pipelined(t, 30);
  // One of those that wait has failed before.
  responses[7]?.destroy();
  const socket = responses[0]?.socket;
  client.destroy();
  if (socket !== null && socket !== undefined) await once(socket, 'close');
  await pause(10);
  t.deepEqual(
    closed.sort((a, b) => a - b),
    Array.from({ length: 30 }, (_, index) => index),
  );
  t.true(responses.every(({ destroyed }) => destroyed));
});

test('closeWithConnection() closes a response whose connection has ended before', async t => {
  const { client, responses, closed } = await pipelined(t, 3, false);
  const socket = responses[0]?.socket;
  client.destroy();
  if (socket !== null && socket !== undefined) await once(socket, 'close');
  for (const response of responses) closeWithConnection(response.req, response);
  await pause(10);
  t.deepEqual(
    closed.sort((a, b) => a - b),
    [0, 1, 2],
  );
  t.true(responses.every(({ destroyed }) => destroyed));
});

test('closeWithConnection() leaves responses alone that are sent', async t => {
  const { client, responses, closed } = await pipelined(t, 3);
  let received = '';
  client.on('data', (chunk: Buffer) => {
    received += chunk;
  });
  for (const response of [...responses].reverse()) response.end('x');
  while (received.split('200 OK').length < 4) await once(client, 'data');
  client.end();
  await once(client, 'close');
  await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(closed, [0, 1, 2]);
});
