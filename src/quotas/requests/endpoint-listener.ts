/** The listener for node:http of an endpoint of the host's own: the management API and S3. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { guarded } from '../guarded.js';
import { followsAmbiguousFraming } from './ambiguous-framing.js';
import { cutOff, refuseRest } from './both-protocols.js';
import { closeWithConnection } from './pipelined-responses.js';

export type EndpointListener = (request: IncomingMessage, response: ServerResponse) => void;

/** @param serve its rejection cuts the response off: the status is sent, or the client is gone */
export function endpointListener(
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): EndpointListener {
  return (request, response) => {
    if (followsAmbiguousFraming(request, response)) return;
    closeWithConnection(request, response);
    serve(request, response).catch(() => cutOff(response));
  };
}

/** The target as the client sent it: routers such as express cut the mount path off `url`, and keep the original in `originalUrl`. */
export function targetOf(request: IncomingMessage): string {
  const original = 'originalUrl' in request ? request.originalUrl : undefined;
  return typeof original === 'string' ? original : (request.url ?? '/');
}

/** Reads the rest of a body away; a rest of more than `maxBytes` is refused. */
export function readAway(request: IncomingMessage, maxBytes: number): void {
  let bytes = 0;
  request.on(
    'data',
    guarded((chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) refuseRest(request);
    }),
  );
}
