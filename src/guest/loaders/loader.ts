/** `env.LOADER`: code that the function loads at run time, and stubs of it. Nothing is loaded before the first call of a stub. */
import type { ClientPlatform } from '../../bindings/client-platform.ts';
import { FETCH } from '../../bindings/function/wire.ts';
import { type CalledLoaded, LOAD, OPEN, type OpenAnswer } from '../../bindings/loader/wire.ts';
import { ServiceId } from '../../quotas/service-calls.ts';
import { currentInvocation } from '../events/invocation.ts';
import { promiseThen, TypeErrorCtor } from '../primordials.ts';
import { callMethod, failureOf } from '../rpc/calls.ts';
import { markService } from '../rpc/passed-services.ts';
import { createBindingStub } from '../rpc/stubs.ts';
import { requireHandler } from '../scope.ts';
import {
  type Callback,
  defineInterface,
  invoke,
  isCallable,
  isObject,
  requireArguments,
  toUSVString,
} from '../web/base/idl.ts';
import { fetchFrom, fetchWhen } from '../web/fetch/fetch.ts';
import type { Blob } from '../web/file/blob.ts';
import type { ReadableStream } from '../web/streams/streams.ts';
import { propsText } from './props-text.ts';
import { type EncodedCode, encodeCode, encodeLimits, notSupported } from './worker-code.ts';

type Platform = ClientPlatform<ReadableStream, Blob>;

let token: { readonly binding: string; readonly platform: Platform } | { readonly code: LoadedCode } | undefined;

export class WorkerLoader {
  readonly #binding: string;
  readonly #platform: Platform;

  constructor() {
    if (token === undefined || !('binding' in token)) throw new TypeErrorCtor('Illegal constructor');
    this.#binding = token.binding;
    this.#platform = token.platform;
    token = undefined;
  }

  /** The code that was loaded under the id. `getCode` is called when no isolate has it: it returns the code, or a promise of it. */
  get(id: unknown, getCode: unknown): WorkerStub {
    requireArguments(arguments.length, 2, 'get');
    const what = `${this.#binding}.get()`;
    requireHandler(what);
    if (!isCallable(getCode)) throw new TypeErrorCtor(`The second argument of ${what} is no function`);
    const name = id === null || id === undefined ? null : toUSVString(id);
    return createStub(
      new LoadedCode(this.#platform, this.#binding, name, async () => encodeCode(await callback(getCode), what)),
    );
  }

  /** Code for this invocation alone. */
  load(code: unknown): WorkerStub {
    requireArguments(arguments.length, 1, 'load');
    const what = `${this.#binding}.load()`;
    requireHandler(what);
    const encoded = encodeCode(code, what);
    return createStub(new LoadedCode(this.#platform, this.#binding, null, async () => encoded));
  }
}

function callback(getCode: Callback): unknown {
  return invoke(getCode, undefined, []);
}

export function createLoader(platform: Platform, binding: string): WorkerLoader {
  token = { platform, binding };
  const loader = new WorkerLoader();
  markService(loader, { b: binding });
  return loader;
}

export class WorkerStub {
  readonly #code: LoadedCode;

  constructor() {
    if (token === undefined || !('code' in token)) throw new TypeErrorCtor('Illegal constructor');
    this.#code = token.code;
    token = undefined;
  }

  getEntrypoint(name: unknown = undefined, options: unknown = undefined): object {
    const entrypoint = name === undefined || name === null ? '' : toUSVString(name);
    const what = 'getEntrypoint()';
    const props = propsText(options, what);
    const { limits } = isObject(options) ? (options as { readonly limits?: unknown }) : NO_OPTIONS; // read as unknown and checked
    const { cpuMs = null, subRequests = null } = limits === undefined ? {} : encodeLimits(limits, what);
    return entrypointOf(this.#code, number => [number, entrypoint, props, cpuMs, subRequests]);
  }

  getDurableObjectClass(): never {
    throw notSupported('getDurableObjectClass(): call a stateful object of the function that loads the code');
  }
}

const NO_OPTIONS: { readonly limits?: unknown } = {};

defineInterface(WorkerLoader);
defineInterface(WorkerStub);

function createStub(code: LoadedCode): WorkerStub {
  token = { code };
  return new WorkerStub();
}

/** Code that is loaded when it is first called in an invocation. */
class LoadedCode {
  readonly binding: string;
  readonly #platform: Platform;
  readonly #id: string | null;
  readonly #encode: () => Promise<EncodedCode>;
  /** The invocation that has opened it, and its number there. */
  #openedBy: number | undefined;
  #number: number | undefined;
  #opening: Promise<number> | undefined;

  constructor(platform: Platform, binding: string, id: string | null, encode: () => Promise<EncodedCode>) {
    this.#platform = platform;
    this.binding = binding;
    this.#id = id;
    this.#encode = encode;
  }

  /** Its number in the current invocation; undefined before it is loaded. */
  get number(): number | undefined {
    return this.#openedBy === currentInvocation()?.id ? this.#number : undefined;
  }

  open(): Promise<number> {
    const invocation = currentInvocation()?.id;
    if (this.#opening === undefined || this.#openedBy !== invocation) {
      this.#openedBy = invocation;
      this.#number = undefined;
      this.#opening = this.#open(invocation);
    }
    return this.#opening;
  }

  async #open(invocation: number | undefined): Promise<number> {
    const number = (await this.#openById()) ?? (await this.#load());
    if (this.#openedBy === invocation) this.#number = number;
    return number;
  }

  async #openById(): Promise<number | null> {
    if (this.#id === null) return null;
    const { head } = await this.#platform.call(OPEN, { id: this.#id }, null);
    return (head as OpenAnswer).w; // the host's
  }

  async #load(): Promise<number> {
    const { args, body } = await this.#encode();
    const { head } = await this.#platform.call(LOAD, { id: this.#id, ...args }, body);
    const number = (head as OpenAnswer).w; // the host's
    if (number === null) throw new TypeErrorCtor('The code was not loaded');
    return number;
  }
}

function entrypointOf(code: LoadedCode, placeOf: (number: number) => CalledLoaded): object {
  const { binding } = code;
  const fetch = (input: unknown, init: unknown = undefined): Promise<unknown> => {
    const { number } = code;
    return number === undefined
      ? fetchWhen(ServiceId.Loader, binding, failureOf, input, init, () => promiseThen(code.open(), placeOf))
      : fetchFrom(ServiceId.Loader, binding, failureOf, input, init, placeOf(number));
  };
  const connect = (): never => {
    throw new TypeErrorCtor('connect() of loaded code is not supported: call fetch() or a method');
  };
  const own: { readonly [name: string]: unknown } = { __proto__: null, [FETCH]: fetch, connect } as never; // without inherited names
  const stub = createBindingStub(
    (path, args) => {
      const { number } = code;
      const send = (place: CalledLoaded) => callMethod(ServiceId.Loader, binding, path, args, { object: place });
      if (number !== undefined) return send(placeOf(number));
      const result = promiseThen(code.open(), opened => send(placeOf(opened)).result);
      return { result, onward: () => undefined };
    },
    name => (name in own ? { value: own[name] } : undefined),
  );
  markService(stub, 'bound');
  return stub;
}
