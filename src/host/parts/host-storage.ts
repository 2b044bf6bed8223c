/** The storage of a host: opened by the first use, once; what could not be opened is tried again by the next use. */
import { EdgeError } from '../../quotas/errors.js';
import { Storage, type StorageOptions } from '../../storage/storage.js';

export interface HostStorageOptions {
  readonly location: string;
  readonly storageOptions: () => StorageOptions;
  /** Rejects when something that an earlier process began cannot be finished. */
  readonly onOpen: (storage: Storage) => Promise<void>;
  readonly isClosing: () => boolean;
}

export class HostStorage {
  readonly #options: HostStorageOptions;
  #storage: Promise<Storage> | undefined;
  #isOpen = false;

  constructor(options: HostStorageOptions) {
    this.#options = options;
  }

  get location(): string {
    return this.#options.location;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Also while the host closes, for what is still to be written. Rejects as `host.openStorage()` does, but not with EDGE_CLOSED. */
  open(): Promise<Storage> {
    this.#storage ??= Storage.open(this.#options.location, this.#options.storageOptions()).then(
      async storage => {
        this.#isOpen = true;
        await this.#options.onOpen(storage);
        return storage;
      },
      (error: unknown) => {
        // A later use tries again: the directory may be free by then.
        this.#storage = undefined;
        throw error;
      },
    );
    return this.#storage;
  }

  /** For what begins now. Rejects with EDGE_CLOSED when the host closes or is closed. */
  async openForUse(): Promise<Storage> {
    if (this.#options.isClosing()) throw new EdgeError('EDGE_CLOSED', 'Cannot use the storage: the host is closed');
    return this.open();
  }

  async close(): Promise<void> {
    const storage = await this.#storage?.catch(() => undefined);
    await storage?.close();
    this.#isOpen = false;
  }
}
