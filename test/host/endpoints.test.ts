/** The S3 endpoint and the management API, mounted on a host with functions and buckets. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import test, { type ExecutionContext } from 'ava';
import { EdgeHost } from '../../src/index.js';
import { signRequest } from '../s3/sign.js';
import { listen } from '../servers.js';
import { handler, newHost, textOf } from './new-host.js';

/** May reach the bucket "files" of account "acme". */
async function s3Client(t: ExecutionContext, host: EdgeHost): Promise<S3Client> {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret-of-acme' };
  const endpoint = await listen(
    t,
    host.s3Listener({ credentials: [{ ...credentials, buckets: ['files'], account: 'acme' }] }),
  );
  const client = new S3Client({ endpoint, region: 'auto', credentials, forcePathStyle: true });
  t.teardown(() => client.destroy());
  return client;
}

test('what an S3 client puts a function gets, and the other way round', async t => {
  const host = newHost(t);
  const fn = await host
    .account('acme')
    .load(
      handler(
        `await env.FILES.put('from-function', 'two'); return new Response(await (await env.FILES.get('from-client')).text())`,
      ),
      { buckets: { FILES: 'files' } },
    );
  const client = await s3Client(t, host);
  await client.send(new PutObjectCommand({ Bucket: 'files', Key: 'from-client', Body: 'one' }));
  t.is(await textOf(fn.fetch('http://x/')), 'one');
  const { Body } = await client.send(new GetObjectCommand({ Bucket: 'files', Key: 'from-function' }));
  t.is(await Body?.transformToString(), 'two');
  await t.throwsAsync(client.send(new GetObjectCommand({ Bucket: 'other', Key: 'x' })), { name: 'AccessDenied' });
});

test('s3() has listeners beside the fetch handler, which takes the request target as it came', async t => {
  const host = newHost(t);
  await host.bucket('files').put('b', 'other');
  const key = { accessKeyId: 'key', secretAccessKey: 'secret-of-default' };
  const s3 = host.s3({ credentials: [{ ...key, buckets: ['files'] }] });
  const target = '/files/a/../b';
  const signed = signRequest('PUT', target, { host: 'h', ...key, body: 'x' });
  const request = () => new Request(`http://h${target}`, { method: 'PUT', headers: signed.headers, body: 'x' });
  t.is((await s3(request())).status, 403);
  t.is((await s3(request(), { target })).status, 200);
  t.is(await (await host.bucket('files').get('a/../b'))?.text(), 'x');

  const server = http.createServer(s3.listener).on('checkContinue', s3.continueListener).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const headers = { expect: '100-continue', 'content-length': '1', authorization: 'Bearer token' };
  const upload = http.request({ port, host: '127.0.0.1', method: 'PUT', path: '/files/k', headers, agent: false });
  upload.on('continue', () => t.fail('the endpoint asked for a body that it refuses'));
  upload.flushHeaders();
  const [refused] = await once(upload, 'response');
  t.is(refused.statusCode, 400);
  upload.destroy();
});

test('a listing is what it is when the function has replaced what arrays, strings and objects do', async t => {
  const host = newHost(t);
  const bucket = host.account('acme').bucket('files');
  await bucket.put('a', 'plain');
  await bucket.put('long', 'cold', { storageClass: 'InfrequentAccess' });
  await (await bucket.createMultipartUpload('parts')).complete([]);
  const fn = await host.account('acme').load(
    handler(`
      const { stringify } = JSON;
      const nothing = () => undefined;
      for (const name of ['slice', 'at', 'charCodeAt']) String.prototype[name] = nothing;
      for (const name of ['push', 'map', 'forEach', 'every', 'slice', 'entries']) Array.prototype[name] = nothing;
      Array.isArray = Number.isInteger = Object.assign = Object.entries = nothing;
      Object.prototype.text = Object.prototype.lengths = 'text';
      const { objects } = await env.FILES.list();
      delete Object.prototype.text;
      delete Object.prototype.lengths;
      let text = '';
      for (let at = 0; at < objects.length; at++) text += stringify(objects[at]);
      return new Response(text);
    `),
    { buckets: { FILES: 'files' } },
  );
  const { objects } = await bucket.list();
  t.is(await textOf(fn.fetch('http://x/')), objects.map(object => JSON.stringify(object)).join(''));
});

