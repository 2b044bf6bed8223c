/** A share of the host for tests in which it is not the subject: wide enough for everything. */
import { HostBudget, type HostShare, type HostShareLimits } from '../../src/quotas/host/host-share.js';

const WIDE: HostShareLimits = { hostBytes: 2 ** 30, openInvocations: 1_000_000, openDescriptors: 1_000_000 };

export function wideShare(limits: Partial<HostShareLimits> = {}): HostShare {
  const budget = new HostBudget({ heapBytes: 2 ** 40, bufferBytes: 2 ** 40 });
  return budget.share('account', { ...WIDE, ...limits }, () => {});
}
