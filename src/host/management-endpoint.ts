/** The management API of a host: its ports over the host's accounts, and its storage beside theirs. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DatabaseChanges } from '../backend/host-store.js';
import type { DirectoryOf } from '../bindings/binding.js';
import type { GivenBodies } from '../bindings/bodies/given-bodies.js';
import type { BindingRegistry } from '../bindings/registry.js';
import { consumerOf } from '../config-schema/consumer-shapes.js';
import type { NameOwners } from '../hostnames/name-owners.js';
import type { Management, ManagementOptions } from '../management/management.js';
import type {
  AccountPort,
  AccountSummary,
  FunctionDeployment,
  FunctionPort,
  FunctionTriggers,
} from '../management/ports.js';
import type { ManagementStorage } from '../management/state/records.js';
import { EdgeError, errorCode, isEdgeErrorCode } from '../quotas/errors.js';
import { detached } from '../quotas/guarded.js';
import { dateClock } from '../quotas/option-functions.js';
import { cutOff } from '../quotas/requests/both-protocols.js';
import type { KeyStore } from '../storage/files/key-file.js';
import type { Locks } from '../storage/records/keyed-mutex.js';
import type { Account } from './account.js';
import type { LoadOptions } from './options/options.js';
import { checkTailFilter as checkedFilter } from './tails/tail-filter.js';
import type { HostUsage } from './usage/host-usage.js';

/** Options of `host.management()`; functions, bindings, names and storage are the host's. */
export type HostManagementOptions = Omit<
  ManagementOptions,
  | 'storage'
  | 'functions'
  | 'directoryOf'
  | 'bindings'
  | 'names'
  | 'keyStore'
  | 'listen'
  | 'locks'
  | 'onWarning'
  | 'given'
>;

/** The fetch handler, and what the owner does with the API besides. */
export interface HostManagement {
  (request: Request): Promise<Response>;
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  readonly issueToken: Management['issueToken'];
  readonly revokeToken: Management['revokeToken'];
  /** Loads every stored function again, after a restart. Accounts must have been named by `host.account()` before. */
  readonly restore: Management['restore'];
  /** The OpenAPI 3.1 document as of a date. @default now */
  readonly openapi: (at?: Date) => Promise<unknown>;
}

export interface ManagementHost {
  account(id: string): Account | undefined;
  accounts(): readonly AccountSummary[];
  removeAccount(id: string, options: { readonly deleteData: boolean }): Promise<unknown>;
  readonly bindings: BindingRegistry;
  readonly directoryOf: DirectoryOf;
  storage(): Promise<{
    readonly storage: ManagementStorage;
    readonly keyStore: KeyStore;
    readonly locks?: Locks;
    readonly listen?: (listener: Parameters<DatabaseChanges['listen']>[1]) => void;
  }>;
  readonly names: NameOwners;
  readonly usage: HostUsage;
  /** Gives the application the bodies of answers. */
  readonly bodies: GivenBodies;
  /** Gets the promise of the stored zones being known. */
  opening(ready: Promise<unknown>): void;
  warn(error: unknown): void;
}

/** The storage opens now; if that fails, every call reports it. */
export function createManagementEndpoint(options: HostManagementOptions, host: ManagementHost): HostManagement {
  // Here, and not with the first request: a clock that fails is a mistake of the code that has made it.
  if (options.now !== undefined) dateClock('now of management()', options.now);
  const ready = host.storage().then(async ({ storage, keyStore, listen, locks }) => {
    // A third of all code that a host loads is the API's: only hosts that have one load it.
    const { createManagement } = await import('../management/management.js');
    const management = createManagement({
      ...options,
      storage,
      functions: functionPort(host),
      bindings: host.bindings,
      directoryOf: host.directoryOf,
      names: host.names,
      keyStore,
      ...(listen !== undefined && { listen }),
      ...(locks !== undefined && { locks }),
      onError: options.onError ?? (error => host.warn(error)),
      onWarning: error => host.warn(error),
      given: { bodies: host.bodies, of: 'the management API' },
    });
    await management.start();
    return management;
  });
  // Each call reports this failure; a wrong option is reported even when no call comes.
  ready.catch((error: unknown) => {
    if (error instanceof TypeError || error instanceof RangeError) host.warn(error);
  });
  host.opening(ready);
  const handler = async (request: Request): Promise<Response> => (await ready).fetch(request);
  return Object.assign(handler, {
    listener: (request: IncomingMessage, response: ServerResponse): void => {
      const answering = ready.then(
        management => management.listener()(request, response),
        () => {
          response.writeHead(503).end();
        },
      );
      detached(answering, () => cutOff(response));
    },
    issueToken: async (spec: Parameters<Management['issueToken']>[0]) => (await ready).issueToken(spec),
    revokeToken: async (id: string) => (await ready).revokeToken(id),
    restore: async () => (await ready).restore(),
    openapi: async (at?: Date) => (await ready).openapi(at),
  });
}

