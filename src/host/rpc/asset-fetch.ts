/** Requests of functions that static files answer: by the binding of a function's own files, and by service bindings to a function that has some. */
import { STATUS_CODES } from 'node:http';
import { cancelBody } from '../../bindings/bodies/cancel-body.js';
import type { Hop } from '../../bindings/egress/redirect.js';
import type { ServiceCall, ServiceReply } from '../../bindings/service.js';
import type { RequestLimits } from '../../quotas/requests/request-checks.js';
import type { AssetSite } from '../assets/asset-site.js';
import { AssetReader, FIRST_CHUNK_BYTES, readChunk } from '../assets/index/read-asset.js';
import { type AssetAnswer, type AssetRequest, assetRequest } from '../assets/serve/asset-answer.js';
import { pairsOf } from '../ingress/http-head.js';
import type { CalleeAnswer } from './call-sink.js';
import { serviceFetch } from './service-fetch.js';

/** `env.ASSETS.fetch()`: every path has an answer. Redirects are followed within the files. */
export function fetchAsset(site: AssetSite, limits: RequestLimits, call: ServiceCall): Promise<ServiceReply> {
  return serviceFetch(call, '', limits, (_head, body, hop) => {
    cancelBody(body);
    return assetAnswer(site, site.fetch(requestOf(hop)));
  });
}

/** Undefined where the function answers. */
export function routeToAsset(site: AssetSite, hop: Hop): Promise<CalleeAnswer> | undefined {
  const request = requestOf(hop);
  // A WebSocket is for the function.
  if (request.headers.upgrade !== undefined) return undefined;
  const answer = site.route(request);
  if (answer === undefined) return undefined;
  cancelBody(hop.body);
  return assetAnswer(site, answer);
}

function requestOf({ method, url, headers }: Hop): AssetRequest {
  return assetRequest(method, url.href, pairsOf(headers));
}

/** The same as a function would have given it. */
async function assetAnswer(site: AssetSite, { status, headers, body }: AssetAnswer): Promise<CalleeAnswer> {
  const head = [STATUS_CODES[status] ?? '', ...headers].join('\n');
  if (body === undefined) return { status, head, body: null };
  const { entry, offset, length } = body;
  if (length > FIRST_CHUNK_BYTES) return { status, head, body: new AssetReader(site.source, entry, offset, length) };
  return { status, head, body: await site.noting(readChunk(site.source, entry, offset, length)) };
}
