/** Asks the application for its own answers: to calls of rows that it answers itself, and to fetches of host names of its functions. */
import { Readable } from 'node:stream';
import type { RefusalListener } from '../../bindings/egress/rules/refusals.js';
import type { HopAnswer, HopRequest, LocalSend } from '../../bindings/egress/transport.js';
import type { CallOrigin, Service } from '../../bindings/service.js';
import type { Channel } from '../../protocol/channel.js';
import type { BindingErrors } from '../wire/errors.js';
import { forward } from '../wire/forwarded-call.js';
import { parseHopAnswer } from '../wire/local-hop.js';
import type { ToldRefusal } from '../wire/message-contents.js';
import { BackendOpens, BackendSignal } from '../wire/messages.js';
import { ServedNames } from '../wire/served-names.js';
import { RemoteOrigin } from './cells/bound-function.js';

export class ApplicationAnswers {
  readonly #channel: Channel;
  readonly #errors: BindingErrors;
  /** The host names of the application's functions. */
  readonly names = new ServedNames();

  /** @param errors restores the errors of bindings */
  constructor(channel: Channel, errors: BindingErrors) {
    this.#channel = channel;
    this.#errors = errors;
  }

  /** The service of a binding that the application answers. */
  service(id: number, binding: string): Service {
    return async ({ method, args, body, signal, origin, traceHeaders = [] }) => {
      if (!(origin instanceof RemoteOrigin)) throw new Error('A call has no invocation');
      const { function: key, connection, id: invocation } = origin;
      const fields = [
        key,
        connection,
        invocation,
        id,
        method,
        binding,
        JSON.stringify(traceHeaders),
        JSON.stringify(args),
      ];
      const answer = await forward(this.#channel, BackendOpens.Call, fields.join('\n'), body, signal, this.#errors);
      const reply = { head: JSON.parse(answer.head), body: answer.body ?? null };
      return answer.status === 101 ? { ...reply, isOpen: true } : reply;
    };
  }

  /** Tells the application what the policy of a function refuses. */
  refusals(key: number): RefusalListener {
    return (refusal, unreported, origin) => {
      const { connection, id } = origin instanceof RemoteOrigin ? origin : { connection: 0, id: 0 };
      const told: ToldRefusal = { function: key, connection, id, refusal, unreported };
      this.#channel.signal(0, BackendSignal.Refused, JSON.stringify(told));
    };
  }

  /** Undefined when no function of the application can have the host name of the URL. */
  localOf(url: URL, origin: CallOrigin | undefined): LocalSend | undefined {
    if (!(origin instanceof RemoteOrigin) || !this.names.mayHave(url)) return undefined;
    return request => this.#sendLocal(request, origin);
  }

  async #sendLocal(
    request: HopRequest,
    { function: key, connection, id }: RemoteOrigin,
  ): Promise<HopAnswer | undefined> {
    const { method, url, headers, contentLength, body, signal } = request;
    const head = { key, connection, id, method, url: url.href, headers, contentLength };
    // Before its body, which the network may have to get.
    const route = await forward(this.#channel, BackendOpens.Route, JSON.stringify(head), null, signal);
    if (route.head === '') return undefined;
    const answer = await forward(this.#channel, BackendOpens.Local, JSON.stringify(head), body, signal);
    const hop = parseHopAnswer(answer.head);
    const content = answer.body instanceof Uint8Array ? [answer.body] : answer.body;
    return { ...hop, body: content === undefined ? null : Readable.from(content, { objectMode: false }) };
  }
}
