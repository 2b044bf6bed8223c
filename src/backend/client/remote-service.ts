/** The services that the application's own clients of bindings call, in the backend process. */
import { NEVER } from '../../bindings/host-client.js';
import type { Service, ServiceCall, ServiceReply } from '../../bindings/service.js';
import type { Channel } from '../../protocol/channel.js';
import { guarded } from '../../quotas/guarded.js';
import { ReplyStatus, type ServiceAddress } from '../wire/calls.js';
import type { BindingErrors } from '../wire/errors.js';
import { allBytes, bodyOf, type CallReply } from '../wire/outgoing-call.js';
import { CALLS_AT_ONCE, MAX_SERVICE_HEAD, unpackText, unpackValue } from '../wire/packets.js';
import { sendBody } from '../wire/send-body.js';
import { isLost, type RemoteLink } from './remote-link.js';

/** How the service of a client is addressed, and which of its methods may be called twice. */
export interface RemoteServiceOptions {
  readonly address: Omit<ServiceAddress, 'limits'>;
  /** The present limits of the account: the same object as long as they are the same. */
  readonly limits: () => ServiceAddress['limits'];
  /** A call of the method changes nothing: it is retried when the connection was lost. */
  readonly isSafe: (method: string) => boolean;
  /** Called before each call, which is refused with what this throws. */
  readonly check?: () => void;
}

/** A number stands for an address on one connection, so that calls are short. */
interface Registration {
  readonly channel: Channel;
  readonly limits: ServiceAddress['limits'];
  readonly number: number;
}

export class RemoteServices {
  readonly #link: RemoteLink;
  #lastNumber = 0;
  /** Numbers of services whose clients are gone are free. */
  readonly #unused = new FinalizationRegistry<() => void>(close => close());

  constructor(link: RemoteLink) {
    this.#link = link;
  }

  of(options: RemoteServiceOptions): Service {
    const state: { registration: Registration | undefined } = { registration: undefined };
    const service: Service = async call => {
      options.check?.();
      const channel = this.#link.openChannel ?? (await this.#link.channel());
      try {
        return await this.#call(channel, this.#numberOf(channel, state, options), call);
      } catch (error) {
        if (!isLost(error) || !options.isSafe(call.method) || bodyOf(call.body) === 'stream') throw error;
      }
      const next = await this.#link.channel();
      return this.#call(next, this.#numberOf(next, state, options), call);
    };
    this.#unused.register(service, () => this.#forget(state.registration));
    return service;
  }

  /** Calls come after the one that opens the number, over the same connection. */
  #numberOf(
    channel: Channel,
    state: { registration: Registration | undefined },
    { address, limits: limitsNow }: RemoteServiceOptions,
  ): number {
    const limits = limitsNow();
    const known = state.registration;
    if (known !== undefined && known.channel === channel && known.limits === limits) return known.number;
    this.#forget(known);
    const number = ++this.#lastNumber;
    state.registration = { channel, limits, number };
    this.#link.send(channel, 'service.open', number, { ...address, limits });
    return number;
  }

  #forget(registration: Registration | undefined): void {
    if (registration === undefined || registration.channel.isClosed) return;
    this.#link.send(registration.channel, 'service.close', registration.number);
  }

  async #call(channel: Channel, number: number, { method, args, body, signal }: ServiceCall): Promise<ServiceReply> {
    if (signal !== NEVER) signal.throwIfAborted();
    const head = JSON.stringify([number, method, args, body !== null]);
    if (head.length > MAX_SERVICE_HEAD) {
      throw new RangeError(
        `The arguments of ${method}() are ${head.length} characters of JSON; to another process they are at most ${MAX_SERVICE_HEAD}`,
      );
    }
    const call = this.#link.begin(channel, head, bodyOf(body));
    if (body !== null && !(body instanceof Uint8Array)) sendBody(channel, call, body);
    channel.flushMany(CALLS_AT_ONCE);
    if (signal === NEVER) return replyOf(await call.reply, this.#link.errors);
    const abort = guarded((): void => call.giveUp(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await replyOf(await call.reply, this.#link.errors);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }
}

function replyOf(reply: CallReply, errors: BindingErrors): ServiceReply | Promise<ServiceReply> {
  const { status, head, body } = reply;
  return status === ReplyStatus.ResultWithBody ? { head: JSON.parse(head), body } : wholeReply(reply, errors);
}

async function wholeReply({ status, head, body }: CallReply, errors: BindingErrors): Promise<ServiceReply> {
  const bytes = await allBytes(body);
  if (status === ReplyStatus.Error) throw unpackValue(head, bytes, errors);
  return { head: JSON.parse(unpackText(head, bytes)) };
}
