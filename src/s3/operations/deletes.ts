import type { BucketEngine } from '../../bindings/bucket/engine.js';
import { BUCKET_LIMITS } from '../../bindings/bucket/limits.js';
import { emptyAnswer, type OperationContext, type S3Answer, xmlAnswer } from '../operation.js';
import { notImplemented, S3Error } from '../wire/errors.js';
import { checkVersion } from './parameters.js';

export async function deleteObject(
  { request }: OperationContext,
  bucket: BucketEngine,
  key: string,
): Promise<S3Answer> {
  checkVersion(request.query.get('versionId'));
  await bucket.delete([key]);
  return emptyAnswer(204);
}

/** Keys that are not there count as deleted. One that cannot be a key fails alone. */
export async function deleteObjects(context: OperationContext, bucket: BucketEngine): Promise<S3Answer> {
  const request = await context.receiveXml('Delete', BUCKET_LIMITS.deleteKeys * 3 + 2);
  const objects = request?.elements('Object') ?? [];
  if (request === undefined || objects.length < 1 || objects.length > BUCKET_LIMITS.deleteKeys) {
    throw new S3Error(
      'MalformedXML',
      `Delete names ${objects.length} objects; allowed are 1 to ${BUCKET_LIMITS.deleteKeys}.`,
    );
  }
  const keys = objects.map(object => {
    const other = object.names.find(name => name !== 'Key' && name !== 'VersionId');
    if (other !== undefined) throw notImplemented(`The element ${other} of Object in DeleteObjects`);
    checkVersion(object.text('VersionId'));
    const key = object.text('Key');
    if (key === undefined || key === '') throw new S3Error('UserKeyMustBeSpecified');
    return key;
  });
  const tooLong = keys.filter(key => Buffer.byteLength(key) > BUCKET_LIMITS.keyBytes);
  const deleted = keys.filter(key => Buffer.byteLength(key) <= BUCKET_LIMITS.keyBytes);
  if (deleted.length > 0) await bucket.delete(deleted);
  const isQuiet = request.text('Quiet')?.trim().toLowerCase() === 'true';
  return xmlAnswer('DeleteResult', {
    Deleted: isQuiet ? [] : deleted.map(Key => ({ Key })),
    Error: tooLong.map(Key => ({ Key, Code: 'KeyTooLongError', Message: new S3Error('KeyTooLongError').message })),
  });
}
