import type { BucketDirectory } from '../bindings/bucket/engine.js';
import { type BucketPlanLimits, DEFAULT_PLAN_LIMITS } from '../bindings/bucket/limits.js';

/** What a caller may do: `read` gets and lists; `write` also puts, deletes, and makes and removes buckets. */
export type S3Permission = 'read' | 'write';

/** One pair of keys and what it opens. */
export interface S3Credential {
  /** 1 to 128 characters: letters, digits and `_ - . + =`. */
  readonly accessKeyId: string;
  /** 8 to 256 characters. */
  readonly secretAccessKey: string;
  /** Names of the buckets it may reach (and create and delete, with permission `write`), or `'*'` for each of the account. */
  readonly buckets: readonly string[] | '*';
  /** @default 'write' */
  readonly permission?: S3Permission;
}

/** Options of {@link createS3Handler}. */
export interface S3Options {
  /** At least one; no access key id twice. */
  readonly credentials: readonly S3Credential[];
  /** The buckets behind a credential, one directory for each account. */
  readonly buckets: (credential: S3Credential) => BucketDirectory;
  /** The limits of whoever a credential stands for. @default those of the specification */
  readonly limits?: (credential: S3Credential) => BucketPlanLimits;
  /**
   * A region that signatures may name and that is answered as the location, besides `auto`, `us-east-1` and the empty one.
   * @default 'auto'
   */
  readonly region?: string;
  /** With `s3.example.com`, a request to `files.s3.example.com` is for the bucket `files`. @default path style only */
  readonly domain?: string;
  /** A path the endpoint is mounted under, such as `/s3`; clients have it in their endpoint. @default '' */
  readonly basePath?: string;
  /** The clock that skew and expiry are measured with. @default () => new Date() */
  readonly now?: () => Date;
  /** Largest XML body of a request, in bytes; it is held in memory. @default 3 MiB, enough for 10,000 parts with checksums */
  readonly xmlBytes?: number;
  /** Told of each error that is the host's own (status 500, 503, 507); the client does not see its text. @default nothing */
  readonly onError?: (error: unknown) => void;
}

export interface S3Settings {
  readonly credentials: ReadonlyMap<string, Required<S3Credential>>;
  readonly buckets: (credential: S3Credential) => BucketDirectory;
  readonly limits: (credential: S3Credential) => BucketPlanLimits;
  readonly region: string;
  readonly regions: ReadonlySet<string>;
  readonly domain: string | undefined;
  readonly basePath: string;
  readonly now: () => Date;
  readonly xmlBytes: number;
  readonly onError: (error: unknown) => void;
}

export const BUCKET_NAME = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

/** Throws TypeError or RangeError that quote what was given. */
export function resolveS3Options(options: S3Options): S3Settings {
  const region = options.region ?? 'auto';
  if (typeof region !== 'string' || !/^[a-z0-9-]*$/.test(region)) {
    throw new TypeError(`option region is ${show(region)}; allowed are lower-case letters, digits and "-"`);
  }
  const basePath = options.basePath ?? '';
  if (basePath !== '' && !/^(\/[A-Za-z0-9\-._~]+)+$/.test(basePath)) {
    throw new TypeError(`option basePath is ${show(basePath)}; it must be like "/s3"`);
  }
  const xmlBytes = options.xmlBytes ?? 3 * 1024 * 1024;
  if (!Number.isInteger(xmlBytes) || xmlBytes < 1024) {
    throw new RangeError(`option xmlBytes is ${show(xmlBytes)}; allowed are whole numbers from 1024`);
  }
  if (typeof options.buckets !== 'function') throw new TypeError('option buckets must be a function');
  return Object.freeze({
    credentials: resolveCredentials(options.credentials),
    buckets: options.buckets,
    limits: options.limits ?? (() => DEFAULT_PLAN_LIMITS),
    region,
    regions: new Set(['', 'auto', 'us-east-1', region]),
    domain: options.domain?.toLowerCase(),
    basePath,
    now: options.now ?? (() => new Date()),
    xmlBytes,
    onError: options.onError ?? (() => {}),
  });
}

/** Whether the credential may reach the bucket at all. */
export function reachesBucket(credential: S3Credential, bucket: string): boolean {
  return credential.buckets === '*' || credential.buckets.includes(bucket);
}

function resolveCredentials(given: readonly S3Credential[]): Map<string, Required<S3Credential>> {
  if (!Array.isArray(given) || given.length === 0)
    throw new TypeError('option credentials must be a list of at least one');
  const credentials = new Map<string, Required<S3Credential>>();
  for (const credential of given) {
    const { accessKeyId, secretAccessKey, buckets, permission = 'write' } = credential;
    const name = `credential ${show(accessKeyId)}`;
    if (typeof accessKeyId !== 'string' || !/^[A-Za-z0-9_\-.+=]{1,128}$/.test(accessKeyId)) {
      throw new TypeError(`accessKeyId is ${show(accessKeyId)}; allowed are 1 to 128 letters, digits and "_-.+="`);
    }
    // The secret is never quoted: messages end in logs.
    if (typeof secretAccessKey !== 'string' || secretAccessKey.length < 8 || secretAccessKey.length > 256) {
      throw new TypeError(`secretAccessKey of ${name} must be a string of 8 to 256 characters`);
    }
    if (permission !== 'read' && permission !== 'write') {
      throw new TypeError(`permission of ${name} is ${show(permission)}; allowed are "read" and "write"`);
    }
    if (buckets !== '*' && !Array.isArray(buckets))
      throw new TypeError(`buckets of ${name} must be a list of names, or "*"`);
    const wrong = buckets === '*' ? undefined : buckets.find((bucket: unknown) => !BUCKET_NAME.test(String(bucket)));
    if (wrong !== undefined) throw new TypeError(`buckets of ${name} has ${show(wrong)}, which is no bucket name`);
    if (credentials.has(accessKeyId)) throw new TypeError(`${name} is given twice`);
    credentials.set(accessKeyId, Object.freeze({ accessKeyId, secretAccessKey, buckets, permission }));
  }
  return credentials;
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : `${String(value)} (${typeof value})`;
}
