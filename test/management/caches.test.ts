/** Caches in the management API, of a host. */
import test, { type ExecutionContext } from 'ava';
import type { HostManagement } from '../../src/host/management-endpoint.js';
import { newHost } from '../host/new-host.js';

const KEPT = { headers: { 'cache-control': 'max-age=60', 'cache-tag': 'news' } };
const URLS = ['https://a.example/', 'https://a.example/img/1', 'https://a.example/img/2'];

type Permission = Parameters<HostManagement['issueToken']>[0]['permissions'];

async function openApi(t: ExecutionContext, permissions: Permission = ['cache:edit', 'audit:read']) {
  const host = newHost(t);
  const acme = host.account('acme');
  const other = host.account('other');
  for (const { caches } of [acme, other])
    for (const url of URLS) await caches.default.put(url, new Response('x', KEPT));
  const api = host.management();
  const { value } = await api.issueToken({ name: 'test', account: 'acme', permissions });
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await api(
      new Request(`http://localhost/accounts/${path}`, {
        method,
        headers: { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
    return { status: response.status, ...JSON.parse(await response.text()) };
  };
  return { acme, other, call };
}

test('GET cache says what the caches of the account keep', async t => {
  const { acme, call } = await openApi(t, ['cache:read']);
  t.like(await call('GET', 'acme/cache'), { status: 200, success: true, result: await acme.caches.usage() });
  t.is((await call('GET', 'acme/cache')).result.entries, 3);
});

test('POST cache/purge forgets by URL, prefix, tag and all, in this account alone, and is in the audit log', async t => {
  const { acme, other, call } = await openApi(t);
  t.like(await call('POST', 'acme/cache/purge', { urls: ['https://a.example/'] }), {
    status: 200,
    result: { purged: 1 },
  });
  t.like(await call('POST', 'acme/cache/purge', { prefixes: ['a.example/img/1'] }), { result: { purged: 1 } });
  t.like(await call('POST', 'acme/cache/purge', { tags: ['News'] }), { result: { purged: 1 } });
  await acme.caches.default.put(URLS[0] ?? '', new Response('x', KEPT));
  t.like(await call('POST', 'acme/cache/purge', { everything: true }), { result: { purged: 1 } });
  t.is((await other.caches.usage()).entries, 3);
  const { result } = await call('GET', 'acme/audit_logs');
  const routes = result.map(({ action }: { action: { route: string } }) => action.route);
  t.is(routes.filter((route: string) => route === 'cache-purge').length, 4);
});

test('POST cache/purge refuses other accounts, tokens that only read, and what is not valid', async t => {
  const { call, other } = await openApi(t);
  t.is((await call('POST', 'other/cache/purge', { everything: true })).success, false);
  t.is((await other.caches.usage()).entries, 3);
  for (const body of [
    {},
    { everything: false },
    { urls: ['/a'] },
    { urls: [] },
    { prefixes: ['/a'] },
    { hosts: ['a.example'] },
  ])
    t.like(await call('POST', 'acme/cache/purge', body), { status: 400, success: false }, JSON.stringify(body));
  const reader = await openApi(t, ['cache:read']);
  t.like(await reader.call('POST', 'acme/cache/purge', { everything: true }), { status: 403, success: false });
  t.is((await reader.acme.caches.usage()).entries, 3);
});
