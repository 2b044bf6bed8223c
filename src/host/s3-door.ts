/** The S3-compatible door of a host: the handler of bindings/bucket/s3 over the buckets of the host's accounts. */
import type { BucketDirectory } from '../bindings/bucket/engine.js';
import { createS3Handler, type S3Handler } from '../bindings/bucket/s3/handler.js';
import type { S3Credential, S3Options } from '../bindings/bucket/s3/options.js';

/** A pair of keys, and the account whose buckets it opens. */
export interface HostS3Credential extends S3Credential {
  /** @default 'default', the account of host.load() and host.bucket() */
  readonly account?: string;
}

export interface HostS3Options extends Omit<S3Options, 'credentials' | 'buckets'> {
  /** At least one; no access key id twice. */
  readonly credentials: readonly HostS3Credential[];
}

export function createS3Door(options: HostS3Options, directoryOf: (account: string) => BucketDirectory): S3Handler {
  const { credentials, ...rest } = options;
  const accounts = new Map<string, string>();
  const plain = credentials.map(({ account = 'default', ...credential }) => {
    accounts.set(credential.accessKeyId, account);
    return credential;
  });
  const directories = new Map<string, BucketDirectory>();
  return createS3Handler({
    ...rest,
    credentials: plain,
    buckets: ({ accessKeyId }) => {
      const account = accounts.get(accessKeyId) ?? 'default';
      let directory = directories.get(account);
      if (directory === undefined) {
        directory = directoryOf(account);
        directories.set(account, directory);
      }
      return directory;
    },
  });
}
