/** The error of a request that was not admitted. */
import { type RouteMode, refusalError, type Verdict } from '../quotas/admission.js';
import { EdgeError } from '../quotas/errors.js';
import type { InvocationContext } from './invocation.js';

export function verdictError(
  context: InvocationContext,
  mode: RouteMode,
  verdict: Exclude<Verdict, { kind: 'admit' }>,
): EdgeError {
  const { account, limits } = context;
  if (verdict.kind === 'refuse') return refusalError(verdict, { account, limits, mode });
  return new EdgeError(
    'EDGE_NO_ROUTE',
    `Function "${context.function}" is bypassed: account "${account}" has used up its requests of the day, and the route is fail open`,
  );
}
