/** The request of an event, made from the head that the host sends. */
import { BODY_NONE, BODY_STREAM } from '../../isolate/ops/table.ts';
import { HostBody } from '../host-body.ts';
import { stringCharCodeAt, stringIndexOf, stringSlice } from '../primordials.ts';
import { Body } from '../web/fetch/body.ts';
import { asksForWebSocket } from '../web/fetch/fetch.ts';
import { declaredLength } from '../web/fetch/header-list.ts';
import { createRequest, type Request, RequestState } from '../web/fetch/request.ts';
import type { GuestInvocation } from './invocation.ts';

const LINE_FEED = 10;
/** Before the facts of `cf`: props begin with a brace or the name of an entrypoint. */
const AT_SIGN = 64;

function indexOfLineEnd(text: string, from: number): number {
  const at = stringIndexOf(text, '\n', from);
  return at < 0 ? text.length : at;
}

/** The request of an event, whose head may have props, and the entrypoint that it is for. */
export function requestOf(invocation: GuestInvocation, head: string, bodySize: number): Request {
  const { id } = invocation;
  const state = new RequestState();
  invocation.request = state;
  state.invocation = id;
  const methodEnd = stringIndexOf(head, '\n');
  const urlEnd = stringIndexOf(head, '\n', methodEnd + 1);
  state.cfText = '';
  state.method = stringSlice(head, 0, methodEnd);
  if (urlEnd < 0) state.url = stringSlice(head, methodEnd + 1);
  else {
    state.url = stringSlice(head, methodEnd + 1, urlEnd);
    let end = urlEnd;
    // Pairs without a name, which no client can send: the props of the event, and the application's facts about the request.
    while (stringCharCodeAt(head, end + 1) === LINE_FEED) {
      const start = end + 2;
      end = indexOfLineEnd(head, start);
      if (stringCharCodeAt(head, start) === AT_SIGN) state.cfText = stringSlice(head, start + 1, end);
      else takeProps(invocation, stringSlice(head, start, end));
    }
    if (end < head.length) {
      state.headText = stringSlice(head, end + 1);
      state.clientText = state.headText;
    }
  }
  state.redirect = 'manual';
  state.isImmutable = true;
  // A GET has no body: what follows it are the messages of a socket, once there is one.
  if (bodySize === BODY_STREAM && asksForWebSocket(state)) invocation.isUpgrade = true;
  else if (bodySize !== BODY_NONE) {
    const body = new HostBody(id, bodySize);
    if (bodySize === BODY_STREAM) body.expectedSize = declaredLength(state.headerPairs());
    state.body = new Body(body);
  }
  return createRequest(state);
}

/** The props of an event; before their brace may stand the name of the entrypoint that it is for. */
function takeProps(invocation: GuestInvocation, text: string): void {
  const at = stringIndexOf(text, '{');
  invocation.propsText = stringSlice(text, at);
  if (at > 0) invocation.entrypoint = stringSlice(text, 0, at);
}