/** The name of a usage query in messages. */
const USAGE_QUERY = 'the query';

function accountPort(host: ManagementHost): AccountPort {
  return {
    listAccounts: () => host.accounts(),
    storageBounds: id => host.account(id)?.limits,
    zonePlan: id => host.account(id)?.limits.zonePlan,
    work: id => host.account(id)?.share,
    accountStorage: id => accountOf(host, id).storage(),
    updateAccount: (id, changes) => accountOf(host, id).update(changes),
    removeAccount: async (id, deleteData) => {
      await host.removeAccount(id, { deleteData });
    },
  };
}

function accountOf(host: ManagementHost, id: string): Account {
  const found = host.account(id);
  if (found === undefined) throw new EdgeError('EDGE_CONFIG_INVALID', `There is no account "${id}"`);
  return found;
}

function functionPort(host: ManagementHost): FunctionPort {
  const account = (id: string): Account => accountOf(host, id);
  return {
    ...accountPort(host),
    hasAccount: async id => host.account(id) !== undefined,
    validate: deployment => account(deployment.account).tryOut('customer', sourceOf(deployment), optionsOf(deployment)),
    activate: async (deployment, { isStored = false } = {}) => {
      const author = isStored ? 'stored' : 'customer';
      const target = account(deployment.account);
      const { startupTimeMs } = await target.deploy(author, sourceOf(deployment), optionsOf(deployment));
      return { startupTimeMs };
    },
    setTriggers: async (id, name, triggers) => account(id).setTriggers(name, triggersOf(triggers)),
    runScheduled: async (id, name, { cron, scheduledTime }) => {
      const fn = account(id).function(name);
      if (fn === undefined) throw new EdgeError('EDGE_CONFIG_INVALID', `Function "${name}" does not serve`);
      const { error, noRetry } = await fn.tryScheduled({ cron, ...(scheduledTime !== null && { scheduledTime }) });
      const code = errorCode(error) ?? '';
      // Another error is no concern of the customer's.
      if (error !== undefined && !isEdgeErrorCode(code)) throw error;
      return { error: error === undefined ? null : { code, message: error.message }, noRetry };
    },
    clientOf: (row, id, config) => account(id).client(row, config),
    sqlBounds: id => account(id).limits,
    remove: async (id, name) => account(id).function(name)?.unload(),
    tail: (id, filter) => account(id).tail({ filter: checkedFilter(filter) }),
    accountUsage: async id => {
      const { plan, quotas } = account(id).usage();
      return { plan, quotas };
    },
    functionUsage: async (id, name) => {
      const stats = account(id).function(name)?.stats();
      return {
        requests: stats?.invocations ?? 0,
        errors: (stats?.invocations ?? 0) - (stats?.outcomes.ok ?? 0),
        cpuMs: stats?.cpuMs.sum ?? 0,
        subrequests: stats?.subrequests ?? 0,
      };
    },
    usageReport: async (id, range, { isOwner }) =>
      isOwner ? host.usage.report(USAGE_QUERY, id, range) : account(id).customerUsage(range),
    usageAccounts: range => host.usage.accounts(USAGE_QUERY, range),
  };
}

function sourceOf({ main, modules }: FunctionDeployment): Parameters<Account['load']>[0] {
  return {
    main,
    modules: Object.fromEntries(modules.map(({ name, type, content }) => [name, { type, source: content }])),
  };
}

function optionsOf(deployment: FunctionDeployment): LoadOptions {
  const { name, compatibilityDate, compatibilityFlags, vars, secrets, bindings, limits, usageModel, tails } =
    deployment;
  const { egress, triggers } = deployment;
  return {
    name,
    ...(compatibilityDate !== null && { compatibilityDate }),
    compatibilityFlags,
    vars: Object.fromEntries(vars),
    secrets: Object.fromEntries(secrets),
    ...bindingOptions(bindings),
    limits,
    tails,
    ...(egress !== undefined && { egress }),
    ...(usageModel !== null && { usageModel }),
    ...triggersOf(triggers),
  };
}

/** The options of load() that bind names, as the rows of the registry have them. */
function bindingOptions(bindings: FunctionDeployment['bindings']): Record<string, Record<string, unknown>> {
  const options: Record<string, Record<string, unknown>> = {};
  for (const { name, option, config } of bindings) {
    options[option] ??= {};
    Object.assign(options[option], { [name]: config });
  }
  return options;
}

function triggersOf({
  routes,
  crons,
  consumers,
}: FunctionTriggers): Pick<LoadOptions, 'routes' | 'crons' | 'consumers'> {
  return {
    routes: [...routes],
    crons: [...crons],
    ...(consumers !== undefined && { consumers: consumers.map(consumerOf) }),
  };
}
