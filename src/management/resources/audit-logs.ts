/** The log of changes of an account, the newest first. */

import { object } from '../../quotas/schema/schema.js';
import type { Context, CursorValues } from '../context.js';
import type { ListReply } from '../http/envelope.js';
import { ACCOUNT_PATH, many, type Resource, route } from '../route.js';
import { dateTime, integer, named, nullable, string } from '../schemas.js';

const AUDIT_ENTRY = named(
  'AuditEntry',
  object({
    id: string,
    when: dateTime,
    account: string,
    actor: object({ token_id: string, token_name: string, address: nullable(string) }),
    action: object({ method: string, path: string, route: string, status: integer }),
  }),
);

export const AUDIT_LOGS_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/audit_logs`, id: 'audit-log-list', access: 'audit:read', summary: 'Changes in an account, the newest first', answer: many(AUDIT_ENTRY, 'cursor') }, listAuditLogs),
  ],
};

async function listAuditLogs(context: Context<CursorValues>): Promise<ListReply<typeof AUDIT_ENTRY>> {
  const { per_page: limit, cursor } = context.query;
  const { entries, info } = await context.services.audit.list(context.account, limit, cursor);
  return { result: entries, resultInfo: info };
}
