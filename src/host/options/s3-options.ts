/** The options of `host.s3()` and `host.s3Listener()`. */

import { NAME } from '../../config-schema/function-shapes.js';
import { list, objectOf, type Schema } from '../../quotas/schema/schema.js';
import {
  CREDENTIALS_RULES,
  S3_CREDENTIAL_FIELDS,
  S3_FIELDS,
  type S3Credential,
  type S3Options,
} from '../../s3/options.js';

/** A pair of keys, and the account whose buckets it opens. */
export interface HostS3Credential extends S3Credential {
  /** @default 'default', the account of host.load() and host.bucket() */
  readonly account?: string;
}

export interface HostS3Options extends Omit<S3Options, 'credentials' | 'buckets' | 'limits'> {
  /** At least one; no access key id twice. */
  readonly credentials: readonly HostS3Credential[];
}

export const HOST_S3_OPTIONS: Schema<HostS3Options> = objectOf<HostS3Options>({
  credentials: list(objectOf<HostS3Credential>({ ...S3_CREDENTIAL_FIELDS, 'account?': NAME }), CREDENTIALS_RULES),
  ...S3_FIELDS,
});
