/** The storage of a host: opened by the first use, once; what could not be opened is tried again by the next use. */

import type { HostStore } from '../../backend/host-store.js';
import { localStore } from '../../backend/local-store.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { EdgeError } from '../../quotas/errors.js';
import { Storage, type StorageOptions } from '../../storage/storage.js';

export interface HostStorageOptions {
  readonly location: string;
  readonly storageOptions: () => StorageOptions;
  /** Opens the storage in the backend process, in place of one in this process. @default none */
  readonly connect?: () => Promise<HostStore>;
  /** Rejects when something that an earlier process began cannot be finished. */
  readonly onOpen: (store: HostStore) => Promise<void>;
  readonly now: () => number;
  readonly isClosing: () => boolean;
}

interface OpenStorage {
  readonly store: HostStore;
  /** Undefined when it is in the backend process. */
  readonly storage: Storage | undefined;
}

export class HostStorage {
  readonly #options: HostStorageOptions;
  #opening: Promise<OpenStorage> | undefined;
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

  /** Works while the host closes, too, for remaining writes. Rejects as `host.openStorage()` does, but not with EDGE_CLOSED. */
  async open(): Promise<HostStore> {
    return (await this.#open()).store;
  }

  /** For what begins now. Rejects with EDGE_CLOSED when the host closes or is closed. */
  async openForUse(): Promise<HostStore> {
    this.#checkUse();
    return this.open();
  }

  /** The storage itself, for bindings of this process. Rejects with EDGE_CLOSED, or EDGE_INTERNAL when it is in the backend process. */
  async openHere(): Promise<Storage> {
    this.#checkUse();
    const { storage } = await this.#open();
    if (storage === undefined) {
      throw new EdgeError('EDGE_INTERNAL', 'Cannot use the storage in this process: it is open in the backend process');
    }
    return storage;
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.store.close();
    this.#isOpen = false;
  }

  #checkUse(): void {
    if (this.#options.isClosing()) throw new EdgeError('EDGE_CLOSED', 'Cannot use the storage: the host is closed');
  }

  #open(): Promise<OpenStorage> {
    this.#opening ??= withoutCaller(() => this.#connect()).then(
      async opened => {
        this.#isOpen = true;
        await this.#options.onOpen(opened.store);
        return opened;
      },
      (error: unknown) => {
        // A later use tries again: the directory may be free by then.
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  async #connect(): Promise<OpenStorage> {
    const { connect, location, storageOptions } = this.#options;
    if (connect !== undefined) return { store: await connect(), storage: undefined };
    const storage = await Storage.open(location, storageOptions());
    return { store: localStore(storage, this.#options.now), storage };
  }
}
