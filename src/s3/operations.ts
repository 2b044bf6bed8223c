import type { OperationName } from './detect.js';
import type { S3Operation } from './operation.js';
import { getObjectAttributes } from './operations/attributes.js';
import { createBucket, deleteBucket, getBucketLocation, headBucket, listBuckets } from './operations/buckets.js';
import { copyObject, uploadPartCopy } from './operations/copies.js';
import { deleteObject, deleteObjects } from './operations/deletes.js';
import { listObjects, listObjectsV2 } from './operations/list-objects.js';
import { listMultipartUploads, listParts } from './operations/list-uploads.js';
import { getObject, headObject, putObject } from './operations/objects.js';
import { abortUpload, completeUpload, createUpload, uploadPart } from './operations/uploads.js';

const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const;
const METADATA = ['x-amz-meta-*', 'x-amz-storage-class'] as const;
const COPY_SOURCE = ['x-amz-copy-source', ...CONDITIONS.map(name => `x-amz-copy-source-${name}`)] as const;
/** `if-range` is ignored: without it a range is a range. */
const READ: Pick<S3Operation, 'permission' | 'query' | 'headers'> = {
  permission: 'read',
  query: [
    'partNumber',
    'versionId',
    'response-cache-control',
    'response-content-disposition',
    'response-content-encoding',
    'response-content-language',
    'response-content-type',
    'response-expires',
  ],
  headers: [...CONDITIONS, 'if-range', 'x-amz-checksum-mode'],
};

/** The table of operations. If one of {@link OperationName} is missing, this file does not compile. */
export const OPERATIONS: Readonly<Record<OperationName, S3Operation>> = {
  ListBuckets: {
    level: 'service',
    permission: 'read',
    query: ['prefix', 'max-buckets', 'continuation-token'],
    run: listBuckets,
  },
  HeadBucket: { level: 'bucket', permission: 'read', run: headBucket },
  CreateBucket: {
    level: 'name',
    permission: 'write',
    headers: ['x-amz-bucket-object-lock-enabled'],
    run: createBucket,
  },
  DeleteBucket: { level: 'name', permission: 'write', run: deleteBucket },
  GetBucketLocation: { level: 'bucket', permission: 'read', query: ['location'], run: getBucketLocation },
  ListObjects: {
    level: 'bucket',
    permission: 'read',
    query: ['prefix', 'delimiter', 'marker', 'max-keys', 'encoding-type'],
    run: listObjects,
  },
  ListObjectsV2: {
    level: 'bucket',
    permission: 'read',
    query: [
      'list-type',
      'prefix',
      'delimiter',
      'start-after',
      'continuation-token',
      'max-keys',
      'encoding-type',
      'fetch-owner',
    ],
    run: listObjectsV2,
  },
  DeleteObjects: { level: 'bucket', permission: 'write', query: ['delete'], run: deleteObjects },
  GetObject: { level: 'object', ...READ, run: getObject },
  HeadObject: { level: 'object', ...READ, run: headObject },
  GetObjectAttributes: {
    level: 'object',
    permission: 'read',
    query: ['attributes', 'versionId'],
    headers: ['x-amz-object-attributes', 'x-amz-max-parts', 'x-amz-part-number-marker'],
    run: getObjectAttributes,
  },
  PutObject: { level: 'object', permission: 'write', headers: [...CONDITIONS, ...METADATA], run: putObject },
  CopyObject: {
    level: 'object',
    permission: 'write',
    headers: [...CONDITIONS, ...METADATA, ...COPY_SOURCE, 'x-amz-metadata-directive', 'x-amz-checksum-algorithm'],
    run: copyObject,
  },
  DeleteObject: { level: 'object', permission: 'write', query: ['versionId'], run: deleteObject },
  CreateMultipartUpload: {
    level: 'object',
    permission: 'write',
    query: ['uploads'],
    headers: [...METADATA, 'x-amz-checksum-algorithm', 'x-amz-checksum-type'],
    run: createUpload,
  },
  UploadPart: { level: 'object', permission: 'write', query: ['uploadId', 'partNumber'], run: uploadPart },
  UploadPartCopy: {
    level: 'object',
    permission: 'write',
    query: ['uploadId', 'partNumber'],
    headers: [...COPY_SOURCE, 'x-amz-copy-source-range'],
    run: uploadPartCopy,
  },
  CompleteMultipartUpload: {
    level: 'object',
    permission: 'write',
    query: ['uploadId'],
    headers: ['if-match', 'if-none-match', 'x-amz-checksum-type', 'x-amz-mp-object-size'],
    run: completeUpload,
  },
  AbortMultipartUpload: { level: 'object', permission: 'write', query: ['uploadId'], run: abortUpload },
  ListParts: {
    level: 'object',
    permission: 'read',
    query: ['uploadId', 'max-parts', 'part-number-marker', 'encoding-type'],
    run: listParts,
  },
  ListMultipartUploads: {
    level: 'bucket',
    permission: 'read',
    query: ['uploads', 'prefix', 'delimiter', 'key-marker', 'upload-id-marker', 'max-uploads', 'encoding-type'],
    run: listMultipartUploads,
  },
};
