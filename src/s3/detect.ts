import { notImplemented, S3Error } from './wire/errors.js';
import { isFormUpload, type S3Request } from './wire/request.js';

/** Which operation a request is. Subresources are decided first: none of them may fall through to a plain operation. */

export type OperationName =
  | 'ListBuckets'
  | 'HeadBucket'
  | 'CreateBucket'
  | 'DeleteBucket'
  | 'GetBucketLocation'
  | 'ListObjects'
  | 'ListObjectsV2'
  | 'DeleteObjects'
  | 'GetObject'
  | 'HeadObject'
  | 'GetObjectAttributes'
  | 'PutObject'
  | 'CopyObject'
  | 'DeleteObject'
  | 'CreateMultipartUpload'
  | 'UploadPart'
  | 'UploadPartCopy'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'
  | 'ListParts'
  | 'ListMultipartUploads';

/** A request with what its operation needs. */
export type Detected =
  | { readonly level: 'service'; readonly operation: 'ListBuckets' }
  | { readonly level: 'bucket'; readonly operation: OperationName; readonly bucket: string }
  | { readonly level: 'object'; readonly operation: OperationName; readonly bucket: string; readonly key: string };

/** Subresources of S3 without an operation here, with the noun of their operation's name; `attributes` is one of an object that is read. */
const OTHER_SUBRESOURCES: Readonly<Record<string, string>> = {
  accelerate: 'AccelerateConfiguration',
  acl: 'Acl',
  analytics: 'AnalyticsConfiguration',
  attributes: 'Attributes',
  cors: 'Cors',
  encryption: 'Encryption',
  events: 'Events',
  'intelligent-tiering': 'IntelligentTieringConfiguration',
  inventory: 'InventoryConfiguration',
  'legal-hold': 'LegalHold',
  lifecycle: 'LifecycleConfiguration',
  logging: 'Logging',
  metadataConfiguration: 'MetadataConfiguration',
  metadataTable: 'MetadataTableConfiguration',
  metrics: 'MetricsConfiguration',
  notification: 'NotificationConfiguration',
  'object-lock': 'LockConfiguration',
  ownershipControls: 'OwnershipControls',
  policy: 'Policy',
  policyStatus: 'PolicyStatus',
  publicAccessBlock: 'PublicAccessBlock',
  renameObject: 'Rename',
  replication: 'Replication',
  requestPayment: 'RequestPayment',
  restore: 'Restore',
  retention: 'Retention',
  select: 'Select',
  session: 'Session',
  tagging: 'Tagging',
  torrent: 'Torrent',
  versioning: 'Versioning',
  versions: 'Versions',
  website: 'Website',
};

/** Throws S3Error NotImplemented that names the operation, or MethodNotAllowed. */
export function detect(request: S3Request): Detected {
  const { method, query, bucket, key } = request;
  for (const name of query.keys()) {
    const noun = Object.hasOwn(OTHER_SUBRESOURCES, name) ? OTHER_SUBRESOURCES[name] : undefined;
    const isOperation = name === 'attributes' && method === 'GET' && key !== undefined;
    if (noun !== undefined && !isOperation) {
      const level = key === undefined ? 'Bucket' : 'Object';
      throw notImplemented(`The operation ${titleCase(method)}${level}${noun} (subresource "${name}")`);
    }
  }
  if (bucket === undefined) {
    if (method === 'GET') return { level: 'service', operation: 'ListBuckets' };
    throw methodNotAllowed(method, 'service', 'GET');
  }
  if (key === undefined) return { level: 'bucket', operation: bucketOperation(request), bucket };
  return { level: 'object', operation: objectOperation(request), bucket, key };
}

function bucketOperation(request: S3Request): OperationName {
  const { method, query } = request;
  switch (method) {
    case 'GET':
      if (query.has('location')) return 'GetBucketLocation';
      if (query.has('uploads')) return 'ListMultipartUploads';
      return query.get('list-type') === '2' ? 'ListObjectsV2' : 'ListObjects';
    case 'HEAD':
      return 'HeadBucket';
    case 'PUT':
      return 'CreateBucket';
    case 'DELETE':
      return 'DeleteBucket';
    case 'POST':
      if (query.has('delete')) return 'DeleteObjects';
      throw notImplemented(
        isFormUpload(request) ? 'The operation PostObject (an upload by a form)' : 'POST on a bucket without "delete"',
      );
    default:
      throw methodNotAllowed(method, 'bucket', 'GET, HEAD, PUT, DELETE, POST');
  }
}

function objectOperation({ method, query, headers }: S3Request): OperationName {
  switch (method) {
    case 'GET':
      if (query.has('attributes')) return 'GetObjectAttributes';
      return query.has('uploadId') ? 'ListParts' : 'GetObject';
    case 'HEAD':
      return 'HeadObject';
    case 'PUT': {
      const isCopy = headers.has('x-amz-copy-source');
      if (query.has('uploadId') || query.has('partNumber')) return isCopy ? 'UploadPartCopy' : 'UploadPart';
      return isCopy ? 'CopyObject' : 'PutObject';
    }
    case 'DELETE':
      return query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject';
    case 'POST':
      if (query.has('uploads')) return 'CreateMultipartUpload';
      if (query.has('uploadId')) return 'CompleteMultipartUpload';
      throw notImplemented('POST on an object without "uploads" or "uploadId"');
    default:
      throw methodNotAllowed(method, 'object', 'GET, HEAD, PUT, DELETE, POST');
  }
}

function methodNotAllowed(method: string, level: string, allowed: string): S3Error {
  return new S3Error(
    'MethodNotAllowed',
    `${method.slice(0, 32)} is not allowed on the ${level}; allowed: ${allowed}.`,
    {
      details: { Method: method.slice(0, 32) },
      headers: { Allow: allowed },
    },
  );
}

function titleCase(method: string): string {
  return method.slice(0, 1).toUpperCase() + method.slice(1, 16).toLowerCase();
}
