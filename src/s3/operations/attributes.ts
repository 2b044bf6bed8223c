/** GetObjectAttributes: the properties of an object, without its bytes. https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAttributes.html */

import type { BucketEngine, ObjectRecord } from '../../bindings/bucket/engine.js';
import { nameOfClass } from '../object-headers.js';
import { type OperationContext, type S3Answer, xmlAnswer } from '../operation.js';
import { parseCount } from '../wire/encoding.js';
import { invalidArgument, S3Error } from '../wire/errors.js';
import type { XmlElement } from '../wire/xml.js';
import { checksumElements } from './checksum-fields.js';
import { checkVersion } from './parameters.js';

const ATTRIBUTES = ['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize'] as const;
type Attribute = (typeof ATTRIBUTES)[number];

const PARTS_PER_PAGE = 1000;

/** Only the attributes that are named are answered; what the object does not have is left out. */
export async function getObjectAttributes(
  { request }: OperationContext,
  bucket: BucketEngine,
  key: string,
): Promise<S3Answer> {
  const { headers, query } = request;
  checkVersion(query.get('versionId'));
  const wanted = readAttributes(headers.get('x-amz-object-attributes') ?? '');
  const most = Math.min(readCount(headers, 'x-amz-max-parts') ?? PARTS_PER_PAGE, PARTS_PER_PAGE);
  const after = readCount(headers, 'x-amz-part-number-marker') ?? 0;
  const object = await bucket.head(key);
  if (object === null) throw new S3Error('NoSuchKey', undefined, { details: { Key: key } });
  const { transferChecksum } = object;
  const element: Record<Attribute, XmlElement[string]> = {
    ETag: object.etag,
    Checksum:
      transferChecksum === undefined
        ? undefined
        : { ...checksumElements(transferChecksum), ChecksumType: transferChecksum.type },
    ObjectParts: partsElement(object, most, after),
    StorageClass: nameOfClass(object.storageClass),
    ObjectSize: object.size,
  };
  return xmlAnswer(
    'GetObjectAttributesResponse',
    Object.fromEntries(ATTRIBUTES.filter(name => wanted.has(name)).map(name => [name, element[name]])),
    [['Last-Modified', new Date(object.uploaded).toUTCString()]],
  );
}

/** The element for an object that was uploaded in parts. The checksums of parts are not kept when the upload is completed. */
function partsElement({ partSizes }: ObjectRecord, most: number, after: number): XmlElement | undefined {
  if (partSizes === undefined) return undefined;
  const page = partSizes.slice(after, after + most);
  return {
    IsTruncated: after + page.length < partSizes.length,
    MaxParts: most,
    NextPartNumberMarker: after + page.length,
    PartNumberMarker: after,
    Part: page.map((size, index) => ({ PartNumber: after + index + 1, Size: size })),
    PartsCount: partSizes.length,
  };
}

function readAttributes(text: string): ReadonlySet<Attribute> {
  const names = text.split(',').map(name => name.trim());
  const known = names.flatMap(name => ATTRIBUTES.filter(attribute => attribute === name));
  if (known.length < names.length) {
    throw invalidArgument('x-amz-object-attributes', text, `${ATTRIBUTES.join(', ')}, at least one`);
  }
  return new Set(known);
}

function readCount(headers: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = headers.get(name);
  if (text === undefined) return undefined;
  const count = parseCount(text);
  if (count === undefined) throw invalidArgument(name, text, 'whole numbers from 0');
  return count;
}
