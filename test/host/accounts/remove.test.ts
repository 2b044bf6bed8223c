import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { AwsClient } from 'aws4fetch';
import type { EdgeHost, StoreBucket } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { openStorage } from '../../limits/open-storage.js';
import { handler, ISOLATIONS, newHost, nextInvocation, nextLog, textOf } from '../new-host.js';

const HELLO = handler(`return new Response('hello');`);
const REMOVED = { name: 'EdgeError', code: 'EDGE_ACCOUNT_REMOVED' } as const;
const FILE_BYTES = 100_000;

async function keysIn(bucket: StoreBucket): Promise<string[]> {
  return (await bucket.list()).objects.map(({ key }) => key);
}

/** Small values, files, uploads in parts that are open and complete, and groups of keys. */
async function fill(host: EdgeHost, account: string, name = 'files'): Promise<void> {
  const bucket = host.account(account).bucket(name);
  for (const key of ['a', 'b/c', 'b/d/e']) await bucket.put(key, key);
  await bucket.put('inline', new Uint8Array(10_000));
  await bucket.put('file', new Uint8Array(FILE_BYTES));
  const open = await bucket.createMultipartUpload('open');
  await open.uploadPart(1, new Uint8Array(FILE_BYTES));
  const upload = await bucket.createMultipartUpload('assembled');
  await upload.complete([await upload.uploadPart(1, new Uint8Array(FILE_BYTES))]);
}

/** What is left of accounts in a storage directory: its records, without those of the management API, and the files of values. */
async function leftIn(directory: string): Promise<{ records: string[]; files: number }> {
  const records = await openStorage(directory, async storage => {
    const keys: string[] = [];
    for await (const page of storage.records.pages({ gte: '', lt: '\u{10ffff}' }))
      keys.push(...page.map(([key]) => key));
    return keys.filter(key => !key.startsWith('m'));
  });
  const entries = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
  // Usage belongs to the owner of the host, and stays.
  const own = records.filter(key => !key.startsWith('y'));
  return { records: own, files: entries.filter(entry => entry.isFile()).length };
}

