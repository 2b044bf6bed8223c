/** Bodies that fail on their way: the call always ends, nothing is stored, and nothing stays open. */
import test from 'ava';
import { type Door, KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

/** Some bytes, and then an error. */
function failing(bytes: number): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isSent) controller.error(new Error('boom'));
      else controller.enqueue(new Uint8Array(bytes).fill(1));
      isSent = true;
    },
  });
}

function put(endpoint: Door, target: string, body: ReadableStream<Uint8Array>): Promise<Response> {
  const { headers } = signRequest('PUT', target, { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  return endpoint.handler.fetch(new Request(`http://h${target}`, { method: 'PUT', headers, body, duplex: 'half' }));
}

for (const bytes of [10, 300_000]) {
  test(`fetch() answers an upload that fails after ${bytes} bytes, and stores nothing`, async t => {
    const endpoint = await openDoor(t, { onDisk: true });
    await endpoint.send('PUT', '/files/k', { body: 'old' });
    const bucket = await endpoint.buckets.open('files');
    const { uploadId } = await bucket.createUpload('parts', {});
    for (const target of ['/files/k', `/files/parts?partNumber=1&uploadId=${uploadId}`]) {
      const response = await put(endpoint, target, failing(bytes));
      t.is(response.status, 400);
      t.regex(await response.text(), /<Code>IncompleteBody<\/Code>/);
    }
    t.is((await endpoint.send('GET', '/files/k')).text, 'old');
    t.deepEqual((await bucket.listParts(uploadId, 0, 10)).parts, []);
    t.is((await bucket.uploadPart('parts', uploadId, 1, Buffer.from('x'), {})).size, 1);
    t.deepEqual(endpoint.errors, []);
  });
}

test('fetch() answers an upload that is longer than announced, whose source never says that it is done', async t => {
  const endpoint = await openDoor(t);
  const { headers } = signRequest('PUT', '/files/k', { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  const body = new ReadableStream<Uint8Array>({
    pull: controller => controller.enqueue(new Uint8Array(100)),
    cancel: () => new Promise(() => {}),
  });
  const init = { method: 'PUT', headers: { ...headers, 'content-length': '150' }, body, duplex: 'half' } as const;
  const response = await endpoint.handler.fetch(new Request('http://h/files/k', init));
  t.is(response.status, 400);
  t.is((await endpoint.send('HEAD', '/files/k')).status, 404);
});

test('a bucket answers a put and a part whose streams fail', async t => {
  const endpoint = await openDoor(t, { onDisk: true });
  const bucket = await endpoint.buckets.open('files');
  const { uploadId } = await bucket.createUpload('parts', {});
  await t.throwsAsync(bucket.put('k', failing(300_000), {}), { message: 'boom' });
  await t.throwsAsync(bucket.uploadPart('parts', uploadId, 1, failing(300_000), {}), { message: 'boom' });
  t.is(await bucket.head('k'), null);
  t.deepEqual((await bucket.listParts(uploadId, 0, 10)).parts, []);
});

test('a copy that is refused before it is read gives its source free', async t => {
  const endpoint = await openDoor(t, { onDisk: true });
  await endpoint.send('PUT', '/files/source', { body: Buffer.alloc(300_000) });
  const bucket = await endpoint.buckets.open('files');
  const { uploadId } = await bucket.createUpload('parts', {});
  const headers = { 'x-amz-copy-source': '/files/source' };
  let held = 0;
  let afterGet = async (): Promise<unknown> => undefined;
  const { get } = bucket;
  bucket.get = async (...given) => {
    const outcome = await get.apply(bucket, given);
    await afterGet();
    if (outcome.kind !== 'found') return outcome;
    const { content } = outcome;
    held++;
    const release = () => {
      held--;
      content.release();
    };
    return { ...outcome, content: { ...content, release } };
  };
  const tooLong = await endpoint.send('PUT', `/files/${'k'.repeat(1025)}`, { headers });
  t.deepEqual([tooLong.status, tooLong.code, held], [400, 'KeyTooLongError', 0]);
  const metadata = { 'x-amz-metadata-directive': 'REPLACE', 'x-amz-meta-a': 'v'.repeat(9000) };
  const tooMuch = await endpoint.send('PUT', '/files/copy', { headers: { ...headers, ...metadata } });
  t.deepEqual([tooMuch.code, held], ['MetadataTooLarge', 0]);
  // The upload ends between the look-up and the write of its part.
  afterGet = () => bucket.abortUpload('parts', uploadId);
  const part = await endpoint.send('PUT', `/files/parts?partNumber=1&uploadId=${uploadId}`, { headers });
  t.deepEqual([part.status, part.code, held], [404, 'NoSuchUpload', 0]);
  t.deepEqual(endpoint.errors, []);
});
