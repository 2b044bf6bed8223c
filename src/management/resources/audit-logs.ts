/** The log of changes of an account, the newest first. */

import type { Context } from '../context.js';
import type { Reply } from '../http/envelope.js';

export async function listAuditLogs(context: Context): Promise<Reply> {
  const { per_page: limit, cursor } = context.query;
  const { entries, info } = await context.services.audit.list(context.account, limit, cursor);
  return { result: entries, resultInfo: info };
}
