/** The API about itself: its document, its schedule, the token that asks. */

import { type Context, param } from '../context.js';
import { isFinished, type ScheduledRow } from '../deprecations/deprecation-timeline.js';
import { ApiError, type Reply } from '../http/envelope.js';

export async function getDocument(context: Context): Promise<Reply> {
  return { result: null, raw: context.services.openapi(context.at) };
}

export async function listDeprecations(context: Context): Promise<Reply> {
  return { result: context.services.schedule.rows.map(row => shown(row, context.at)) };
}

export async function getDeprecation(context: Context): Promise<Reply> {
  const id = param(context, 'deprecation_id');
  const row = context.services.schedule.find(id);
  if (row === undefined) throw new ApiError('NOT_FOUND', `The schedule has no row ${JSON.stringify(id)}`);
  return { result: shown(row, context.at) };
}

export async function verifyToken(context: Context): Promise<Reply> {
  const { tokenId, tokenName, account, permissions, expiresOn } = context.principal;
  const expires_on = expiresOn === null ? null : new Date(expiresOn).toISOString();
  return { result: { id: tokenId, name: tokenName, account, permissions: [...permissions], expires_on } };
}

function shown(row: ScheduledRow, at: number): unknown {
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
