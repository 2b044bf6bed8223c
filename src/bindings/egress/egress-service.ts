/** Outgoing fetch as the isolate channel calls it: method `fetch`, a request head as the arguments. */

import { EdgeError } from '../../quotas/errors.js';
import type { Service } from '../service.js';
import type { Egress, EgressRequest, EgressResponse } from './egress.js';

/** The head of the reply to `fetch`. */
export type EgressReplyHead = Omit<EgressResponse, 'body'>;

/** Outgoing fetch for the invocations of one function. */
export function egressService(egress: Egress, context: Pick<EgressRequest, 'account' | 'function' | 'onHop'>): Service {
  return async ({ method, args, body, signal, work }) => {
    if (method !== 'fetch')
      throw new EdgeError('EDGE_NOT_SUPPORTED', `Cannot call ${method}: outgoing fetch has no such method`);
    const { body: answer, ...head } = await egress.fetch({ ...context, head: args, body, signal, work });
    return { head: head satisfies EgressReplyHead, body: answer };
  };
}
