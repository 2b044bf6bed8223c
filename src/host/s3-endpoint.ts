/** The S3-compatible endpoint of a host: the handler of s3 over the buckets of the host's accounts. */
import type { BucketDirectory } from '../bindings/bucket/engine.js';
import type { BucketPlanLimits } from '../bindings/bucket/limits.js';
import type { BindingDirectories } from '../bindings/registry.js';
import { createS3Handler, type S3Handler } from '../s3/handler.js';
import type { S3Credential, S3Options } from '../s3/options.js';

/** A pair of keys, and the account whose buckets it opens. */
export interface HostS3Credential extends S3Credential {
  /** @default 'default', the account of host.load() and host.bucket() */
  readonly account?: string;
}

export interface HostS3Options extends Omit<S3Options, 'credentials' | 'buckets' | 'limits'> {
  /** At least one; no access key id twice. */
  readonly credentials: readonly HostS3Credential[];
}

/** What the endpoint needs of the accounts, by id. */
export interface S3EndpointAccounts {
  readonly directories: BindingDirectories;
  limits(account: string): BucketPlanLimits;
}

export function createS3Endpoint(
  options: HostS3Options,
  { directories: { buckets }, limits }: S3EndpointAccounts,
): S3Handler {
  const { credentials, ...rest } = options;
  const accounts = new Map<string, string>();
  const plain = credentials.map(({ account = 'default', ...credential }) => {
    accounts.set(credential.accessKeyId, account);
    return credential;
  });
  const accountOf = ({ accessKeyId }: S3Credential): string => accounts.get(accessKeyId) ?? 'default';
  const directories = new Map<string, BucketDirectory>();
  return createS3Handler({
    ...rest,
    credentials: plain,
    limits: credential => limits(accountOf(credential)),
    buckets: credential => {
      const account = accountOf(credential);
      let directory = directories.get(account);
      if (directory === undefined) {
        directory = buckets(account);
        directories.set(account, directory);
      }
      return directory;
    },
  });
}
