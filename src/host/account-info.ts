/** How a host lists an account. */
import type { Plan, ZonePlan } from '../quotas/limits.js';

/** An account of a host, as `host.accounts()` lists it. */
export interface AccountInfo {
  readonly id: string;
  readonly plan: Plan;
  readonly zonePlan: ZonePlan;
  /** The names of the functions that are loaded. */
  readonly functions: readonly string[];
  /** The host names that its functions may answer; undefined: any that no other account has. */
  readonly zones: readonly string[] | undefined;
}
