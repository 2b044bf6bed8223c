import test from 'ava';
import { openDoor } from './endpoint.js';

test('ListMultipartUploads groups by the delimiter and goes on by markers', async t => {
  const endpoint = await openDoor(t);
  for (const key of ['a/1', 'a/2', 'b', 'b', 'c/1']) await endpoint.send('POST', `/files/${key}?uploads`);
  const found: string[] = [];
  let marker = '';
  for (let pages = 0; pages < 10; pages++) {
    const { text } = await endpoint.send('GET', `/files?delimiter=%2F&max-uploads=1&uploads${marker}`);
    found.push(
      ...[...text.matchAll(/<Upload><Key>([^<]*)|<CommonPrefixes><Prefix>([^<]*)/g)].map(
        match => match[1] ?? match[2] ?? '',
      ),
    );
    const key = /<NextKeyMarker>([^<]*)/.exec(text)?.[1];
    if (key === undefined) break;
    marker = `&key-marker=${encodeURIComponent(key)}&upload-id-marker=${/<NextUploadIdMarker>([^<]*)/.exec(text)?.[1]}`;
  }
  t.deepEqual(found, ['a/', 'b', 'b', 'c/']);
});

test('UploadPart and CompleteMultipartUpload refuse what does not fit the upload', async t => {
  const endpoint = await openDoor(t, { minPartBytes: 10 });
  const uploadId = /<UploadId>([^<]*)/.exec((await endpoint.send('POST', '/files/k?uploads')).text)?.[1] ?? '';
  const part = (number: string, body: string, key = 'k', id = uploadId) =>
    endpoint.send('PUT', `/files/${key}?partNumber=${number}&uploadId=${id}`, { body });
  for (const number of ['0', '10001', '-1', '1.5', 'x', ''])
    t.is((await part(number, 'x')).code, 'InvalidArgument', number);
  t.is((await part('1', 'x', 'other')).code, 'NoSuchUpload');
  t.is((await part('1', 'x', 'k', 'nothing')).code, 'NoSuchUpload');
  const etags = [String((await part('1', '0123456789')).headers.etag), String((await part('2', '0')).headers.etag)];
  const complete = (parts: readonly (readonly [number, string])[], headers = {}) =>
    endpoint.send('POST', `/files/k?uploadId=${uploadId}`, {
      headers,
      body: `<CompleteMultipartUpload>${parts.map(([n, e]) => `<Part><PartNumber>${n}</PartNumber><ETag>${e}</ETag></Part>`).join('')}</CompleteMultipartUpload>`,
    });
  const [one = '', two = ''] = etags;
  t.is((await complete([])).code, 'MalformedXML');
  t.is(
    (
      await complete([
        [2, two],
        [1, one],
      ])
    ).code,
    'InvalidPartOrder',
  );
  t.is(
    (
      await complete([
        [1, one],
        [1, one],
      ])
    ).code,
    'InvalidPartOrder',
  );
  t.is((await complete([[1, two]])).code, 'InvalidPart');
  t.is(
    (
      await complete([
        [1, one],
        [3, two],
      ])
    ).code,
    'InvalidPart',
  );
  t.is(
    (
      await complete(
        [
          [1, one],
          [2, two],
        ],
        { 'x-amz-mp-object-size': '12' },
      )
    ).code,
    'InvalidRequest',
  );
  t.is(
    (
      await complete(
        [
          [1, one],
          [2, two],
        ],
        { 'x-amz-checksum-crc32': 'AAAAAA==' },
      )
    ).code,
    'InvalidRequest',
  );
  t.is(
    (
      await complete(
        [
          [1, one],
          [2, two],
        ],
        { 'if-match': '"nothing"' },
      )
    ).code,
    'NoSuchKey',
  );
  const done = await complete(
    [
      [1, one],
      [2, two],
    ],
    { 'x-amz-mp-object-size': '11', 'if-none-match': '*' },
  );
  t.is(done.status, 200, done.text);
  t.is((await complete([[1, one]])).code, 'NoSuchUpload');
});

test('UploadPart computes the checksum the upload was begun with, and refuses another', async t => {
  const endpoint = await openDoor(t);
  const begun = await endpoint.send('POST', '/files/k?uploads', { headers: { 'x-amz-checksum-algorithm': 'SHA256' } });
  t.is(begun.headers['x-amz-checksum-type'], 'COMPOSITE');
  const target = `/files/k?partNumber=1&uploadId=${/<UploadId>([^<]*)/.exec(begun.text)?.[1]}`;
  const other = await endpoint.send('PUT', target, { body: 'x', headers: { 'x-amz-checksum-crc32': 'jNwQgw==' } });
  t.is(other.code, 'InvalidRequest');
  const part = await endpoint.send('PUT', target, { body: 'x' });
  t.is(part.headers['x-amz-checksum-sha256'], 'LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=');
});

