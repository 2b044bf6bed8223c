/** Key-value namespaces as a binding: `env.SESSIONS` of a function, `host.kv('sessions')` of the application. */

import { ServiceId } from '../../quotas/service-calls.js';
import { lazyDirectory, openEngine } from '../account-engines.js';
import type { AccountContext, NamedBinding } from '../binding.js';
import { errorRestorer, statusIn } from '../numeric-code.js';
import type { Service } from '../service.js';
import { DirectoriesByAccount } from '../stored-values/directories-by-account.js';
import { KV_CONTRACT } from './contract.js';
import type { KvDirectory, KvEngine } from './engine.js';
import { KV_ERRORS, KvError } from './errors.js';
import { hostKv } from './host-kv.js';
import { kvService } from './service.js';
import { KvCleaner } from './store/kv-cleaner.js';
import { createKvDirectory } from './store/kv-directory.js';
import { kvStorage } from './store/kv-storage.js';
import { NAMESPACE_NAMES } from './store/stored-namespaces.js';
import type { KvNamespace } from './types.js';

const KIB = 1024;
/** 100 keys of 512 bytes, each of which JSON may write as six. */
const BULK_HEAD_BYTES = 320 * KIB;

/** The namespaces of each account, in a storage that opens with their first use. */
export interface AccountNamespaces {
  of(account: string): KvDirectory;
  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void;
  close(): Promise<void>;
}

/** The configuration is the name of a namespace of the account, which is made when it does not exist. */
export const kvBinding: NamedBinding<string, AccountNamespaces, KvNamespace> = {
  id: ServiceId.Kv,
  name: 'kv',
  subrequest: 'kv',
  methods: {
    get: { holdsConnection: true, isSafe: true },
    getMany: { holdsConnection: true, isSafe: true, headBytes: BULK_HEAD_BYTES },
    put: { holdsConnection: true },
    delete: { holdsConnection: true },
    list: { holdsConnection: true, isSafe: true },
  },
  option: 'kv',
  application: 'kv',
  toml: { table: 'kv_namespaces', nameKey: 'id', otherNameKey: 'name', unusedKeys: ['preview_id'] },
  managementType: 'kv_namespace',
  managementKey: 'namespace_id',
  schema: NAMESPACE_NAMES.schema,
  storage: kvStorage,
  directory: KV_CONTRACT,
  share({ storage }) {
    let directories: DirectoriesByAccount<KvDirectory> | undefined;
    let cleaner: KvCleaner | undefined;
    const directoryOf = async (account: string): Promise<KvDirectory> => {
      const { context } = await storage();
      await context.sums.whenEnded(account);
      if (directories === undefined) {
        const ofStorage = new KvCleaner(context);
        ofStorage.sweep();
        cleaner = ofStorage;
        directories = new DirectoriesByAccount(id => createKvDirectory(context, id, ofStorage));
      }
      return directories.of(account);
    };
    return {
      of: account => lazyDirectory(KV_CONTRACT, () => directoryOf(account)),
      forget: account => directories?.forget(account),
      close: async () => cleaner?.close(),
    };
  },
  open: (context, name) => kvService(() => engineOf(context, name), { limits: context.limits }),
  endAccount: (shared, account) => shared.forget(account),
  closeShared: shared => shared.close(),
  async prepare(context, name) {
    await engineOf(context, name);
  },
  client: (context, name) => hostKv(applicationService(context, name), context.given),
  remote: { service: applicationService, client: hostKv },
  errorFrom: errorRestorer(KV_ERRORS, code => new KvError(code, '')),
  errorStatus: error => statusIn(KV_ERRORS, error),
};

function applicationService(context: AccountContext<AccountNamespaces>, name: string): Service {
  return kvService(() => engineOf(context, name), {
    check: () => context.check?.(),
    get limits() {
      return context.limits;
    },
  });
}

function engineOf(context: AccountContext<AccountNamespaces>, name: string): Promise<KvEngine> {
  return openEngine(context, namespaces => namespaces.open(name));
}
