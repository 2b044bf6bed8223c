/** The application's calls of the backend process, over whichever connection is the current one. */

import { REGISTRY } from '../../bindings/registry.js';
import type { Channel } from '../../protocol/channel.js';
import { errorCode } from '../../quotas/errors.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import { type CallArguments, type CallName, type CallResult, ReplyStatus, SAFE_CALLS } from '../wire/calls.js';
import type { BindingErrors } from '../wire/errors.js';
import { ApplicationOpens } from '../wire/messages.js';
import { allBytes, type CallReply, OutgoingCall } from '../wire/outgoing-call.js';
import { packHead, packValue, unpackValue } from '../wire/packets.js';

export class RemoteLink {
  readonly #connection: () => Promise<Channel>;
  #channel: Channel | undefined;
  /** The rows of the bindings whose errors the answers have. */
  readonly errors: BindingErrors;

  /**
   * @param connection resolves with the current connection, and after it was lost with the next one
   * @param errors @default the bindings of the package
   */
  constructor(connection: () => Promise<Channel>, errors: BindingErrors = REGISTRY) {
    this.#connection = connection;
    this.errors = errors;
  }

  /** The connection, when it is known and open. */
  get openChannel(): Channel | undefined {
    return this.#channel === undefined || this.#channel.isClosed ? undefined : this.#channel;
  }

  async channel(): Promise<Channel> {
    if (this.openChannel === undefined) this.#channel = await this.#connection();
    return this.openChannel ?? this.#connection();
  }

  /**
   * Rejects with the error of the call, as an instance of its class here, or with EDGE_SERVICES_LOST. A call that changes nothing is made once more
   * when the connection was lost.
   */
  async call<Name extends CallName>(name: Name, ...args: CallArguments<Name>): Promise<CallResult<Name>> {
    const result = await this.callValue(SAFE_CALLS.has(name), [name, ...args]);
    return result as CallResult<Name>; // the other end is of the same version, and its table has this type
  }

  /** As `call`, for a value that begins with the name of a call. */
  callValue(isSafe: boolean, value: readonly [name: string, ...args: unknown[]]): Promise<unknown> {
    const { head, body } = packValue(value);
    return this.retried(isSafe, async channel => this.resultOf(await this.begin(channel, head, body).reply));
  }

  /** A call whose result is of no interest. It begins before every call that is made on this connection later. @throws TypeError for long arguments */
  send<Name extends CallName>(channel: Channel, name: Name, ...args: CallArguments<Name>): void {
    this.begin(channel, packHead([name, ...args]), null).reply.catch(() => {});
  }

  /** @param body one that is not bytes is to be sent by `sendBody` */
  begin(channel: Channel, head: string, body: Uint8Array | 'stream' | null): OutgoingCall {
    return new OutgoingCall(channel, head, body, ApplicationOpens.Remote, this.errors);
  }

  /** The result of a call that has no body beside it, or of one that has with its body left to the caller. */
  async resultOf({ status, head, body }: CallReply): Promise<unknown> {
    const bytes = status === ReplyStatus.ResultWithBody ? NO_BYTES : await allBytes(body);
    const value = unpackValue(head, bytes, this.errors);
    if (status === ReplyStatus.Error) throw value;
    return value;
  }

  /** Runs `task` with the connection, and once more with the next one when that one was lost and the call is safe. */
  async retried<Result>(isSafe: boolean, task: (channel: Channel) => Promise<Result>): Promise<Result> {
    const channel = await this.channel();
    try {
      return await task(channel);
    } catch (error) {
      if (!isLost(error) || !isSafe) throw error;
    }
    return task(await this.channel());
  }
}

export function isLost(error: unknown): boolean {
  return errorCode(error) === 'EDGE_SERVICES_LOST';
}
