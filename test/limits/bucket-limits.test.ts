/** The limits of buckets that an owner overrides, at every endpoint. */
import test from 'ava';
import { AwsClient } from 'aws4fetch';
import type { EdgeHost } from '../../src/index.js';
import { handler, newHost, textOf } from '../host/new-host.js';

test('an override of listEntries holds for list() in a function, in the application and at the S3 endpoint', async t => {
  const host = newHost(t, { limits: { listEntries: 3 } });
  const acme = host.account('acme', { limits: { listEntries: 2 } });
  const bucket = acme.bucket('files');
  await Promise.all(['a', 'b', 'c', 'd'].map(key => bucket.put(key, key)));

  const page = await bucket.list();
  t.deepEqual([page.objects.length, page.truncated], [2, true]);
  await t.throwsAsync(bucket.list({ limit: 3 }), { code: 10022, message: /limit is 3, .* from 1 to 2 / });

  const source = handler(`
    const pages = [(await env.FILES.list()).objects.length];
    try { await env.FILES.list({ limit: 2 }); } catch (error) { pages.push(error.message); }
    return Response.json(pages);`);
  const fn = await acme.load(source, { buckets: { FILES: 'files' }, limits: { listEntries: 1 } });
  t.is(await textOf(fn.fetch('http://x/')), '[1,"list: limit is 2, it must be a whole number from 1 to 1 (10022)"]');

  const keys = { accessKeyId: 'key', secretAccessKey: 'a secret key' };
  t.regex(
    await listing(host.s3({ credentials: [{ ...keys, buckets: '*', account: 'acme' }] }), keys),
    /<KeyCount>2<.*<MaxKeys>2</,
  );
});

test('an override of multipartUploadMs ends the uploads of a function', async t => {
  const host = newHost(t);
  const source = handler(`
    const upload = await env.FILES.createMultipartUpload('key');
    const begun = Date.now();
    while (Date.now() < begun + 2) await env.FILES.head('x');
    try { return new Response((await upload.complete([await upload.uploadPart(1, 'x')])).etag); } catch (error) { return new Response(error.message); }`);
  const buckets = { FILES: 'files' };
  const usual = await host.load(source, { buckets, name: 'usual' });
  t.regex(await textOf(usual.fetch('http://x/')), /^[0-9a-f]{32}-1$/);
  const short = await host.load(source, { buckets, name: 'short', limits: { multipartUploadMs: 1 } });
  t.regex(await textOf(short.fetch('http://x/')), /\(10024\)$/);
});

async function listing(fetch: ReturnType<EdgeHost['s3']>, keys: { accessKeyId: string; secretAccessKey: string }) {
  const client = new AwsClient({ ...keys, service: 's3', region: 'auto' });
  return (await fetch(await client.sign('http://localhost/files?list-type=2'))).text();
}
