import type { HttpMetadata, ObjectRecord, UploadOptions } from '../bindings/bucket/engine.js';
import type { StoreStorageClass } from '../bindings/bucket/types.js';
import { EXPIRES_FORMS, parseExpires } from '../bindings/http-date.js';
import { objectFrom } from '../quotas/host/chosen-names.js';
import { CHECKSUMS } from './wire/checksum.js';
import { utf8OfBytes } from './wire/encoding.js';
import { invalidArgument, S3Error } from './wire/errors.js';

/** Headers of a request to metadata of an object, and back. */

export const META_PREFIX = 'x-amz-meta-';

const CLASS_OF_NAME: ReadonlyMap<string, StoreStorageClass> = new Map([
  ['STANDARD', 'Standard'],
  ['STANDARD_IA', 'InfrequentAccess'],
]);

export function nameOfClass(storageClass: StoreStorageClass): 'STANDARD' | 'STANDARD_IA' {
  return storageClass === 'Standard' ? 'STANDARD' : 'STANDARD_IA';
}

type Metadata = Pick<UploadOptions, 'httpMetadata' | 'customMetadata' | 'storageClass'>;

/** The metadata that an upload sets. Throws S3Error InvalidArgument, InvalidStorageClass. */
export function readMetadata(headers: ReadonlyMap<string, string>): Metadata {
  return {
    httpMetadata: readHttpMetadata(headers),
    customMetadata: readCustomMetadata(headers),
    ...readStorageClass(headers),
  };
}

export function readStorageClass(headers: ReadonlyMap<string, string>): Pick<Metadata, 'storageClass'> {
  const name = headers.get('x-amz-storage-class');
  if (name === undefined) return {};
  const storageClass = CLASS_OF_NAME.get(name);
  if (storageClass === undefined) {
    throw new S3Error(
      'InvalidStorageClass',
      `x-amz-storage-class is ${JSON.stringify(name)}; allowed: STANDARD, STANDARD_IA.`,
    );
  }
  return { storageClass };
}

/** The headers that describe the object, the same for GET and HEAD. */
export function objectHeaders(object: ObjectRecord): Map<string, string> {
  const { httpMetadata: meta } = object;
  const headers = new Map([
    ['Last-Modified', new Date(object.uploaded).toUTCString()],
    ['ETag', `"${object.etag}"`],
    ['Accept-Ranges', 'bytes'],
    ['Content-Type', headerText(meta.contentType ?? 'binary/octet-stream')],
  ]);
  if (meta.contentLanguage !== undefined) headers.set('Content-Language', headerText(meta.contentLanguage));
  if (meta.contentDisposition !== undefined) headers.set('Content-Disposition', headerText(meta.contentDisposition));
  if (meta.contentEncoding !== undefined) headers.set('Content-Encoding', headerText(meta.contentEncoding));
  if (meta.cacheControl !== undefined) headers.set('Cache-Control', headerText(meta.cacheControl));
  if (meta.cacheExpiry !== undefined) headers.set('Expires', new Date(meta.cacheExpiry).toUTCString());
  if (object.storageClass !== 'Standard') headers.set('x-amz-storage-class', nameOfClass(object.storageClass));
  let missing = 0;
  for (const [name, value] of Object.entries(object.customMetadata)) {
    // The binding allows any name; one that is not a header name is counted, as S3 does.
    if (/^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/.test(name))
      headers.set(META_PREFIX + name.toLowerCase(), encodeMetaValue(value));
    else missing++;
  }
  if (missing > 0) headers.set('x-amz-missing-meta', String(missing));
  return headers;
}

/** The checksum kept with the object, if there is one. */
export function checksumHeaders(object: Pick<ObjectRecord, 'transferChecksum'>): [string, string][] {
  const checksum = object.transferChecksum;
  if (checksum === undefined) return [];
  return [
    [CHECKSUMS[checksum.algorithm].header, checksum.value],
    ['x-amz-checksum-type', checksum.type],
  ];
}

/** A value that node:http can send: bytes of UTF-8, without the control characters that would end a header. */
export function headerText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return Buffer.from(text.replace(/[\x00-\x1f\x7f]+/g, ' '), 'utf8').toString('latin1');
}

function readHttpMetadata(headers: ReadonlyMap<string, string>): HttpMetadata {
  const text = (name: string) => textOf(headers.get(name));
  const contentType = text('content-type');
  const contentLanguage = text('content-language');
  const contentDisposition = text('content-disposition');
  const contentEncoding = contentEncodingOf(text('content-encoding'));
  const cacheControl = text('cache-control');
  const expires = headers.get('expires');
  // An empty header counts as absent, as the others do.
  const cacheExpiry = expires === undefined || expires === '' ? undefined : parseExpires(expires);
  if (expires !== undefined && expires !== '' && cacheExpiry === undefined)
    throw invalidArgument('Expires', expires, EXPIRES_FORMS);
  return {
    ...(contentType === undefined ? {} : { contentType }),
    ...(contentLanguage === undefined ? {} : { contentLanguage }),
    ...(contentDisposition === undefined ? {} : { contentDisposition }),
    ...(contentEncoding === undefined ? {} : { contentEncoding }),
    ...(cacheControl === undefined ? {} : { cacheControl }),
    ...(cacheExpiry === undefined ? {} : { cacheExpiry }),
  };
}

/** `aws-chunked` is the encoding of the transfer and not of the object; other codings are kept as they were sent. */
function contentEncodingOf(text: string | undefined): string | undefined {
  if (text === undefined || !/aws-chunked/i.test(text)) return text;
  const rest = text
    .split(',')
    .filter(coding => !/^\s*(?:aws-chunked)?\s*$/i.test(coding))
    .join(',')
    .trim();
  return rest === '' ? undefined : rest;
}

function readCustomMetadata(headers: ReadonlyMap<string, string>): Record<string, string> {
  const entries: [string, string][] = [];
  for (const [name, value] of headers) {
    if (name.startsWith(META_PREFIX)) entries.push([name.slice(META_PREFIX.length), decodeMetaValue(value)]);
  }
  return objectFrom(entries);
}

/** Bytes that are UTF-8 are text; others stay the characters of their bytes. An empty header counts as absent. */
function textOf(bytesText: string | undefined): string | undefined {
  return bytesText === undefined || bytesText === '' ? undefined : (utf8OfBytes(bytesText) ?? bytesText);
}

/** Text beyond ASCII travels as RFC 2047 encoded words, in and out, as S3 documents it; raw UTF-8 is taken as well. */
function decodeMetaValue(bytesText: string): string {
  const text = utf8OfBytes(bytesText) ?? bytesText;
  const words = /^=\?utf-8\?([bq])\?([!-~]*)\?=$/i.exec(text);
  if (words === null || words[2]?.includes('?')) return text;
  const bytes =
    words[1]?.toLowerCase() === 'b'
      ? Buffer.from(words[2] ?? '', 'base64').toString('latin1')
      : (words[2] ?? '')
          .replaceAll('_', ' ')
          .replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return utf8OfBytes(bytes) ?? text;
}

function encodeMetaValue(value: string): string {
  if (/^(?:[!-~](?:[ -~]*[!-~])?)?$/.test(value) && !/^=\?.*\?=$/.test(value)) return value;
  return `=?UTF-8?B?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
