/** Reports refused requests to the owner of a host, with what would allow them: few enough that a function cannot flood the owner with reports. */
import type { CallOrigin } from '../../service.js';
import type { EgressHost } from './egress-rules.js';
import type { Destination } from './host-entry.js';

/** A refused request or socket, as it crosses from the backend process. */
export interface EgressRefusal extends Destination {
  readonly reason: 'host' | 'secret' | 'address';
  /** The text of the error that the function gets. */
  readonly message: string;
  /** A sentence without its full stop. */
  readonly remedy: string;
  readonly entry?: EgressHost;
  readonly secret?: string;
}

/** @param unreported refusals since the last report that had none of their own */
export type RefusalListener = (refusal: EgressRefusal, unreported: number, origin: CallOrigin | undefined) => void;

const WINDOW_MS = 60_000;
const REPORTS_PER_WINDOW = 20;

/** One report a minute for each kind of refusal, and few kinds: the others are counted. */
export class RefusalReports {
  readonly #listener: RefusalListener;
  readonly #reported = new Set<string>();
  #windowEndMs = 0;
  #unreported = 0;

  constructor(listener: RefusalListener) {
    this.#listener = listener;
  }

  add(refusal: EgressRefusal, origin: CallOrigin | undefined): void {
    const now = performance.now();
    if (now >= this.#windowEndMs) {
      this.#reported.clear();
      this.#windowEndMs = now + WINDOW_MS;
    }
    const { reason, protocol, host, port, method, secret } = refusal;
    const key = `${reason} ${protocol} ${host} ${port} ${method} ${secret}`;
    if (this.#reported.has(key) || this.#reported.size >= REPORTS_PER_WINDOW) {
      this.#unreported++;
      return;
    }
    this.#reported.add(key);
    const unreported = this.#unreported;
    this.#unreported = 0;
    this.#listener(refusal, unreported, origin);
  }
}
