import test, { type ExecutionContext } from 'ava';
import { AwsClient } from 'aws4fetch';
import { type Door, KEYS, openDoor } from '../s3/endpoint.js';

async function open(t: ExecutionContext): Promise<{ endpoint: Door; aws: AwsClient; base: string }> {
  const endpoint = await openDoor(t);
  const aws = new AwsClient({ ...KEYS, service: 's3', region: 'auto', retries: 0 });
  return { endpoint, aws, base: `${endpoint.endpoint}/files` };
}

// A bare + in the path is signed as a space by this client, which would be the signature of another key.
test('aws4fetch puts, gets, heads and deletes an object', async t => {
  const { aws, base } = await open(t);
  const put = await aws.fetch(`${base}/a%20b/c%2Bd`, {
    method: 'PUT',
    body: 'hello',
    headers: { 'content-type': 'text/plain', 'x-amz-meta-a': '1' },
  });
  t.is(put.status, 200, await put.text());
  const got = await aws.fetch(`${base}/a%20b/c%2Bd`);
  t.is(await got.text(), 'hello');
  t.is(got.headers.get('x-amz-meta-a'), '1');
  t.is((await aws.fetch(`${base}/a%20b/c%2Bd`, { method: 'HEAD' })).headers.get('content-length'), '5');
  t.is((await aws.fetch(`${base}/a%20b/c%2Bd`, { method: 'DELETE' })).status, 204);
  t.is((await aws.fetch(`${base}/a%20b/c%2Bd`)).status, 404);
});

test('aws4fetch lists with a prefix that has a space', async t => {
  const { aws, base } = await open(t);
  for (const key of ['x%20y/1', 'x%20y/2', 'z']) await aws.fetch(`${base}/${key}`, { method: 'PUT', body: 'x' });
  const url = new URL(base);
  url.searchParams.set('list-type', '2');
  url.searchParams.set('prefix', 'x y/');
  const text = await (await aws.fetch(url)).text();
  t.regex(text, /<KeyCount>2<\/KeyCount>/);
  t.regex(text, /<Key>x y\/1<\/Key>/);
});

test('aws4fetch presigns a URL', async t => {
  const { aws, base } = await open(t);
  const signed = await aws.sign(`${base}/k?X-Amz-Expires=60`, { method: 'PUT', aws: { signQuery: true } });
  const put = await fetch(signed.url, { method: 'PUT', body: 'x' });
  t.is(put.status, 200, await put.text());
});
