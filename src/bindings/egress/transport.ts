/** How one hop of an outgoing request gets its answer: over the network, or from the application's own handler. */

import type { Readable } from 'node:stream';

import type { CallWork } from '../../quotas/host/call-work.js';
import type { ServiceBody } from '../service.js';

/** One request as it is sent: no redirects, and no policy but the address policy. */
export interface HopRequest {
  /** The tenant: sockets are not shared between accounts. */
  readonly account: string;
  readonly function: string;
  readonly method: string;
  readonly url: URL;
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
  readonly body: ServiceBody | null;
  /** The length of a streamed body, when the function gave it. */
  readonly contentLength: number | undefined;
  /** Ends the request and, later, the body of the answer. */
  readonly signal: AbortSignal;
  /** Counts the sockets that are opened. */
  readonly work: CallWork;
}

export interface HopAnswer {
  readonly status: number;
  readonly statusText: string;
  /** Names and values in turn, as received. Values are bytes as characters. */
  readonly headers: readonly string[];
  /** With its content codings on, when it came over the network. */
  readonly body: Readable | null;
  /** Whether content codings are still to be taken off the body. */
  readonly isEncoded: boolean;
}

/** Answers a hop without the network: a function of the same host does. Undefined when none does after all. */
export type LocalSend = (request: HopRequest) => Promise<HopAnswer | undefined>;

export interface EgressTransport {
  send(request: HopRequest): Promise<HopAnswer>;
  /** Ends every socket. Requests in flight fail. */
  close(): Promise<void>;
}
