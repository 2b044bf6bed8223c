import type { StorageContext } from '../../../storage/storage-context.js';
import type { BucketDirectory } from '../engine.js';
import { BUCKET_LIMITS } from '../limits.js';
import { createBucketDirectory } from './bucket-directory.js';

/** The buckets of all accounts in one storage, which was opened with `bucketStorage` among its owners. One for each storage. */
export class BucketDirectories {
  readonly #storage: StorageContext;
  readonly #minPartBytes: number;
  readonly #directories = new Map<string, BucketDirectory>();

  /** @param options.minPartBytes the smallest part, but the last, of a multipart upload. @default 5 MiB */
  constructor(storage: StorageContext, options: { readonly minPartBytes?: number | undefined } = {}) {
    this.#storage = storage;
    this.#minPartBytes = options.minPartBytes ?? BUCKET_LIMITS.minPartBytes;
  }

  /** The account is gone: one of the same id has another directory. */
  forget(accountId: string): void {
    this.#directories.delete(accountId);
  }

  of(accountId: string): BucketDirectory {
    let directory = this.#directories.get(accountId);
    if (directory === undefined) {
      directory = createBucketDirectory(this.#storage, accountId, this.#minPartBytes);
      this.#directories.set(accountId, directory);
    }
    return directory;
  }
}
