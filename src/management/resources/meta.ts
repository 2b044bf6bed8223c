/** The API about itself: its document, its schedule, the token that asks. */

import { list, object } from '../../quotas/schema/schema.js';
import { type Context, param } from '../context.js';
import { isFinished, type ScheduledRow } from '../deprecations/deprecation-timeline.js';
import { ApiError, type ListReply, type OneReply, type RawReply } from '../http/envelope.js';
import { many, one, type Resource, route } from '../route.js';
import { anyObject, boolean, dateTime, day, named, nullable, string, type ValueOf } from '../schemas.js';

const DEPRECATION = named(
  'Deprecation',
  object({
    id: string,
    end_of_life: day,
    sunset: dateTime,
    over: boolean,
    summary: string,
    change: anyObject,
    routes: list(object({ methods: list(string), path: string })),
    replacement: nullable(anyObject),
  }),
);
const TOKEN_VERIFIED = named(
  'TokenVerified',
  object({
    id: string,
    name: string,
    account: string,
    permissions: list(string),
    expires_on: nullable(dateTime),
  }),
);

export const META_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: '/openapi.json', id: 'openapi', access: 'public', summary: 'This API as an OpenAPI 3.1 document', answer: { kind: 'raw', mediaType: 'application/json' } }, getDocument),
    route({ method: 'GET', path: '/deprecations', id: 'deprecation-list', access: 'public', summary: 'The schedule of deprecations', answer: many(DEPRECATION, 'no') }, listDeprecations),
    route({ method: 'GET', path: '/deprecations/{deprecation_id}', id: 'deprecation-get', access: 'public', summary: 'One row of the schedule', answer: one(DEPRECATION) }, getDeprecation),
    route({ method: 'GET', path: '/user/tokens/verify', id: 'token-verify', access: 'token', summary: 'What the token of the request permits', answer: one(TOKEN_VERIFIED) }, verifyToken),
  ],
};

async function getDocument(context: Context): Promise<RawReply> {
  return { result: null, raw: context.services.openapi(context.at) };
}

async function listDeprecations(context: Context): Promise<ListReply<typeof DEPRECATION>> {
  return { result: context.services.schedule.rows.map(row => shown(row, context.at)) };
}

async function getDeprecation(context: Context): Promise<OneReply<typeof DEPRECATION>> {
  const id = param(context, 'deprecation_id');
  const row = context.services.schedule.find(id);
  if (row === undefined) throw new ApiError('NOT_FOUND', `The schedule has no row ${JSON.stringify(id)}`);
  return { result: shown(row, context.at) };
}

async function verifyToken(context: Context): Promise<OneReply<typeof TOKEN_VERIFIED>> {
  const { tokenId, tokenName, account, permissions, expiresOn } = context.principal;
  const expires_on = expiresOn === null ? null : new Date(expiresOn).toISOString();
  return { result: { id: tokenId, name: tokenName, account, permissions: [...permissions], expires_on } };
}

function shown(row: ScheduledRow, at: number): ValueOf<typeof DEPRECATION> {
  return {
    id: row.id,
    end_of_life: row.endOfLife,
    sunset: new Date(row.endsAt).toISOString(),
    over: isFinished(row, at),
    summary: row.summary,
    change: row.change,
    routes: row.routes,
    replacement: row.replacement,
  };
}
