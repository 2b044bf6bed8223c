/** Deprecated families whose payloads the specification does not show: the owner of the host answers, the schedule wraps it. */

import { A_RESPONSE, isResponse } from '../../bindings/bodies/foreign-response.js';
import { askOption } from '../../quotas/option-functions.js';
import type { Context } from '../context.js';
import type { FamilyId } from '../deprecations/deprecations.js';
import { readBytes } from '../http/body.js';
import { ApiError } from '../http/envelope.js';
import { fillPath } from '../http/path-table.js';

/** @throws ApiError NOT_MOUNTED */
export async function answerFamily(context: Context, family: FamilyId, route: string): Promise<Response> {
  const handler = context.services.families[family];
  if (handler === undefined) {
    throw new ApiError(
      'NOT_MOUNTED',
      `This host does not serve the routes of ${family}: its owner mounts a handler in families[${JSON.stringify(family)}]`,
    );
  }
  const { request, params } = context;
  const url = new URL(request.url);
  url.pathname = fillPath(route, params);
  const headers = new Headers(request.headers);
  headers.delete('authorization');
  const body = await readBytes(request, context.services.limits.bodyBytes, context.services.limits.bodyMs);
  const forwarded = new Request(url, {
    method: request.method,
    headers,
    signal: request.signal,
    ...(body.byteLength > 0 ? { body } : {}),
  });
  const { account, zone, principal, at } = context;
  const given = {
    account,
    zone: zone === null ? null : { id: zone.id, name: zone.name },
    route,
    params,
    tokenName: principal.tokenName,
    date: new Date(at),
  };
  const option = `families[${JSON.stringify(family)}] of management()`;
  const response = await askOption(option, () => handler(forwarded, given), A_RESPONSE, isResponse);
  if (request.method !== 'GET' && request.method !== 'HEAD' && response.ok) await context.commit([]);
  return response;
}