test('each endpoint reads what any other wrote last, also when it has read the key before', async t => {
  const host = newHost(t);
  const account = host.account('acme');
  const fn = await account.load(
    handler(`
      const value = new URL(request.url).searchParams.get('put');
      if (value === '') await env.FILES.delete('key');
      else if (value !== null) await env.FILES.put('key', value);
      return new Response(await (await env.FILES.get('key'))?.text() ?? 'none');`),
    { buckets: { FILES: 'files' } },
  );
  const client = await s3Client(t, host);
  const place = { Bucket: 'files', Key: 'key' };
  const bucket = account.bucket('files');
  const reads = [
    () => textOf(fn.fetch('http://x/')),
    async () => (await (await bucket.get('key'))?.text()) ?? 'none',
    async () => {
      try {
        return await (await client.send(new GetObjectCommand(place))).Body?.transformToString();
      } catch (error) {
        return error instanceof NoSuchKey ? 'none' : `${error}`;
      }
    },
  ];
  const upload = await bucket.createMultipartUpload('key');
  const part = await upload.uploadPart(1, 'six');
  const writes: (readonly [string, () => Promise<unknown>])[] = [
    ['one', () => textOf(fn.fetch('http://x/?put=one'))],
    ['two', () => bucket.put('key', 'two')],
    ['three', () => client.send(new PutObjectCommand({ ...place, Body: 'three' }))],
    ['none', () => textOf(fn.fetch('http://x/?put='))],
    ['four', () => bucket.put('key', 'four')],
    ['none', () => client.send(new DeleteObjectCommand(place))],
    ['five', () => textOf(fn.fetch('http://x/?put=five'))],
    ['six', () => upload.complete([part])],
    ['none', () => bucket.delete('key')],
  ];
  for (const [expected, write] of writes) {
    await write();
    for (const read of [...reads, ...reads]) t.is(await read(), expected);
  }
});

function upload(source: string, extra: object = {}): FormData {
  const form = new FormData();
  form.set('metadata', JSON.stringify({ main_module: 'index.js', ...extra }));
  form.set('index.js', new File([source], 'index.js', { type: 'application/javascript+module' }));
  return form;
}

test('a function uploaded through the management API serves, with its routes, and again after a restart', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const first = new EdgeHost({ storage: directory, spareIsolates: 0 });
  first.account('acme');
  const api = first.management();
  const { value } = await api.issueToken({
    name: 'test',
    account: 'acme',
    permissions: ['functions:edit', 'functions:read'],
  });
  const authorization = `Bearer ${value}`;
  const put = await api(
    new Request('http://api/accounts/acme/functions/hello', {
      method: 'PUT',
      headers: { authorization },
      body: upload(handler('return new Response("hello " + env.NAME)'), {
        bindings: [{ type: 'plain_text', name: 'NAME', text: 'acme' }],
      }),
    }),
  );
  t.is(put.status, 200, await put.clone().text());
  t.like(await put.json(), { success: true, result: { startup_time_ms: Number((await firstStartup(first)) ?? 0) } });
  const fn = first.account('acme').function('hello');
  t.is(await textOf(fn?.fetch('http://x/') ?? Promise.reject()), 'hello acme');
  await first.close();

  const second = new EdgeHost({ storage: directory, spareIsolates: 0 });
  t.teardown(() => second.close());
  second.account('acme');
  t.like(await second.management().restore(), { restored: 1, failed: [] });
  t.is(await textOf(second.account('acme').function('hello')?.fetch('http://x/') ?? Promise.reject()), 'hello acme');
});

async function firstStartup(host: EdgeHost): Promise<number | undefined> {
  return host.account('acme').function('hello')?.startupTimeMs;
}

test('the management API tells what is wrong with a script, and changes nothing', async t => {
  const host = newHost(t);
  host.account('acme');
  const api = host.management();
  const { value } = await api.issueToken({ name: 'test', account: 'acme', permissions: ['functions:edit'] });
  const answer = await api(
    new Request('http://api/accounts/acme/functions/broken', {
      method: 'PUT',
      headers: { authorization: `Bearer ${value}` },
      body: upload('export default {'),
    }),
  );
  t.is(answer.status, 400);
  t.regex(await answer.text(), /does not parse/);
  t.is(host.account('acme').function('broken'), undefined);
});

test('the management API refuses everything without a token', async t => {
  const host = newHost(t);
  const answer = await host.management()(new Request('http://api/accounts/acme/functions'));
  t.is(answer.status, 401);
});

test('openStorage() opens the storage before it is used, and rejects when another host has it or the host is closed', async t => {
  const storage = await mkdtemp(join(tmpdir(), 'edgehost-open-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  const first = newHost(t, { storage, backend: 'inline' });
  t.false(first.health().storage.isOpen);
  await first.openStorage();
  t.true(first.health().storage.isOpen);
  const second = newHost(t, { storage, backend: 'inline' });
  await t.throwsAsync(second.openStorage(), { code: 'EDGE_STORAGE_LOCKED' });
  await first.close();
  await t.throwsAsync(first.openStorage(), { code: 'EDGE_CLOSED' });
  await t.notThrowsAsync(second.openStorage());
});
