/** The caller of a call: an invocation of this host. */
import type { CallOrigin } from '../../bindings/service.js';
import { Peer } from '../invocation/peers.js';

/** An invocation of this host, wherever its calls are counted. */
export interface CallingOrigin extends CallOrigin {
  readonly peer: Peer;
}

export function isCallingOrigin(origin: CallOrigin | undefined): origin is CallingOrigin {
  return origin !== undefined && 'peer' in origin && origin.peer instanceof Peer;
}
