import { once } from 'node:events';
import { createServer } from 'node:https';
import test, { type ExecutionContext } from 'ava';

import { addressOf, outgoing, readText, startEgress } from './origin-server.js';

/** Made for this test alone: for secure.example, signed by itself, valid for a hundred years. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBpTCCAUqgAwIBAgIUDetdAc5lzFjziCxnOGSraRCjg7cwCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwOc2VjdXJlLmV4YW1wbGUwIBcNMjYxMTIxMTAxMTA5WhgPMjEy
NjEwMjgxMDExMDlaMBkxFzAVBgNVBAMMDnNlY3VyZS5leGFtcGxlMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAExIHaiQ5e2a+uZZyf/6maC/k/rTX6NjO3qTKV5Nt1
6O2c5ZcWb+nXm/+2TtFQmt30XCdKSYOUWwKCGZs6f1SbGKNuMGwwHQYDVR0OBBYE
FMyRLGa+jjJRp94v8+bah1+I17pAMB8GA1UdIwQYMBaAFMyRLGa+jjJRp94v8+ba
h1+I17pAMA8GA1UdEwEB/wQFMAMBAf8wGQYDVR0RBBIwEIIOc2VjdXJlLmV4YW1w
bGUwCgYIKoZIzj0EAwIDSQAwRgIhALxes19JvFuuuDRKPKKj0l+A9emYH/FxTJVE
EaVUHST7AiEAjwyqWVx4Awab7ChIdBV+aLZNfGq0scxpkGR9Blmdm3M=
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJxSJLfYrrwV1vOIx
fQnuOUeV2uSdVfyhNdEwuTQxivqhRANCAATEgdqJDl7Zr65lnJ//qZoL+T+tNfo2
M7epMpXk23Xo7ZzllxZv6deb/7ZO0VCa3fRcJ0pJg5RbAoIZmzp/VJsY
-----END PRIVATE KEY-----`;

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
