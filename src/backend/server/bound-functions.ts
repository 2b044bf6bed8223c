/** The functions of one application, each with the services that it may call. Some are in this process, and the application answers the others. */
import type { BindingBase, BindingDefinition, BindingHost, NamedBinding } from '../../bindings/binding.js';
import { EgressPolicy } from '../../bindings/egress/rules/egress-policy.js';
import type { BindingRegistry } from '../../bindings/registry.js';
import type { HostShare, HostShareLimits } from '../../quotas/host/host-share.js';
import type { FunctionServices, ServiceEntry } from '../calls/answer-call.js';
import { type ConfiguredBinding, HostBindings } from '../host-bindings.js';
import type { ApplicationHello, FunctionRegistration } from '../wire/message-contents.js';
import type { ApplicationAnswers } from './application-answers.js';
import { BoundFunction } from './cells/bound-function.js';

/** The parts of the process that functions use. */
export interface FunctionSurroundings {
  readonly registry: BindingRegistry;
  readonly storage: BindingHost['storage'];
  /** The values that rows with storage share among all applications. */
  readonly common: HostBindings;
  /** The share of an account, used by one more function or connection. */
  takeShare(account: string, bounds: HostShareLimits): HostShare;
  giveShare(account: string): void;
}

export class BoundFunctions {
  readonly #surroundings: FunctionSurroundings;
  readonly #answers: ApplicationAnswers;
  #hello: ApplicationHello | undefined;
  #bound: HostBindings | undefined;
  readonly #functions = new Map<number, BoundFunction>();
  readonly #accounts = new Map<number, string>();

  constructor(surroundings: FunctionSurroundings, answers: ApplicationAnswers) {
    this.#surroundings = surroundings;
    this.#answers = answers;
  }

  /** The application has said what it is. Before everything else. */
  greeted(hello: ApplicationHello): void {
    const { registry, storage, common } = this.#surroundings;
    const isHere = (row: BindingBase): boolean => !hello.applicationRows.includes(row.id);
    this.#hello = hello;
    this.#bound = new HostBindings(registry, { options: hello.options, storage }, { isHere, common });
  }

  get(key: number): BoundFunction | undefined {
    return this.#functions.get(key);
  }

  /** Rejects with an error that the first call of a binding would find too late. */
  async register(record: FunctionRegistration): Promise<void> {
    const bound = this.#configured(record).filter(({ row }) => this.#bindings.isHere(row));
    this.#bind(record);
    await this.#bindings.prepare({ account: record.account, limits: record.limits }, bound);
  }

  forget(key: number): void {
    const account = this.#accounts.get(key);
    this.#functions.delete(key);
    this.#accounts.delete(key);
    if (account !== undefined) this.#surroundings.giveShare(account);
  }

  endAccount(account: string): void {
    this.#bindings.endAccount(account);
  }

  close(): void {
    for (const key of [...this.#functions.keys()]) this.forget(key);
    void this.#bound?.close();
  }

  get #bindings(): HostBindings {
    if (this.#bound === undefined) throw new Error('The application has not said what it is');
    return this.#bound;
  }

  #configured({ bindings }: FunctionRegistration): ConfiguredBinding[] {
    return bindings.flatMap(({ option, name, config }) => {
      const row = this.#bindings.registry.named.find(each => each.option === option);
      return row === undefined ? [] : [{ row, name, config }];
    });
  }

  #bind(record: FunctionRegistration): void {
    const share = this.#surroundings.takeShare(record.account, record.bounds);
    try {
      const services = this.#services(record);
      const { key, limits } = record;
      const connectionSlotRelease = this.#hello?.connectionSlotRelease ?? 'body';
      this.#functions.set(key, new BoundFunction({ key, services, limits, connectionSlotRelease, share }));
      this.#accounts.set(key, record.account);
    } catch (error) {
      this.#surroundings.giveShare(record.account);
      throw error;
    }
  }

  #services(record: FunctionRegistration): FunctionServices {
    const { registry } = this.#bindings;
    const bound = this.#configured(record);
    const { account, function: name, limits, props, compatibility, hasCaches } = record;
    const services = this.#bindings.services(
      {
        account,
        function: name,
        limits,
        props,
        compatibility,
        hasCaches,
        // The application checks both, with the hop.
        checkUrl: () => {},
        localOf: (url, origin) => this.#answers.localOf(url, origin),
        egress: record.egress && new EgressPolicy(record.egress, this.#answers.refusals(record.key)),
      },
      bound.filter(({ row }) => this.#bindings.isHere(row)),
    );
    const entries = new Map<number, ServiceEntry>(services);
    for (const row of registry.rows) {
      if (!this.#bindings.isHere(row)) entries.set(row.id, this.#inApplication(row, bound));
    }
    return entries;
  }

  /** A service that the application answers itself. */
  #inApplication(row: BindingDefinition, bound: readonly { row: NamedBinding; name: string }[]): ServiceEntry {
    const names = row.implicit === true ? [''] : bound.filter(each => each.row === row).map(({ name }) => name);
    return { definition: row, services: new Map(names.map(name => [name, this.#answers.service(row.id, name)])) };
  }
}
