/**
 * The network of runs. The application's process makes their requests with every `backend`, as it answers their tools: a thread of runs
 * has no connection to the backend process.
 */
import type { FunctionServices, ServiceEntry } from '../../backend/calls/answer-call.js';
import { HostBindings } from '../../backend/host-bindings.js';
import type { BindingHost } from '../../bindings/binding.js';
import { egressBinding } from '../../bindings/egress/egress-binding.js';
import { socketBinding } from '../../bindings/socket/socket-binding.js';
import { webSocketBinding } from '../../bindings/websocket/websocket-binding.js';

const ROWS = [egressBinding, socketBinding, webSocketBinding];
const IDS: ReadonlySet<number> = new Set(ROWS.map(({ id }) => id));

export class RunNetwork {
  readonly #bindings: HostBindings;
  readonly #host: BindingHost;
  /** The rows of the network that are answered elsewhere for functions. */
  #own: HostBindings | undefined;

  /** @param bindings the bindings of functions: runs share their sockets where this process answers them */
  constructor(bindings: HostBindings, host: BindingHost) {
    this.#bindings = bindings;
    this.#host = host;
  }

  /** The services of `fetch()`, `connect()` and WebSockets. */
  services(context: Parameters<HostBindings['services']>[0]): FunctionServices {
    const entries: [number, ServiceEntry][] = [...this.#place.services(context, [])];
    return new Map(entries.filter(([id]) => IDS.has(id)));
  }

  endAccount(account: string): void {
    this.#own?.endAccount(account);
  }

  async close(): Promise<void> {
    await this.#own?.close();
  }

  get #place(): HostBindings {
    const { registry, isHere } = this.#bindings;
    if (ROWS.every(isHere)) return this.#bindings;
    this.#own ??= new HostBindings(registry, this.#host, { isHere: ({ id }) => IDS.has(id) });
    return this.#own;
  }
}
