/** The buckets that the application has opened, by their ids. */
import type { BucketDirectory, BucketEngine } from '../../../bindings/bucket/engine.js';
import { BucketError } from '../../../bindings/bucket/errors.js';
import type { BucketAddress, OpenedBucket } from '../calls.js';

/** Buckets in memory. One that was opened longer ago is found again by its record. */
const MAX_OPEN = 1000;

export class ServedBuckets {
  readonly #directories: (account: string) => BucketDirectory;
  /** By account and id, in the order in which they were opened. */
  readonly #open = new Map<string, BucketEngine>();

  constructor(directories: (account: string) => BucketDirectory) {
    this.#directories = directories;
  }

  directory(account: string): BucketDirectory {
    return this.#directories(account);
  }

  opened(account: string, engine: BucketEngine): OpenedBucket {
    this.#keep(addressKey(account, engine.id), engine);
    return { id: engine.id, storageClass: engine.storageClass };
  }

  /** Rejects with 10006 when the bucket was deleted, though there may be one of its name. */
  of(address: BucketAddress): BucketEngine | Promise<BucketEngine> {
    const engine = this.#open.get(addressKey(address.account, address.id));
    return engine ?? this.#find(address);
  }

  async #find({ account, name, id }: BucketAddress): Promise<BucketEngine> {
    const engine = await this.#directories(account).find(name);
    if (engine === null || engine.id !== id) throw new BucketError('get', 10006, `there is no bucket "${name}"`);
    this.#keep(addressKey(account, id), engine);
    return engine;
  }

  #keep(key: string, engine: BucketEngine): void {
    this.#open.delete(key);
    this.#open.set(key, engine);
    const [oldest] = this.#open.size > MAX_OPEN ? this.#open.keys() : [];
    if (oldest !== undefined) this.#open.delete(oldest);
  }
}

function addressKey(account: string, id: string): string {
  return `${id}/${account}`;
}
