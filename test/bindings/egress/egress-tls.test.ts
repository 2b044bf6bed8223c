import { once } from 'node:events';
import { createServer } from 'node:https';
import test, { type ExecutionContext } from 'ava';

import { CERTIFICATE, KEY } from '../../certificate.js';
import { addressOf, outgoing, readText, startEgress } from './origin-server.js';

async function startSecure(t: ExecutionContext): Promise<number> {
  const server = createServer({ key: KEY, cert: CERTIFICATE }, (_request, response) => response.end('secure'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return addressOf(server).port;
}

test('fetch() refuses a certificate that nobody trusted has signed', async t => {
  const port = await startSecure(t);
  const egress = startEgress(t, { allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'] });
  const fetching = egress.fetch(outgoing(`https://secure.example:${port}/`));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED', message: /SELF_SIGNED_CERT/ });
});

test('fetch() trusts the certificates of option ca, for the names that they are for', async t => {
  const port = await startSecure(t);
  const options = { allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'], ca: CERTIFICATE };
  const egress = startEgress(t, options);
  t.is(await readText(await egress.fetch(outgoing(`https://secure.example:${port}/`))), 'secure');
  const other = egress.fetch(outgoing(`https://other.example:${port}/`));
  await t.throwsAsync(other, { code: 'EDGE_EGRESS_FAILED', message: /ALTNAME/ });
});

test('fetch() does not connect over TLS to an address that the policy refuses', async t => {
  const port = await startSecure(t);
  const egress = startEgress(t, { resolve: async () => ['127.0.0.1'], ca: CERTIFICATE });
  const fetching = egress.fetch(outgoing(`https://secure.example:${port}/`));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_DENIED' });
});
