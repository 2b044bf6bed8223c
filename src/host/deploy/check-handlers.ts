import { EdgeError } from '../../quotas/errors.js';

/**
 * Cron triggers start the handler `scheduled`: without it each of them would only be a failed invocation.
 *
 * @throws EdgeError EDGE_SCRIPT_NO_HANDLER
 */
export function checkHandlers(act: string, handlers: readonly string[], crons: readonly string[]): void {
  if (crons.length === 0 || handlers.includes('scheduled')) return;
  const has = handlers.length === 0 ? 'no handler' : `the handlers ${handlers.join(', ')}`;
  throw new EdgeError(
    'EDGE_SCRIPT_NO_HANDLER',
    `Cannot ${act}: the cron triggers ${crons.map(cron => JSON.stringify(cron)).join(', ')} need the handler scheduled, the script has ${has}`,
  );
}
