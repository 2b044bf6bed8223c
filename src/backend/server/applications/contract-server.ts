/** Answers the calls of the remote forms that contract-client.ts makes, by the same contracts. */

import type { BindingBase } from '../../../bindings/binding.js';
import type { EngineContract, MethodTerms } from '../../../bindings/contract.js';
import type { ServiceBody } from '../../../bindings/service.js';
import type { StoredContent } from '../../../bindings/stored-values/stored-content.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import { type AtEnd, type ContentAnswer, type EngineAddress, TRAILER, type WholeContent } from '../../wire/calls.js';
import { allBytes, lostError } from '../../wire/outgoing-call.js';
import { packHead } from '../../wire/packets.js';
import { callMethod } from './call-method.js';
import { OpenEngines } from './open-engines.js';
import type { ServedCall } from './served-call.js';

/** A method that a call may name. */
export interface ServedMethod {
  readonly row: BindingBase;
  readonly method: string;
  readonly terms: MethodTerms;
  /** Undefined for a method of a directory. */
  readonly engine: EngineContract | undefined;
}

export interface ContractServerParts {
  readonly rows: readonly BindingBase[];
  /** Returns the account's directory of a row: `shared.of(account)`. */
  readonly directoryOf: (row: BindingBase, account: string) => object;
  readonly workOf?: ((account: string) => CallWork | undefined) | undefined;
  /** Methods of engines that the connection tracks, by the names of their calls. They run in place of the engine's own. */
  readonly tracked: ReadonlyMap<string, TrackedMethod>;
}

export type TrackedMethod = (address: EngineAddress, engine: object, args: readonly unknown[]) => unknown;

export class ContractServer {
  readonly #methods = new Map<string, ServedMethod>();
  readonly #directoryOf: ContractServerParts['directoryOf'];
  readonly #workOf: ContractServerParts['workOf'];
  readonly #tracked: ContractServerParts['tracked'];
  readonly #open: OpenEngines;

  constructor({ rows, directoryOf, workOf, tracked }: ContractServerParts) {
    this.#directoryOf = directoryOf;
    this.#workOf = workOf;
    this.#tracked = tracked;
    this.#open = new OpenEngines((row, { account, name }) => callMethod(directoryOf(row, account), 'find', [name]));
    for (const row of rows) {
      const { directory } = row;
      if (directory === undefined) continue;
      this.#add(`${row.name}.directory`, row, directory.methods, undefined);
      if (directory.engine !== undefined)
        this.#add(`${row.name}.engine`, row, directory.engine.methods, directory.engine);
    }
  }

  #add(
    prefix: string,
    row: BindingBase,
    methods: Readonly<Record<string, MethodTerms>>,
    engine: EngineContract | undefined,
  ): void {
    for (const [method, terms] of Object.entries(methods))
      this.#methods.set(`${prefix}.${method}`, { row, method, terms, engine });
  }

  /** Undefined when no contract has the call. */
  find(name: string): ServedMethod | undefined {
    return this.#methods.get(name);
  }

  /**
   * The application is of the same version: its arguments have the types of the contract.
   *
   * @param value the name of the call, the address, and the arguments
   */
  async answer(served: ServedCall, method: ServedMethod, value: readonly unknown[]): Promise<void> {
    const [name, address, ...args] = value;
    const { row, engine, terms } = method;
    const at = engine === undefined ? undefined : (address as EngineAddress); // the address of an engine
    const account = at === undefined ? String(address) : at.account;
    const target =
      at === undefined || engine === undefined ? this.#directoryOf(row, account) : await this.#open.of(row, engine, at);
    fill(served, terms, args);
    if (terms.work !== undefined) {
      while (args.length < terms.work) args.push(undefined);
      args[terms.work] = this.#workOf?.(account) ?? engine?.defaultWork;
    }
    const tracked = at === undefined ? undefined : this.#tracked.get(String(name));
    const result =
      tracked === undefined || at === undefined ? callMethod(target, method.method, args) : tracked(at, target, args);
    if (terms.answer === 'stream')
      served.replyWithBody(packHead(undefined), result as ServiceBody); // by the contract
    else await this.#reply(served, method, account, await result);
  }

  async #reply(served: ServedCall, { row, terms }: ServedMethod, account: string, result: unknown): Promise<void> {
    const engine = row.directory?.engine;
    if (terms.opens === true && engine !== undefined && isObject(result)) {
      const id = engine.identity?.(result);
      if (id !== undefined) this.#open.keep(row, account, id, result);
      served.replyValue(id === undefined ? [engine.state(result)] : [engine.state(result), id]);
    } else if (terms.answer === 'contents') {
      served.replyValue(await wholeContents(result as Iterable<FoundContent | null>)); // by the contract
    } else if (terms.answer === 'content' && isObject(result) && 'content' in result) {
      replyContent(served, result as FoundContent); // by the contract
    } else if (terms.answer === 'body' && isObject(result)) {
      replyBody(served, result);
    } else {
      served.replyValue(result);
    }
  }
}

/** Puts in its place whatever did not cross as a value: the body, the signal, the function that is called at the end of the body. */
function fill(served: ServedCall, { body, options: place, atEnd }: MethodTerms, args: unknown[]): void {
  if (body !== undefined && args[body] !== null) args[body] = served.body ?? NO_BYTES;
  if (place === undefined) return;
  const options = { ...(args[place] as Readonly<Record<string, unknown>>) }; // by the contract
  if (body === undefined) options.signal = served.stopSignal;
  // A body that is whole is not waited for.
  else if (!(served.body instanceof Uint8Array)) options.signal = served.signal;
  if (atEnd !== undefined && options[atEnd] !== undefined) {
    const known = options[atEnd];
    const result: AtEnd = async () => (known === TRAILER ? trailerOf(served) : known);
    options[atEnd] = result;
  }
  args[place] = options;
}

/** The application sends it before the end of the body. */
function trailerOf({ trailer }: ServedCall): unknown {
  if (trailer === undefined) throw lostError();
  const { result }: { readonly result?: unknown } = JSON.parse(trailer);
  return result;
}

interface FoundContent {
  readonly content: StoredContent;
}

function replyContent(served: ServedCall, { content, ...rest }: FoundContent): void {
  if (served.isFailed) {
    content.release();
    return;
  }
  const { offset, length } = content;
  served.replyWithBody(packHead({ rest, offset, length } satisfies ContentAnswer), content.view?.() ?? content.open());
}

function replyBody(served: ServedCall, result: object): void {
  const { body, ...rest } = result as { readonly body?: ServiceBody | null; readonly size?: number }; // by the contract
  if (body === undefined || body === null) served.replyValue({ ...result });
  else {
    const answer: ContentAnswer = { rest, offset: 0, length: rest.size ?? 0 };
    served.replyWithBody(packHead(answer), body);
  }
}

async function wholeContents(found: Iterable<FoundContent | null>): Promise<(WholeContent | null)[]> {
  const whole: (WholeContent | null)[] = [];
  for (const each of found) {
    if (each === null) whole.push(null);
    else {
      const { content, ...rest } = each;
      whole.push({ rest, bytes: await allBytes(content.open()) });
    }
  }
  return whole;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