for (const isolation of ISOLATIONS) {
  test(`removeAccount() ends what runs, and refuses what the account's handles ask for (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const account = host.account('acme', { zones: ['acme.example'] });
    const bucket = account.bucket('files');
    await bucket.put('a', 'old');
    const fn = await account.load(
      handler(`console.log('begun'); await scheduler.wait(600_000);`).replace('fetch(', 'scheduled() {}, async fetch('),
      {
        name: 'waits',
        routes: ['acme.example/*'],
        crons: ['0 0 * * *'],
        buckets: { FILES: 'files' },
      },
    );
    const begun = nextLog(host, 'waits');
    const over = nextInvocation(host);
    const running = fn.fetch('http://x/');
    running.catch(() => {});
    await begun;
    const removal = host.removeAccount('acme');
    await t.throwsAsync(running, { ...REMOVED, message: /was interrupted: its account was removed/ });
    t.like(await over, { outcome: 'canceled' });
    await (await removal).deleted;

    await t.throwsAsync(fn.fetch('http://x/'), REMOVED);
    await t.throwsAsync(host.fetch('http://acme.example/'), { code: 'EDGE_NO_ROUTE' });
    await t.throwsAsync(account.load(HELLO), REMOVED);
    await t.throwsAsync(account.check(HELLO), REMOVED);
    await t.throwsAsync(account.update({}), REMOVED);
    await t.throwsAsync(account.storage(), REMOVED);
    t.throws(() => account.bucket('files'), REMOVED);
    t.throws(() => account.usage(), REMOVED);
    t.throws(() => account.setTriggers('waits', {}), REMOVED);
    for (const call of [
      () => bucket.get('a'),
      () => bucket.put('b', 'x'),
      () => bucket.list(),
      () => bucket.delete('a'),
    ])
      await t.throwsAsync<Error>(call, REMOVED);
    t.deepEqual(host.health().cells, []);
    t.is(host.health().accounts, 0);

    const other = host.account('other', { zones: ['acme.example'] });
    await other.load(HELLO, { routes: ['acme.example/*'] });
    t.is(await textOf(host.fetch('http://acme.example/')), 'hello');
  });
}

test('a later account of the same id has the data again, and none with deleteData; handles of the first stay refused', async t => {
  const host = newHost(t);
  const first = host.account('acme').bucket('files');
  await first.put('a', 'x'.repeat(10));
  await host.removeAccount('acme');
  const second = host.account('acme', { limits: { storageBytes: 15 } });
  t.deepEqual(await second.storage(), { bytes: 10, objects: 1 });
  t.deepEqual(await keysIn(second.bucket('files')), ['a']);
  await t.throwsAsync(second.bucket('files').put('b', 'x'.repeat(6)), { code: 'EDGE_STORAGE_QUOTA' });
  await t.throwsAsync(first.put('b', 'x'), REMOVED);
  // Not awaited: what comes next finds nothing all the same.
  const removal = host.removeAccount('acme', { deleteData: true });
  const third = host.account('acme');
  await third.bucket('files').put('new', 'y');
  t.deepEqual(await keysIn(third.bucket('files')), ['new']);
  t.deepEqual(await third.storage(), { bytes: 1, objects: 1 });
  await (await removal).deleted;
  t.deepEqual(await keysIn(third.bucket('files')), ['new']);
  await t.throwsAsync(first.get('a'), REMOVED);
});

test('writes that are under way when their account is removed are refused, and leave nothing', async t => {
  const storage = await temporaryDirectory(t);
  const host = newHost(t, { storage });
  const bucket = host.account('acme').bucket('files');
  await bucket.put('a', 'x');
  let isRead = (): void => {};
  const reading = new Promise<void>(resolve => {
    isRead = resolve;
  });
  let chunks = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(FILE_BYTES));
      if (++chunks === 5) isRead();
    },
  });
  const endless = t.throwsAsync(bucket.put('b', body), REMOVED);
  const puts = Promise.allSettled(Array.from({ length: 20 }, (_, n) => bucket.put(`${n}`, 'x')));
  await reading;
  const more = Promise.allSettled(Array.from({ length: 20 }, (_, n) => bucket.put(`${n}`, 'x')));
  const { deleted } = await host.removeAccount('acme', { deleteData: true });
  await endless;
  for (const one of [...(await puts), ...(await more)]) {
    if (one.status === 'rejected') t.is(errorCode(one.reason), 'EDGE_ACCOUNT_REMOVED');
  }
  await deleted;
  await host.close();
  t.deepEqual(await leftIn(storage), { records: [], files: 0 });
});

test('removeAccount() with deleteData leaves nothing of the account, and everything of others', async t => {
  const storage = await temporaryDirectory(t);
  const host = newHost(t, { storage });
  for (const id of ['acme', 'acme.b']) await fill(host, id);
  await fill(host, 'acme', 'more');
  const { deleted } = await host.removeAccount('acme', { deleteData: true });
  await deleted;
  const other = host.account('acme.b').bucket('files');
  t.deepEqual(await keysIn(other), ['a', 'assembled', 'b/c', 'b/d/e', 'file', 'inline']);
  const { deleted: all } = await host.removeAccount('acme.b', { deleteData: true });
  await all;
  await host.close();
  t.deepEqual(await leftIn(storage), { records: [], files: 0 });
});

test('a removal that the end of the host cuts short is finished by the next one', async t => {
  const storage = await temporaryDirectory(t);
  const host = newHost(t, { storage });
  for (let n = 0; n < 5; n++) await fill(host, 'acme', `files-${n}`);
  const { deleted } = await host.removeAccount('acme', { deleteData: true });
  const cut = t.throwsAsync(deleted, { code: 'EDGE_CLOSED' });
  await host.close();
  await cut;
  t.true((await leftIn(storage)).records.length > 0);
  const again = newHost(t, { storage });
  t.deepEqual(await again.account('acme').storage(), { bytes: 0, objects: 0 });
  await (await again.removeAccount('acme', { deleteData: true })).deleted;
  await again.close();
  t.deepEqual(await leftIn(storage), { records: [], files: 0 });
});

test('removeAccount() deletes what an account has left that the host does not know, and refuses what is not there', async t => {
  const storage = await temporaryDirectory(t);
  const before = newHost(t, { storage });
  await fill(before, 'acme');
  await before.close();
  const host = newHost(t, { storage });
  await t.throwsAsync(host.removeAccount('acme'), { ...REMOVED, message: /there is no such account/ });
  await (await host.removeAccount('acme', { deleteData: true })).deleted;
  await t.throwsAsync(host.removeAccount(''), { instanceOf: TypeError });
  // @ts-expect-error there is no such option
  await t.throwsAsync(host.removeAccount('acme', { now: true }), { message: /removeAccount\(\) has no option "now"/ });
  await host.close();
  await t.throwsAsync(host.removeAccount('acme'), { code: 'EDGE_CLOSED' });
  t.deepEqual(await leftIn(storage), { records: [], files: 0 });
});

test('credentials of a removed account are unknown to the S3 endpoint until there is an account again', async t => {
  const host = newHost(t);
  const keys = { accessKeyId: 'key', secretAccessKey: 'a secret key' };
  const s3 = host.s3({ credentials: [{ ...keys, buckets: '*', account: 'acme' }] });
  const client = new AwsClient({ ...keys, service: 's3', region: 'auto' });
  const put = async () =>
    s3(await client.sign('http://localhost/files/a', { method: 'PUT', body: 'x', headers: { 'content-length': '1' } }));
  await host.account('acme').bucket('files').put('b', 'x');
  t.is((await put()).status, 200);
  await host.removeAccount('acme');
  const refused = await put();
  t.is(refused.status, 403);
  t.regex(await refused.text(), /<Code>InvalidAccessKeyId</);
  host.account('acme');
  t.is((await put()).status, 200);
});

test('removeAccount() takes tokens, zones and routes, and with deleteData the stored functions', async t => {
  const host = newHost(t);
  host.account('acme');
  host.account('other');
  const api = host.management();
  const all = await api.issueToken({ name: 'all', account: '*', permissions: ['zones:edit', 'functions:edit'] });
  const own = await api.issueToken({ name: 'own', account: 'acme', permissions: ['functions:read'] });
  const call = async (
    token: { value: string },
    method: string,
    path: string,
    body?: string | FormData,
  ): Promise<Response> =>
    api(
      new Request(`http://localhost${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${token.value}`,
          ...(typeof body === 'string' && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
      }),
    );
  const upload = (): Promise<Response> => {
    const form = new FormData();
    form.set('metadata', JSON.stringify({ main_module: 'index.js' }));
    form.set('index.js', new File([HELLO], 'index.js', { type: 'application/javascript+module' }));
    return call(all, 'PUT', '/accounts/acme/functions/hello', form);
  };
  const makeZone = (account: string): Promise<Response> =>
    call(all, 'POST', '/zones', JSON.stringify({ name: 'acme.example', account: { id: account } }));
  t.is((await upload()).status, 200);
  t.is((await makeZone('acme')).status, 201);
  t.is((await makeZone('other')).status, 409);
  await host.removeAccount('acme');
  t.is((await call(own, 'GET', '/accounts/acme/functions')).status, 401);
  t.is((await call(all, 'GET', '/accounts/acme/functions')).status, 404);
  t.is((await makeZone('other')).status, 201);
  host.account('acme');
  t.is((await call(own, 'GET', '/accounts/acme/functions')).status, 401);
  t.deepEqual(await api.restore(), { restored: 1, failed: [] });
  t.not(host.account('acme').function('hello'), undefined);
  await host.removeAccount('acme', { deleteData: true });
  host.account('acme');
  t.deepEqual(await api.restore(), { restored: 0, failed: [] });
});

test('a load that is under way when its account is removed rejects', async t => {
  const host = newHost(t);
  const account = host.account('acme');
  const loading = account.load(HELLO);
  const removal = host.removeAccount('acme');
  await t.throwsAsync(loading, REMOVED);
  await removal;
  t.deepEqual(host.accounts(), []);
});

test('accounts() lists all accounts with their plan and functions', async t => {
  const host = newHost(t);
  for (let n = 0; n < 1000; n++) host.account(`a${n}`, n % 2 === 0 ? { plan: 'free', zonePlan: 'pro' } : undefined);
  await host.account('a1', undefined).load(HELLO, { name: 'hello' });
  const accounts = host.accounts();
  t.is(accounts.length, 1000);
  t.deepEqual(accounts.slice(0, 2), [
    { id: 'a0', plan: 'free', zonePlan: 'pro', functions: [], zones: undefined },
    { id: 'a1', plan: 'standard', zonePlan: 'free', functions: ['hello'], zones: undefined },
  ]);
  await host.account('a1').update({ plan: 'free', zones: ['a.example'] });
  t.like(host.accounts()[1], { plan: 'free', zones: ['a.example'] });
});
