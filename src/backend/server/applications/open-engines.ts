/** The engines that the application has opened, of rows whose engines have an identity: one that was deleted is not the next one of its name. */
import type { BindingBase } from '../../../bindings/binding.js';
import type { EngineContract } from '../../../bindings/contract.js';
import type { EngineAddress } from '../../wire/calls.js';

/** Engines in memory. One that was opened longer ago is found again by its name. */
const MAX_OPEN = 1000;

export class OpenEngines {
  readonly #find: (row: BindingBase, address: EngineAddress) => unknown;
  /** By row, account and identity, in the order in which they were opened. */
  readonly #open = new Map<string, object>();

  constructor(find: (row: BindingBase, address: EngineAddress) => unknown) {
    this.#find = find;
  }

  /** Rejects with the error of the contract when there is no such engine, though there may be another one of its name. */
  of(row: BindingBase, contract: EngineContract, address: EngineAddress): object | Promise<object> {
    const { account, id } = address;
    const engine = id === undefined ? undefined : this.#open.get(keyOf(row, account, id));
    return engine ?? this.#findAgain(row, contract, address);
  }

  keep(row: BindingBase, account: string, id: string, engine: object): void {
    const key = keyOf(row, account, id);
    this.#open.delete(key);
    this.#open.set(key, engine);
    const [oldest] = this.#open.size > MAX_OPEN ? this.#open.keys() : [];
    if (oldest !== undefined) this.#open.delete(oldest);
  }

  async #findAgain(row: BindingBase, contract: EngineContract, address: EngineAddress): Promise<object> {
    const { account, name, id } = address;
    const engine = await this.#find(row, address);
    if (typeof engine !== 'object' || engine === null || contract.identity?.(engine) !== id)
      throw contract.missing(name);
    if (id !== undefined) this.keep(row, account, id, engine);
    return engine;
  }
}

function keyOf({ name }: BindingBase, account: string, id: string): string {
  return `${name}/${id}/${account}`;
}
