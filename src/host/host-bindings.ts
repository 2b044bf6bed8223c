/** The bindings of one host: the rows of the registry, and what each of them shares among the accounts. */
import type { AccountContext, BindingBase, BindingHost, FunctionContext, NamedBinding } from '../bindings/binding.js';
import { type BindingDirectories, type BindingRegistry, bindingDirectories } from '../bindings/registry.js';
import type { Service } from '../bindings/service.js';
import type { BoundBinding } from '../shapes/binding-shapes.js';
import type { FunctionServices, ServiceEntry } from './invocation/calls/services.js';

/** A context without what only its row knows. */
type Common<Context> = Omit<Context, 'shared'>;

export class HostBindings {
  readonly registry: BindingRegistry;
  /** The objects of every account that are administered beside functions. */
  readonly directories: BindingDirectories = bindingDirectories(row => this.shared(row));
  readonly #shared = new Map<BindingBase, unknown>();

  /** @throws TypeError or RangeError for an option of the host that a row refuses */
  constructor(registry: BindingRegistry, host: BindingHost) {
    this.registry = registry;
    for (const row of registry.rows) this.#shared.set(row, row.share?.(host));
  }

  /** The services that a function may call, by number: those of every function, and those that it is bound to. */
  services(context: Common<FunctionContext>, bound: readonly BoundBinding<NamedBinding>[]): FunctionServices {
    const entries = new Map<number, ServiceEntry>();
    for (const row of this.registry.implicit) {
      const service = row.open(this.#contextOf(row, context));
      entries.set(row.id, { definition: row, services: new Map([[IMPLICIT, service]]) });
    }
    for (const row of this.registry.named) {
      const services = new Map<string, Service>();
      for (const { name, config } of bound.filter(binding => binding.row === row)) {
        services.set(name, row.open(this.#contextOf(row, context), config));
      }
      entries.set(row.id, { definition: row, services });
    }
    return entries;
  }

  /** Rejects for what the first call of a binding would find out too late. */
  async prepare(context: Common<AccountContext>, bound: readonly BoundBinding<NamedBinding>[]): Promise<void> {
    for (const { row, config } of bound) await row.prepare?.(this.#contextOf(row, context), config);
  }

  /** The application's client of a binding. @throws TypeError when the binding has none */
  client<Config, Shared, Client extends object>(
    row: NamedBinding<Config, Shared, Client>,
    context: Common<AccountContext>,
    config: Config,
  ): Client {
    if (row.client === undefined) throw new TypeError(`The application has no client of bindings of type ${row.name}`);
    // The limits of an account change: they are read with each call.
    const client = {
      account: context.account,
      shared: this.shared(row),
      check: () => context.check?.(),
      get limits() {
        return context.limits;
      },
    };
    return row.client(client, config);
  }

  /** An account was removed: what the rows share for it is not for another one of its id. */
  endAccount(account: string): void {
    for (const [row, shared] of this.#shared) row.endAccount?.(shared, account);
  }

  /** Ends what the rows share. */
  async close(): Promise<void> {
    for (const [row, shared] of this.#shared) await row.closeShared?.(shared);
  }

  /** The value that the row shares among the accounts. */
  shared<Shared>(row: BindingBase<Shared>): Shared {
    return this.#shared.get(row) as Shared; // made by the row itself
  }

  #contextOf<Context extends object, Shared>(
    row: BindingBase<Shared>,
    context: Context,
  ): Context & { readonly shared: Shared } {
    return { ...context, shared: this.shared(row) };
  }
}

/** The binding that calls of services without one name. */
const IMPLICIT = '';
