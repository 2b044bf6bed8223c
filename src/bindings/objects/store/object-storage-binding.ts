/** The storage of stateful objects as a service that every function has: it reaches the objects of the function's own classes, and no others. */

import { ServiceId } from '../../../quotas/service-calls.js';
import type { BindingHost, ImplicitBinding } from '../../binding.js';
import { objectStep } from '../object-step.js';
import { GET, GET_ALARM, LIST, OPEN, SQL, SQL_ROLLBACK, STORAGE_HEAD_BYTES, WRITE } from '../storage-wire.js';
import { OBJECT_STORAGE_CONTRACT } from './contract.js';
import { type ObjectDirectory, objectDirectory } from './object-directory.js';
import { objectStorageOwner } from './object-storage-owner.js';
import { type ObjectStore, objectStoreOf } from './object-store.js';
import { objectStorageService } from './service.js';

/** The objects of all accounts, in a storage that opens with their first use. */
export interface HostObjectStorage {
  open(): Promise<ObjectStore>;
  /** For those who administer the account. */
  of(account: string): ObjectDirectory;
  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void;
  close(): Promise<void>;
}

/** An object pays for what it stores with its CPU time. The call that woke it was counted. */
const METHOD = { continues: true, headBytes: STORAGE_HEAD_BYTES } as const;

export const objectStorageBinding: ImplicitBinding<HostObjectStorage> = {
  id: ServiceId.ObjectStorage,
  name: 'object-storage',
  implicit: true,
  subrequest: 'stateful',
  methods: {
    [OPEN]: METHOD,
    [GET]: METHOD,
    [LIST]: METHOD,
    [WRITE]: METHOD,
    [GET_ALARM]: METHOD,
    [SQL]: METHOD,
    [SQL_ROLLBACK]: METHOD,
  },
  objectStep,
  storage: objectStorageOwner,
  directory: OBJECT_STORAGE_CONTRACT,
  share({ storage }: BindingHost) {
    let store: ObjectStore | undefined;
    return {
      async open() {
        store ??= objectStoreOf((await storage()).context);
        return store;
      },
      of: account => objectDirectory(account, async () => (await storage()).context),
      forget: account => store?.forget(account),
      close: async () => store?.close(),
    };
  },
  endAccount: (shared, account) => shared.forget(account),
  closeShared: shared => shared.close(),
  open: context =>
    objectStorageService(() => context.shared.open(), {
      account: context.account,
      functionName: context.function,
      classes: () => context.objectClasses,
      bounds: () => context.limits,
    }),
};
