import { wireTexts } from '../wire-texts.js';
import type { WireColumns, WireHttpMetadata, WireObject } from './client/calls.js';
import type { ObjectRecord } from './engine.js';

/** @param hasBody the value follows. @default false */
export function wireObject(object: ObjectRecord, range?: WireObject['range'], hasBody = false): WireObject {
  const { key, version, size, etag, uploaded, httpMetadata, customMetadata } = object;
  const wire: { -readonly [Field in keyof WireObject]: WireObject[Field] } = {
    key,
    version,
    size,
    etag,
    uploaded,
    httpMetadata,
    customMetadata,
  };
  if (range !== undefined) wire.range = range;
  if (hasBody) wire.hasBody = true;
  const rare = rareFields(object);
  return rare === undefined ? wire : { ...wire, ...rare };
}

/** One pass over a page of a thousand objects. */
export function wireColumns(
  objects: readonly ObjectRecord[],
  withHttpMetadata: boolean,
  withCustomMetadata: boolean,
): WireColumns {
  const key: string[] = [];
  const version: string[] = [];
  const size: number[] = [];
  const etag: string[] = [];
  const uploaded: number[] = [];
  const httpMetadata: WireHttpMetadata[] = [];
  const customMetadata: ObjectRecord['customMetadata'][] = [];
  const rare: WireColumns['rare'][number][] = [];
  let before = 0;
  for (const object of objects) {
    const fields = rareFields(object);
    if (fields !== undefined) rare.push([key.length, fields]);
    key.push(object.key);
    version.push(object.version);
    size.push(object.size);
    etag.push(object.etag);
    uploaded.push(object.uploaded - before);
    before = object.uploaded;
    if (withHttpMetadata) httpMetadata.push(object.httpMetadata);
    if (withCustomMetadata) customMetadata.push(object.customMetadata);
  }
  return {
    key: wireTexts(key),
    version,
    size,
    etag,
    uploaded,
    ...(withHttpMetadata ? { httpMetadata } : undefined),
    ...(withCustomMetadata ? { customMetadata } : undefined),
    rare,
  };
}

/** undefined for most objects: the MD5 is their etag and their only checksum, and their storage class is Standard. */
function rareFields(object: ObjectRecord): Pick<WireObject, 'checksums' | 'storageClass'> | undefined {
  const { checksums, etag, storageClass } = object;
  const goesWithoutSaying = checksums.md5 === etag && !hasOthers(checksums);
  if (goesWithoutSaying && storageClass === 'Standard') return undefined;
  return {
    ...(goesWithoutSaying ? undefined : { checksums }),
    ...(storageClass === 'InfrequentAccess' ? { storageClass } : undefined),
  };
}

function hasOthers(checksums: ObjectRecord['checksums']): boolean {
  for (const name in checksums) if (name !== 'md5') return true;
  return false;
}
