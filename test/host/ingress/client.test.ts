/** The description of a request's client that a function receives. */
import { once } from 'node:events';
import http2 from 'node:http2';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { CERTIFICATE as cert, KEY as key } from '../../certificate.js';
import { handler, ISOLATIONS, newHost } from '../new-host.js';
import { overBoth } from '../protocols.js';

const CLIENT = handler(`
  const { client, headers } = request;
  return Response.json({
    client,
    header: headers.get('edge-client-ip'),
    all: [...headers.keys()].filter(name => name.startsWith('edge-')),
  });`);

for (const isolation of ISOLATIONS) {
  overBoth(
    `a function is told the address of its client, which the client cannot choose (${isolation})`,
    async (t, { listen, fetch, protocol }) => {
      const host = newHost(t, { isolation });
      const origin = await listen(t, host.listener({ function: await host.load(CLIENT) }));
      const forged = {
        'edge-client-ip': '6.6.6.6',
        'Edge-Client-Proxy-IP': '6.6.6.6',
        'EDGE-CLIENT-TLS-VERSION': 'TLSv9',
        'edge-client-other': 'x',
        'x-forwarded-for': '6.6.6.6',
        'edge-other': 'kept',
      };
      t.deepEqual(await (await fetch(origin, { headers: forged })).json(), {
        client: { address: '127.0.0.1', httpProtocol: protocol },
        header: '127.0.0.1',
        all: [...(protocol === 'HTTP/2' ? ['edge-client-http'] : []), 'edge-client-ip', 'edge-other'],
      });
    },
  );
}

overBoth(
  'behind a proxy that is trusted the address is the one that it tells, beside its own',
  async (t, { listen, fetch, protocol }) => {
    const host = newHost(t);
    const fn = await host.load(CLIENT);
    const told = async (trustProxy: boolean | number, forwarded: string): Promise<unknown> => {
      const origin = await listen(t, host.listener({ function: fn, trustProxy }));
      const answer: unknown = await (await fetch(origin, { headers: { 'x-forwarded-for': forwarded } })).json();
      return typeof answer === 'object' && answer !== null && 'client' in answer ? answer.client : undefined;
    };
    const proxied = { proxyAddress: '127.0.0.1', httpProtocol: protocol };
    t.deepEqual(await told(true, '8.8.8.8, 10.0.0.1'), { address: '8.8.8.8', ...proxied });
    t.deepEqual(await told(1, '6.6.6.6, 8.8.8.8'), { address: '8.8.8.8', ...proxied });
    t.deepEqual(await told(5, '8.8.8.8, 10.0.0.1'), { address: '8.8.8.8', ...proxied });
    t.deepEqual(await told(true, '[2001:db8::1]:4711'), { address: '2001:db8::1', ...proxied });
    t.deepEqual(await told(true, '8.8.8.8:4711'), { address: '8.8.8.8', ...proxied });
    const own = { address: '127.0.0.1', httpProtocol: protocol };
    for (const text of ['unknown', '8.8.8.8; x', '<script>', '']) t.deepEqual(await told(true, text), own, text);
  },
);

test('a function is told of TLS and HTTP/2', async t => {
  const host = newHost(t);
  const listener = host.listener({ function: await host.load(CLIENT) });
  const server = https.createServer({ key, cert }, listener).listen(0, '127.0.0.1');
  // The types of node:http2 are not those of node:http, whose part of the interface it has.
  const second = http2.createSecureServer({ key, cert }, listener as never).listen(0, '127.0.0.1');
  await Promise.all([once(server, 'listening'), once(second, 'listening')]);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
    second.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const request = https.get({ host: '127.0.0.1', port, rejectUnauthorized: false, agent: false });
  const [response] = await once(request, 'response');
  const { client } = JSON.parse(Buffer.concat(await response.toArray()).toString());
  t.like(client, { address: '127.0.0.1', httpProtocol: 'HTTP/1.1', tlsVersion: 'TLSv1.3' });
  t.regex(client.tlsCipher, /^TLS_/);
  const session = http2.connect(`https://127.0.0.1:${(second.address() as AddressInfo).port}`, {
    rejectUnauthorized: false,
  });
  const stream = session.request({ ':path': '/' });
  const body = JSON.parse(Buffer.concat(await stream.toArray()).toString());
  session.close();
  t.like(body.client, { address: '127.0.0.1', httpProtocol: 'HTTP/2', tlsVersion: 'TLSv1.3' });
});

test('what the application asks has no client, whatever headers it passes on', async t => {
  const host = newHost(t);
  const fn = await host.load(CLIENT, { routes: ['x.example/*'] });
  const nobody = { header: null, all: [] };
  const headers = { 'edge-client-ip': '6.6.6.6' };
  t.deepEqual(await (await fn.fetch('http://x/')).json(), nobody);
  t.deepEqual(await (await fn.fetch('http://x/', { headers })).json(), nobody);
  t.deepEqual(await (await host.fetch(new Request('http://x.example/', { headers }))).json(), nobody);
});

overBoth(
  'request.client is the same for copies of a request, frozen, and absent from those that a function makes',
  async (t, { listen, fetch }) => {
    const host = newHost(t);
    const fn = await host.load(
      handler(`
      const copy = new Request(request, { headers: { 'edge-client-ip': '6.6.6.6' } });
      const made = new Request('http://x/', { headers: { 'edge-client-ip': '6.6.6.6' } });
      return Response.json([
        request.client === request.client,
        Object.isFrozen(request.client),
        copy.client.address,
        request.clone().client.address,
        made.client === undefined,
        Object.getPrototypeOf(request.client) === Object.prototype,
      ]);`),
    );
    const origin = await listen(t, host.listener({ function: fn }));
    t.deepEqual(await (await fetch(origin)).json(), [true, true, '127.0.0.1', '127.0.0.1', true, true]);
  },
);
