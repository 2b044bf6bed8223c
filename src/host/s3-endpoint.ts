/** The S3-compatible endpoint of a host: the handler of s3 over the buckets of the host's accounts. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GivenBodies } from '../bindings/bodies/given-bodies.js';
import type { BucketDirectory } from '../bindings/bucket/engine.js';
import type { BucketPlanLimits } from '../bindings/bucket/limits.js';
import { checkOptions } from '../quotas/schema/check-options.js';
import { createS3Handler } from '../s3/handler.js';
import type { S3Credential } from '../s3/options.js';
import { S3Error } from '../s3/wire/errors.js';
import { HOST_S3_OPTIONS, type HostS3Options } from './options/s3-options.js';

/** The fetch handler of the S3-compatible API, and the listeners, which pass requests on unchanged. */
export interface HostS3 {
  /**
   * `Request.url` has been through a URL parser, which removes dot segments and turns `\\` to `/`: requests for such keys are refused
   * with SignatureDoesNotMatch, unless `target` is the request target as it came.
   */
  (request: Request, options?: { readonly target?: string }): Promise<Response>;
  /** For `http.createServer(listener)`, or mounted in a framework. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  /** For `server.on('checkContinue', ...)`: an upload that is refused is then answered before the client sends its body. */
  readonly continueListener: (request: IncomingMessage, response: ServerResponse) => void;
}

/** The data of the accounts that the endpoint uses, by id. */
export interface S3EndpointAccounts {
  buckets(account: string): BucketDirectory;
  limits(account: string): BucketPlanLimits;
  /** Whether the account is gone: its credentials are unknown then. */
  isRemoved(account: string): boolean;
  /** Gets errors answered with 500, 503 or 507 where no option does. */
  warn(error: unknown): void;
  /** Gives the application the bodies of answers. */
  readonly bodies: GivenBodies;
}

/** @throws TypeError or RangeError that names the option, the given value and the allowed ones */
export function createS3Endpoint(
  options: HostS3Options,
  { buckets, limits, isRemoved, warn, bodies }: S3EndpointAccounts,
): HostS3 {
  checkOptions('s3()', options ?? {}, HOST_S3_OPTIONS);
  const { credentials, onError = warn, ...rest } = options;
  const accounts = new Map<string, string>();
  const plain = credentials.map(({ account = 'default', ...credential }) => {
    accounts.set(credential.accessKeyId, account);
    return credential;
  });
  const accountOf = ({ accessKeyId }: S3Credential): string => accounts.get(accessKeyId) ?? 'default';
  const directories = new Map<string, BucketDirectory>();
  const { fetch, listener, continueListener } = createS3Handler(
    {
      ...rest,
      onError,
      credentials: plain,
      limits: credential => limits(accountOf(credential)),
      buckets: credential => {
        const account = accountOf(credential);
        if (isRemoved(account)) throw new S3Error('InvalidAccessKeyId');
        let directory = directories.get(account);
        if (directory === undefined) {
          directory = buckets(account);
          directories.set(account, directory);
        }
        return directory;
      },
    },
    { bodies, of: 'the S3-compatible API' },
  );
  const handler = (request: Request, given?: { readonly target?: string }): Promise<Response> => fetch(request, given);
  return Object.assign(handler, { listener, continueListener });
}
