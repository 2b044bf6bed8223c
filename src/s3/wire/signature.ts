import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { percentDecode, uriEncode } from './encoding.js';
import type { S3Request } from './request.js';

/** Signature version 4, the arithmetic alone. https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */

/** The inputs that all signatures of one request share. */
export interface SigningContext {
  readonly key: Buffer;
  /** Formatted like `20260102T030405Z`. */
  readonly dateTime: string;
  /** Formatted like `20260102/auto/s3/aws4_request`. */
  readonly scope: string;
}

export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

export function signingContext(secret: string, accessKeyId: string, dateTime: string, region: string): SigningContext {
  const date = dateTime.slice(0, 8);
  const name = `${accessKeyId}/${date}/${region}/${secret}`;
  let key = KEYS.get(name);
  if (key === undefined) {
    key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), 's3'), 'aws4_request');
    KEYS.set(name, key);
  }
  return { key, dateTime, scope: `${date}/${region}/s3/aws4_request` };
}

/** Four HMACs a request are saved: the key changes once a day. Bounded, for dates and regions come from clients. */
const KEYS = new LRUCache<string, Buffer>({ max: 256 });

/** Whether `signature` is the request's signature. Compares in constant time. */
export function isRequestSignature(
  context: SigningContext,
  request: S3Request,
  signedHeaders: readonly string[],
  payloadHash: string,
  signature: string,
): boolean {
  const headers = signedHeaders.map(name => `${name}:${(request.headers.get(name) ?? '').replace(/[ \t]+/g, ' ')}\n`);
  const rest = [canonicalQuery(request.query), headers.join(''), signedHeaders.join(';'), payloadHash].join('\n');
  // Most clients encode the path again before they sign it, some sign it as they sent it. Both decode to the same key, so a signature of either form is good
  // for one key only.
  return [canonicalPath(request.rawPath), request.rawPath].some(path => {
    const canonical = `${request.method}\n${path}\n${rest}`;
    const hash = createHash('sha256').update(canonical, 'latin1').digest('hex');
    const text = `AWS4-HMAC-SHA256\n${context.dateTime}\n${context.scope}\n${hash}`;
    return isSameSignature(sign(context, text), signature);
  });
}

export function sign(context: SigningContext, text: string): string {
  return hmac(context.key, text).toString('hex');
}

/** Constant time for hex signatures of equal length; the length is not secret. */
export function isSameSignature(expected: string, given: string): boolean {
  const a = Buffer.from(expected, 'latin1');
  const b = Buffer.from(given, 'latin1');
  return a.length === b.length && timingSafeEqual(a, b);
}

function canonicalPath(rawPath: string): string {
  const decoded = percentDecode(rawPath);
  return decoded === undefined ? rawPath : uriEncode(decoded, true);
}

function canonicalQuery(query: ReadonlyMap<string, string>): string {
  const items: [string, string][] = [];
  for (const [name, value] of query) {
    if (name !== 'X-Amz-Signature') items.push([uriEncode(name), uriEncode(value)]);
  }
  items.sort(([a], [b]) => (a < b ? -1 : 1));
  return items.map(([name, value]) => `${name}=${value}`).join('&');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}
