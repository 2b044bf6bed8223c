/** The error of a request that was not admitted. */

import { EdgeError } from '../../../quotas/errors.js';
import { type AdmissionDecision, type RouteMode, refusalError } from '../../../quotas/requests/admission.js';
import type { InvocationContext } from '../invocation-context.js';

/** Counts a request of the function. @throws EdgeError the refusal */
export async function checkAdmission(context: InvocationContext, mode: RouteMode): Promise<void> {
  const decision = await context.admit(mode, undefined);
  if (decision.kind !== 'admit') throw refusalOf(context, mode, decision);
}

export function refusalOf(
  context: InvocationContext,
  mode: RouteMode,
  decision: Exclude<AdmissionDecision, { kind: 'admit' }>,
): EdgeError {
  const { account, limits } = context;
  if (decision.kind === 'refuse') return refusalError(decision, { account, limits, mode });
  return new EdgeError(
    'EDGE_NO_ROUTE',
    `Function "${context.function}" is bypassed: account "${account}" has used up its requests of the day, and the route is fail open`,
  );
}
