import { objectStorageOwner } from '../../../src/bindings/objects/store/object-storage-owner.js';
import { type ObjectStore, objectStoreOf } from '../../../src/bindings/objects/store/object-store.js';
import { objectStorageService } from '../../../src/bindings/objects/store/service.js';
import type { Service } from '../../../src/bindings/service.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { Storage, type StorageOptions } from '../../../src/storage/storage.js';

export interface OpenObjects {
  readonly storage: Storage;
  readonly store: ObjectStore;
  /** The calls of the function `chat` of the account `acme`. */
  readonly service: Service;
  serviceOf(account: string, functionName?: string, limits?: Parameters<typeof resolveLimits>[0]): Service;
}

export async function openObjects(location = ':memory:', options: StorageOptions = {}): Promise<OpenObjects> {
  const storage = await Storage.open(location, { owners: [objectStorageOwner], ...options });
  const store = objectStoreOf(storage.context);
  const serviceOf: OpenObjects['serviceOf'] = (account, functionName = 'chat', limits = {}) =>
    objectStorageService(async () => store, {
      account,
      functionName,
      classes: () => ['Room', 'Other'],
      bounds: () => resolveLimits(limits),
    });
  return { storage, store, service: serviceOf('acme'), serviceOf };
}

/** An id, by a number. */
export function idOf(number: number): string {
  return number.toString(16).padStart(64, '0');
}
