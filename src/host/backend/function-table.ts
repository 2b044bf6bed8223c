/** The functions of this application that the backend process answers calls of. Each new backend process has all of them registered. */

import type { BindingErrors } from '../../backend/wire/errors.js';
import { forward } from '../../backend/wire/forwarded-call.js';
import { ApplicationOpens, ApplicationSignal } from '../../backend/wire/messages.js';
import { packValue } from '../../backend/wire/packets.js';
import type { Channel } from '../../protocol/channel.js';
import { type ControlConnection, lostError } from './control-connection.js';
import { type FunctionLine, RemoteFunction, type RemoteFunctionParts } from './remote-function.js';

export class FunctionTable {
  readonly #control: ControlConnection;
  readonly #errors: BindingErrors;
  readonly #functions = new Map<number, RemoteFunction>();
  /** Settle when this backend process knows the function, for functions that are older than the process. */
  readonly #registered = new Map<number, Promise<void>>();
  #next = 1;

  /** @param errors restores the errors of bindings */
  constructor(control: ControlConnection, errors: BindingErrors) {
    this.#control = control;
    this.#errors = errors;
  }

  get(key: number): RemoteFunction | undefined {
    return this.#functions.get(key);
  }

  /** Registers a function. Its calls are answered when `ready` of the answer has resolved. */
  bind(
    record: Omit<RemoteFunction['record'], 'key'>,
    parts: RemoteFunctionParts,
    line: Omit<FunctionLine, 'forget'>,
  ): RemoteFunction {
    const key = this.#next++;
    const forget = (): void => this.#forget(key);
    return new RemoteFunction({ ...record, key }, parts, { ...line, forget }, async fn => {
      const channel = await this.#control.channel();
      this.#functions.set(key, fn);
      await register(channel, fn, this.#errors);
    });
  }

  /** Resolves when the current backend process knows the function. Rejects when it is forgotten. */
  async known(key: number): Promise<void> {
    if (!this.#functions.has(key)) throw lostError();
    await this.#registered.get(key);
  }

  /** A new backend process is there, and knows no function. */
  registerAll(channel: Channel): void {
    this.#registered.clear();
    for (const [key, fn] of this.#functions) {
      const registered = register(channel, fn, this.#errors);
      registered.catch(() => {});
      this.#registered.set(key, registered);
    }
  }

  #forget(key: number): void {
    this.#functions.delete(key);
    this.#registered.delete(key);
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(key);
    this.#control.current?.signal(0, ApplicationSignal.Forget, payload);
  }
}

/** Resolves when the bindings of the function can be used. */
async function register(channel: Channel, fn: RemoteFunction, errors: BindingErrors): Promise<void> {
  const { head, body } = packValue(fn.record);
  await forward(channel, ApplicationOpens.Function, head, body, undefined, errors);
}
