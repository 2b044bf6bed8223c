import test from 'ava';
import { BUCKET_ERRORS } from '../../../src/bindings/bucket/errors.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { S3_ERRORS, S3Error, toS3Error } from '../../../src/s3/wire/errors.js';
import { openDoor } from '../endpoint.js';

test('toS3Error() has a code of the client for every error of a bucket but the internal one', t => {
  for (const [code, { status }] of Object.entries(BUCKET_ERRORS)) {
    const error = toS3Error(Object.assign(new Error(`put: the text (${code})`), { code: Number(code) }));
    if (code === '10001') t.is(error.code, 'InternalError');
    else t.deepEqual([error.status, error.message], [status, 'the text.'], code);
  }
});

test('toS3Error() says nothing of the inside', t => {
  const full = toS3Error(new EdgeError('EDGE_STORAGE_FULL', 'Cannot write /var/secret'));
  t.deepEqual([full.code, full.status, full.message], ['InsufficientStorage', 507, S3_ERRORS.InsufficientStorage.text]);
  const closed = toS3Error(new EdgeError('EDGE_CLOSED', 'secret'));
  t.deepEqual(
    [closed.code, closed.status, closed.message],
    ['ServiceUnavailable', 503, S3_ERRORS.ServiceUnavailable.text],
  );
  for (const thrown of [new Error('secret'), 'secret', undefined, { code: 'ENOENT', message: 'secret' }]) {
    t.deepEqual([toS3Error(thrown).code, toS3Error(thrown).message], ['InternalError', S3_ERRORS.InternalError.text]);
  }
});

test('every error of the table has a text', t => {
  for (const { status, text } of Object.values(S3_ERRORS)) t.true(status >= 400 && text.length > 5);
  t.is(new S3Error('NoSuchKey').message, S3_ERRORS.NoSuchKey.text);
});

test('a closed storage is ServiceUnavailable', async t => {
  const endpoint = await openDoor(t, {
    buckets: () => {
      throw new EdgeError('EDGE_CLOSED', 'closed');
    },
  });
  t.deepEqual([(await endpoint.send('GET', '/files')).status, endpoint.errors.length], [503, 1]);
});
