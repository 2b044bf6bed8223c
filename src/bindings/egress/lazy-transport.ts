import type { EgressTransport, HopAnswer, HopRequest } from './transport.js';

/** A transport that is made for its first hop: undici is a sixth of the time in which a host's code loads. */
export class LazyTransport implements EgressTransport {
  readonly #make: () => Promise<EgressTransport>;
  #making: Promise<EgressTransport> | undefined;
  #made: EgressTransport | undefined;

  constructor(make: () => Promise<EgressTransport>) {
    this.#make = make;
  }

  send(request: HopRequest): Promise<HopAnswer> {
    return this.#made?.send(request) ?? this.#sendFirst(request);
  }

  async close(): Promise<void> {
    // Hops that wait for the same promise began to wait before, so they are sent before and are ended here.
    const transport = await this.#making;
    await transport?.close();
  }

  async #sendFirst(request: HopRequest): Promise<HopAnswer> {
    this.#making ??= this.#make();
    this.#made = await this.#making;
    return this.#made.send(request);
  }
}
