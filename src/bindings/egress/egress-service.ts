/** Outgoing fetch as the isolate channel calls it: method `fetch`, a request head as the arguments. */

import { EdgeError } from '../../quotas/errors.js';
import type { FunctionContext } from '../binding.js';
import type { Service } from '../service.js';
import type { Egress, EgressResponse } from './egress.js';

/** The head of the reply to `fetch`. */
export type EgressReplyHead = Omit<EgressResponse, 'body'>;

/** Outgoing fetch for the invocations of one function. */
export function egressService(
  egress: Egress,
  context: Pick<FunctionContext, 'account' | 'function' | 'checkUrl' | 'localOf' | 'egress'>,
): Service {
  const { account, function: name, checkUrl, egress: policy } = context;
  return async ({ method, args, body, signal, work, traceHeaders, origin }) => {
    if (method !== 'fetch')
      throw new EdgeError('EDGE_NOT_SUPPORTED', `Cannot call ${method}: outgoing fetch has no such method`);
    const onHop = (url: URL, hop: number): Promise<void> | undefined => {
      checkUrl(url);
      // The first hop was counted with the call.
      return hop > 0 ? work.countRedirect(hop) : undefined;
    };
    const localOf = (url: URL) => context.localOf?.(url, origin);
    const request = {
      account,
      function: name,
      head: args,
      body,
      signal,
      work,
      onHop,
      traceHeaders,
      localOf,
      policy,
      origin,
    };
    const { body: answer, ...head } = await egress.fetch(request);
    return { head: head satisfies EgressReplyHead, body: answer };
  };
}
