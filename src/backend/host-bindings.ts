/** The bindings of one host: the rows of the registry, and what each of them shares among the accounts. */
import {
  type AccountContext,
  type AccountDirectories,
  type BindingBase,
  type BindingHost,
  type ClientRow,
  type FunctionContext,
  methodOf,
  type NamedBinding,
  type RemoteClient,
} from '../bindings/binding.js';
import type { ClientBodies, GivenBodies } from '../bindings/bodies/given-bodies.js';
import type { DirectoryContract } from '../bindings/contract.js';
import type { BindingRegistry } from '../bindings/registry.js';
import type { Service } from '../bindings/service.js';
import { EdgeError } from '../quotas/errors.js';
import type { FunctionServices, ServiceEntry } from './calls/answer-call.js';
import { remoteDirectory } from './client/contract-client.js';
import type { RemoteLink } from './client/remote-link.js';
import { RemoteServices } from './client/remote-service.js';
import type { ServiceAddress } from './wire/calls.js';

/** One binding of a function, with the configuration that the schema of its row has checked. */
export interface ConfiguredBinding {
  readonly row: NamedBinding;
  readonly name: string;
  readonly config: unknown;
}

/** A context without what only its row knows. */
type Common<Context> = Omit<Context, 'shared'>;

/** The split of a host's bindings between two processes. */
export interface BindingsPlace {
  /** Rows that this process answers. @default all */
  readonly isHere?: (row: BindingBase) => boolean;
  /** Bindings with the shared parts of rows that store something. @default these */
  readonly common?: HostBindings;
  /** The backend process, for the application's own clients of rows that are answered there. @default none */
  readonly link?: RemoteLink;
}

export class HostBindings {
  readonly registry: BindingRegistry;
  readonly #shared = new Map<BindingBase, unknown>();

  /** Rows that this process answers. */
  readonly isHere: (row: BindingBase) => boolean;
  readonly #own: BindingBase[] = [];
  readonly #remote: RemoteServices | undefined;

  /**
   * @param place the bindings that are answered elsewhere
   * @throws TypeError or RangeError for an option of the host that a row refuses
   */
  constructor(registry: BindingRegistry, host: BindingHost, { isHere = () => true, common, link }: BindingsPlace = {}) {
    this.#remote = link && new RemoteServices(link);
    if (link !== undefined)
      for (const row of registry.rows)
        if (row.directory !== undefined) this.#shared.set(row, remoteShared(link, row.name, row.directory));
    this.registry = registry;
    this.isHere = isHere;
    for (const row of registry.rows) {
      if (!isHere(row)) continue;
      if (common !== undefined && row.storage !== undefined) this.#shared.set(row, common.shared(row));
      else {
        this.#own.push(row);
        this.#shared.set(row, row.share?.(host));
      }
    }
  }

  /** The services that a function may call, by number: the services of every function, and the ones that it is bound to. */
  services(context: Common<FunctionContext>, bound: readonly ConfiguredBinding[]): FunctionServices {
    const entries = new Map<number, ServiceEntry>();
    for (const row of this.registry.implicit.filter(this.isHere)) {
      const service = row.open(this.#contextOf(row, context));
      entries.set(row.id, { definition: row, services: new Map([[IMPLICIT, service]]) });
    }
    for (const row of this.registry.named.filter(this.isHere)) {
      const services = new Map<string, Service>();
      for (const { name, config } of bound.filter(binding => binding.row === row)) {
        services.set(name, row.open(this.#contextOf(row, context), config, name));
      }
      entries.set(row.id, { definition: row, services });
    }
    return entries;
  }

  /** Rejects for what the first call of a binding would find out too late. */
  async prepare(context: Common<AccountContext>, bound: readonly ConfiguredBinding[]): Promise<void> {
    for (const { row, config } of bound) await row.prepare?.(this.#contextOf(row, context), config);
  }

  /** The application's client of a binding. @throws TypeError when the binding has none */
  client<Config, Shared, Client extends object>(
    row: ClientRow<Config, Shared, Client>,
    context: Common<AccountContext>,
    config: Config,
    bodies?: GivenBodies,
  ): Client {
    const what =
      config === undefined
        ? `a ${row.name}`
        : typeof config === 'string'
          ? `${row.name} "${config}"`
          : `a client of ${row.name}`;
    const given = bodies && { bodies, of: `${what} of account "${context.account}"` };
    if (row.remote !== undefined && !this.isHere(row))
      return this.#remoteClient(row.remote, row, context, config, given);
    if (row.client === undefined) throw new TypeError(`The application has no client of bindings of type ${row.name}`);
    // The limits of an account change: they are read with each call.
    const client = {
      account: context.account,
      shared: this.shared(row),
      check: () => context.check?.(),
      ...(given !== undefined && { given }),
      ...(context.work !== undefined && { work: context.work }),
      get limits() {
        return context.limits;
      },
    };
    return row.client(client, config);
  }

  #remoteClient<Config, Shared, Client extends object>(
    remote: RemoteClient<Config, Shared, Client>,
    row: ClientRow<Config, Shared, Client>,
    context: Common<AccountContext>,
    config: Config,
    given: ClientBodies | undefined,
  ): Client {
    if (this.#remote === undefined) return notThere(`bindings of type ${row.name} from the application`)();
    return remote.client(
      this.#remote.of({
        address: { binding: row.id, account: context.account, config },
        limits: () => context.limits,
        isSafe: method => methodOf(row, method).isSafe === true,
        check: () => context.check?.(),
      }),
      given,
    );
  }

  /** The service that the client of an application calls, which is in another process. @throws TypeError when the binding has none */
  clientService({ binding, account, config, limits }: ServiceAddress): Service {
    const row = this.registry.named.find(({ id }) => id === binding);
    if (row?.remote === undefined) throw new TypeError(`There is no client of bindings of the number ${binding}`);
    return row.remote.service({ account, limits, shared: this.shared(row) }, config);
  }

  /** Returns the account's directory of a row: of one that shares directories, as rows with a contract do. */
  directoryOf<Directory>(row: BindingBase<AccountDirectories<Directory>>, account: string): Directory {
    return this.shared(row).of(account);
  }

  /** An account was removed: what the rows share for it is not for another one of its id. */
  endAccount(account: string): void {
    for (const [row, shared] of this.#shared) row.endAccount?.(shared, account);
  }

  /** Ends what the rows share. */
  async close(): Promise<void> {
    for (const row of this.#own) await row.closeShared?.(this.#shared.get(row));
  }

  /** The value that the row shares among the accounts. */
  shared<Shared>(row: BindingBase<Shared>): Shared {
    if (!this.#shared.has(row)) notThere(`what ${row.name} shares`)();
    return this.#shared.get(row) as Shared; // made by the row itself
  }

  #contextOf<Context extends object, Shared>(
    row: BindingBase<Shared>,
    context: Context,
  ): Context & { readonly shared: Shared } {
    return { ...context, shared: this.shared(row) };
  }
}

/** This process keeps nothing of an account, so there is nothing to forget: the backend process learns by itself when the account ends. */
function remoteShared(link: RemoteLink, name: string, directory: DirectoryContract): unknown {
  const of = (account: string): unknown => remoteDirectory(link, name, directory, account);
  return { of, forget: () => {}, close: async () => {} };
}

function notThere(what: string): () => never {
  return () => {
    throw new EdgeError(
      'EDGE_NOT_SUPPORTED',
      `Cannot use ${what} with a backend process: give new EdgeHost() the option backend: 'inline'`,
    );
  };
}

/** The binding that calls of services without one name. */
const IMPLICIT = '';
