import { BUCKET_LIMITS } from '../../bindings/bucket/limits.js';
import { parseCount, uriEncode } from '../wire/encoding.js';
import { invalidArgument, notImplemented } from '../wire/errors.js';
import type { S3Request } from '../wire/request.js';

/** Query parameters that several operations share. All throw S3Error. */

/** A page size: more than `most` are cut to it, as S3 does. */
export function pageSize(request: S3Request, name: string, most = 1000): number {
  const text = request.query.get(name);
  const size = text === undefined || text === '' ? most : parseCount(text);
  if (size === undefined) throw invalidArgument(name, text ?? '', 'whole numbers from 0');
  return Math.min(size, most);
}

export function partNumber(text: string): number {
  const number = parseCount(text);
  if (number === undefined || number < 1 || number > BUCKET_LIMITS.partNumber) {
    throw invalidArgument('partNumber', text, `1 to ${BUCKET_LIMITS.partNumber}`);
  }
  return number;
}

/** How keys are written in a listing: as they are, or percent-encoded for clients that ask with `encoding-type=url`. */
export function keyEncoding(request: S3Request): { readonly type: string | undefined; encode(text: string): string } {
  const type = request.query.get('encoding-type');
  if (type === undefined || type === '') return { type: undefined, encode: text => text };
  if (type !== 'url') throw invalidArgument('encoding-type', type, 'url');
  return { type, encode: text => uriEncode(text, true) };
}

/** There is one version of each object, which S3 names `null`. */
export function checkVersion(versionId: string | undefined): void {
  if (versionId !== undefined && versionId !== '' && versionId !== 'null') {
    throw notImplemented(`versionId ${JSON.stringify(versionId.slice(0, 100))} (buckets keep no versions)`);
  }
}
