/** Buckets as a binding: `env.FILES` of a function, `host.bucket('files')` of the application. */

import { ServiceId } from '../../quotas/service-calls.js';
import { lazyDirectory, openEngine } from '../account-engines.js';
import type { AccountContext, NamedBinding } from '../binding.js';
import { errorRestorer, statusIn } from '../numeric-code.js';
import type { Service } from '../service.js';
import { BUCKET_CONTRACT } from './contract.js';
import type { BucketDirectory, BucketEngine } from './engine.js';
import { BUCKET_ERRORS, BucketError } from './errors.js';
import { hostBucket } from './host-bucket.js';
import { bucketBehaviour, bucketService } from './service.js';
import { BucketDirectories } from './store/bucket-directories.js';
import { bucketStorage } from './store/bucket-storage.js';
import { BUCKET_NAMES } from './store/stored-buckets.js';
import type { StoreBucket } from './types.js';

const KIB = 1024;
/** 1,000 keys of 1,024 bytes; or 10,000 parts of an upload. */
const LIST_HEAD_BYTES = 1126 * KIB;

/** The buckets of each account, in a storage that opens with their first use. */
export interface AccountBuckets {
  of(account: string): BucketDirectory;
  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void;
}

/** The configuration is the name of a bucket of the account, which is made when it does not exist. */
export const bucketBinding: NamedBinding<string, AccountBuckets, StoreBucket> = {
  id: ServiceId.Bucket,
  name: 'bucket',
  subrequest: 'bucket',
  methods: {
    head: { holdsConnection: true, isSafe: true },
    get: { holdsConnection: true, isSafe: true },
    put: { holdsConnection: true },
    delete: { holdsConnection: true, headBytes: LIST_HEAD_BYTES },
    list: { holdsConnection: true, isSafe: true },
    completeMultipartUpload: { headBytes: LIST_HEAD_BYTES },
  },
  option: 'buckets',
  application: 'bucket',
  toml: { table: 'store_buckets', nameKey: 'bucket_name' },
  managementType: 'store_bucket',
  schema: BUCKET_NAMES.schema,
  storage: bucketStorage,
  directory: BUCKET_CONTRACT,
  share({ storage }) {
    let directories: BucketDirectories | undefined;
    return {
      of: account =>
        lazyDirectory(BUCKET_CONTRACT, async () => {
          const { context } = await storage();
          await context.sums.whenEnded(account);
          directories ??= new BucketDirectories(context);
          return directories.of(account);
        }),
      forget: account => directories?.forget(account),
    };
  },
  open: (context, name) =>
    bucketService(() => engineOf(context, name), {
      ...bucketBehaviour(context.compatibility),
      limits: context.limits,
    }),
  endAccount: (shared, account) => shared.forget(account),
  async prepare(context, name) {
    await engineOf(context, name);
  },
  client: (context, name) => hostBucket(applicationService(context, name), context.given),
  remote: { service: applicationService, client: hostBucket },
  errorFrom: errorRestorer(BUCKET_ERRORS, code => new BucketError('get', code)),
  errorStatus: error => statusIn(BUCKET_ERRORS, error),
};

function applicationService(context: AccountContext<AccountBuckets>, name: string): Service {
  return bucketService(() => engineOf(context, name), {
    honorsInclude: true,
    check: () => context.check?.(),
    get limits() {
      return context.limits;
    },
  });
}

function engineOf(context: AccountContext<AccountBuckets>, name: string): Promise<BucketEngine> {
  return openEngine(context, buckets => buckets.open(name));
}
