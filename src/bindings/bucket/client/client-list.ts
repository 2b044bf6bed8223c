import { malformedList, textsApart } from '../../wire-texts.js';
import type { WireColumns, WireObject } from './calls.js';
import { ClientObject } from './client-object.js';

// Captured before function code runs, because it may replace them.
const { assign } = Object;

/** The objects of a page. Throws TypeError when the columns do not have one entry for each object. */
export function listedObjects(columns: WireColumns): ClientObject[] {
  const { version, size, etag, uploaded, httpMetadata, customMetadata, rare } = columns;
  const key = textsApart(columns.key);
  if (key === undefined) throw malformedList();
  const count = key.length;
  checkLength(version, count);
  checkLength(size, count);
  checkLength(etag, count);
  checkLength(uploaded, count);
  checkLength(httpMetadata, count);
  checkLength(customMetadata, count);
  const objects: ClientObject[] = [];
  let time = 0;
  let rareAt = 0;
  for (let at = 0; at < count; at++) {
    time += uploaded[at] ?? 0;
    const object: { -readonly [Field in keyof WireObject]: WireObject[Field] } = {
      key: key[at] ?? '',
      version: version[at] ?? '',
      size: size[at] ?? 0,
      etag: etag[at] ?? '',
      uploaded: time,
    };
    if (httpMetadata !== undefined) object.httpMetadata = httpMetadata[at] ?? {};
    if (customMetadata !== undefined) object.customMetadata = customMetadata[at] ?? {};
    const fields = rare[rareAt];
    if (fields !== undefined && fields[0] === at) {
      assign(object, fields[1]);
      rareAt++;
    }
    objects[at] = new ClientObject(object);
  }
  if (rareAt < rare.length) throw malformedList();
  return objects;
}

function checkLength(column: readonly unknown[] | undefined, count: number): void {
  if (column !== undefined && column.length !== count) throw malformedList();
}
