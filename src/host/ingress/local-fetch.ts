/**
 * A function fetches a custom domain that another function of this host serves: the request goes through the router, not through the network, and is treated as
 * any HTTP client's. It has the same limits and admission; a failure is an error page and no error of the caller's.
 */
import { STATUS_CODES } from 'node:http';
import { answerOf } from '../../bindings/egress/outbound-transport.js';
import type { HopAnswer, HopRequest } from '../../bindings/egress/transport.js';
import type { CallOrigin, FetchChain } from '../../bindings/service.js';
import { EdgeError, errorCode, isEdgeErrorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { RouteMode } from '../../quotas/requests/admission.js';
import { errorPage } from '../../quotas/requests/error-pages.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import { BufferedResponse } from './buffered-response.js';
import { fetchThrough } from './fetch-adapter.js';
import { headOfRaw, pairsOf } from './http-head.js';

/** Functions that fetch each other, one inside the other. */
const MAX_DEPTH = 16;
/** Invocations that one fetch may begin in all. */
const MAX_INVOCATIONS = 100;

/** The fetch is one more of those that have led to it. @throws EdgeError EDGE_LOOP */
export function nextChain(origin: CallOrigin | undefined): FetchChain {
  const { depth = 0, total = { count: 0 } } = origin?.chain ?? {};
  if (depth < MAX_DEPTH && total.count < MAX_INVOCATIONS) {
    total.count++;
    return { depth: depth + 1, total };
  }
  throw new EdgeError(
    'EDGE_LOOP',
    `Cannot fetch: functions of this host have fetched each other ${depth} times one inside the other, and ${total.count} times in all; at most ${MAX_DEPTH} and ${MAX_INVOCATIONS} are allowed`,
  );
}

export async function localFetch(
  { target, mode }: { readonly target: FunctionRunner; readonly mode: RouteMode },
  { method, url, headers, body, signal, work }: HopRequest,
  chain: FetchChain,
): Promise<HopAnswer> {
  const all = ['host', url.host, ...headers];
  const input = {
    method,
    url: url.href,
    headers: pairsOf(all),
    head: headOfRaw(method, url.href, all),
    body: body === null ? null : ReadableStream.from<Uint8Array>(body instanceof Uint8Array ? [body] : body),
    signal,
    source: undefined,
    chain,
  };
  let response: Response;
  try {
    response = await fetchThrough(target, input, mode);
  } catch (error) {
    signal.throwIfAborted();
    response = pageOf(error, all);
  }
  if (method === 'HEAD' && response.body !== null) {
    await response.body.cancel();
    response = new Response(null, response);
  }
  // A response that a function has encoded is decoded for the caller, as if it had come over the network.
  const heldBytes = response instanceof BufferedResponse ? response.heldBytes : 0;
  const answer = answerOf(response, signal, true);
  // It is the caller's from here on: the function that has answered is done with it.
  if (heldBytes > 0 && answer.body !== null) {
    work.countBytes(heldBytes);
    answer.body.once(
      'close',
      guarded(() => work.countBytes(-heldBytes)),
    );
  }
  return answer;
}

/** The answer that a caller over the network would get. */
export function errorAnswer(error: unknown, headers: readonly string[], signal: AbortSignal): HopAnswer {
  return answerOf(pageOf(error, headers), signal, true);
}

function pageOf(error: unknown, headers: readonly string[]): Response {
  const code = errorCode(error) ?? '';
  const accept = pairsOf(headers).find(([name]) => name === 'accept')?.[1];
  const page = errorPage({ code: isEdgeErrorCode(code) ? code : 'EDGE_INTERNAL', accept });
  const statusText = STATUS_CODES[page.status] ?? '';
  return new Response(page.body, { status: page.status, statusText, headers: pairsOf(page.headers) });
}