test('an upload begun at one endpoint ends at the other', async t => {
  const endpoint = await openDoor(t, { minPartBytes: 10 });
  const bucket = await endpoint.buckets.open('files');
  const { uploadId } = await bucket.createUpload('k', {});
  const reply = await endpoint.send('PUT', `/files/k?partNumber=1&uploadId=${uploadId}`, { body: 'from S3' });
  const etag = String(reply.headers.etag).slice(1, -1);
  await bucket.completeUpload('k', uploadId, [{ partNumber: 1, etag }]);
  t.is((await endpoint.send('GET', '/files/k')).text, 'from S3');
});

test('CompleteMultipartUpload refuses a part that is too small, and parts of unequal size', async t => {
  const endpoint = await openDoor(t, { minPartBytes: 10 });
  const complete = async (bodies: readonly string[]) => {
    const uploadId = /<UploadId>([^<]*)/.exec((await endpoint.send('POST', '/files/k?uploads')).text)?.[1];
    const parts: string[] = [];
    for (const [i, body] of bodies.entries()) {
      const { headers } = await endpoint.send('PUT', `/files/k?partNumber=${i + 1}&uploadId=${uploadId}`, { body });
      parts.push(`<Part><PartNumber>${i + 1}</PartNumber><ETag>${headers.etag}</ETag></Part>`);
    }
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    return (await endpoint.send('POST', `/files/k?uploadId=${uploadId}`, { body })).code;
  };
  t.is(await complete(['small', 'last']), 'EntityTooSmall');
  t.is(await complete(['0123456789', '01234567890123', 'last']), 'InvalidPart');
  t.is(await complete(['0123456789', '0123456789', 'last']), undefined);
});

test('CompleteMultipartUpload answers again as it did, also at once, when it is repeated with the same parts', async t => {
  const endpoint = await openDoor(t, { minPartBytes: 10 });
  const begun = await endpoint.send('POST', '/files/k?uploads', { headers: { 'x-amz-checksum-algorithm': 'CRC32' } });
  const uploadId = /<UploadId>([^<]*)/.exec(begun.text)?.[1];
  const part = async (number: number, body: string) => {
    const { headers } = await endpoint.send('PUT', `/files/k?partNumber=${number}&uploadId=${uploadId}`, { body });
    return `<Part><PartNumber>${number}</PartNumber><ETag>${headers.etag}</ETag></Part>`;
  };
  const parts = [await part(1, '0123456789'), await part(2, 'last')];
  const complete = (named: readonly string[], key = 'k') => {
    const body = `<CompleteMultipartUpload>${named.join('')}</CompleteMultipartUpload>`;
    return endpoint.send('POST', `/files/${key}?uploadId=${uploadId}`, { body });
  };
  const answers = await Promise.all([complete(parts), complete(parts)]);
  await endpoint.send('PUT', '/files/k', { body: 'overwritten' });
  answers.push(await complete(parts));
  for (const { status, text } of answers) {
    t.is(status, 200, text);
    t.regex(text, /<ETag>&quot;[0-9a-f]{32}-2&quot;<\/ETag><ChecksumCRC32>/);
    t.is(text, answers[0]?.text);
  }
  t.is((await endpoint.send('GET', '/files/k')).text, 'overwritten');
  t.is((await complete(parts.slice(0, 1))).code, 'NoSuchUpload');
  t.is((await complete(parts, 'other')).code, 'NoSuchUpload');
});

test('CompleteMultipartUpload of an upload that was aborted is NoSuchUpload', async t => {
  const endpoint = await openDoor(t);
  const uploadId = /<UploadId>([^<]*)/.exec((await endpoint.send('POST', '/files/k?uploads')).text)?.[1];
  const { headers } = await endpoint.send('PUT', `/files/k?partNumber=1&uploadId=${uploadId}`, { body: 'x' });
  await endpoint.send('DELETE', `/files/k?uploadId=${uploadId}`);
  const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${headers.etag}</ETag></Part></CompleteMultipartUpload>`;
  t.is((await endpoint.send('POST', `/files/k?uploadId=${uploadId}`, { body })).code, 'NoSuchUpload');
});
