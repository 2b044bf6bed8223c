import type { BucketDirectory } from '../bindings/bucket/engine.js';
import { type BucketPlanLimits, DEFAULT_PLAN_LIMITS } from '../bindings/bucket/limits.js';
import { dateClock } from '../quotas/option-functions.js';
import { checkOptions } from '../quotas/schema/check-options.js';
import {
  choice,
  constant,
  type FieldsOf,
  list,
  native,
  objectOf,
  type Schema,
  secret,
  text,
  union,
  wholeNumberFrom,
} from '../quotas/schema/schema.js';

/** The permissions of a credential: `read` gets and lists; `write` also puts, deletes, and makes and removes buckets. */
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
  /** The limits of the account that a credential belongs to. @default the specification's limits */
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
  /**
   * Called for each error of the host itself (status 500, 503, 507); the client does not see its text. An exception of it is thrown outside of the host, as
   * for listeners of events. @default nothing
   */
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

const bucketName: Schema<string> = text({
  pattern: BUCKET_NAME.source,
  description: 'the name of a bucket: 3 to 63 lower-case letters, digits and "-"',
});

export const S3_CREDENTIAL_FIELDS: FieldsOf<S3Credential> = {
  accessKeyId: text({
    pattern: '^[A-Za-z0-9_.+=-]{1,128}$',
    description: 'a string of 1 to 128 letters, digits and "_-.+="',
  }),
  // Messages end in logs.
  secretAccessKey: secret(text({ minLength: 8, maxLength: 256 })),
  buckets: union([list(bucketName), constant('*')], { description: 'an array of names of buckets, or "*"' }),
  'permission?': choice(['read', 'write']),
};

/** All options but the functions that find the buckets and their owners. */
export const S3_FIELDS: FieldsOf<Omit<S3Options, 'credentials' | 'buckets' | 'limits'>> = {
  'region?': text({ pattern: '^[a-z0-9-]*$', description: 'a string of lower-case letters, digits and "-"' }),
  'domain?': text({
    pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$',
    description: 'a host name without a port, such as "s3.example.com"',
  }),
  'basePath?': text({ pattern: '^((/[A-Za-z0-9._~-]+)+)?$', description: 'a path such as "/s3", or ""' }),
  'now?': native('function', 'a function that answers a Date'),
  'xmlBytes?': wholeNumberFrom(1024, 'bytes'),
  'onError?': native('function'),
};

export const CREDENTIALS_RULES = { minItems: 1, description: 'an array of at least one credential' } as const;

export const S3_OPTIONS: Schema<S3Options> = objectOf<S3Options>({
  credentials: list(objectOf<S3Credential>(S3_CREDENTIAL_FIELDS), CREDENTIALS_RULES),
  buckets: native('function'),
  'limits?': native('function'),
  ...S3_FIELDS,
});

/** @throws TypeError or RangeError that names the option, the given value and the allowed ones */
export function resolveS3Options(options: S3Options): S3Settings {
  checkOptions('s3()', options ?? {}, S3_OPTIONS);
  const { region = 'auto', now = () => new Date() } = options;
  return Object.freeze({
    credentials: resolveCredentials(options.credentials),
    buckets: options.buckets,
    limits: options.limits ?? (() => DEFAULT_PLAN_LIMITS),
    region,
    regions: new Set(['', 'auto', 'us-east-1', region]),
    domain: options.domain?.toLowerCase(),
    basePath: options.basePath ?? '',
    now: dateClock('now of s3()', now),
    xmlBytes: options.xmlBytes ?? 3 * 1024 * 1024,
    onError: options.onError ?? (() => {}),
  });
}

/** Whether the credential may reach the bucket at all. */
export function reachesBucket(credential: S3Credential, bucket: string): boolean {
  return credential.buckets === '*' || credential.buckets.includes(bucket);
}

function resolveCredentials(given: readonly S3Credential[]): Map<string, Required<S3Credential>> {
  const credentials = new Map<string, Required<S3Credential>>();
  for (const { accessKeyId, secretAccessKey, buckets, permission = 'write' } of given) {
    if (credentials.has(accessKeyId)) {
      throw new TypeError(`Option credentials of s3() has the accessKeyId ${JSON.stringify(accessKeyId)} twice`);
    }
    credentials.set(accessKeyId, Object.freeze({ accessKeyId, secretAccessKey, buckets, permission }));
  }
  return credentials;
}
