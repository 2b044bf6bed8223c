/** The bounds of what the host holds for one account: options of the host, for every account, and of a single account. */

import type { HostShareLimits } from '../../quotas/host/host-share.js';
import { type FieldsOf, wholeNumber } from '../../quotas/schema/schema.js';

const MEBIBYTE = 1024 * 1024;

export const ACCOUNT_BOUNDS: FieldsOf<Partial<HostShareLimits>> = {
  'hostBytes?': wholeNumber(MEBIBYTE, 4096 * MEBIBYTE, 'bytes'),
  'openInvocations?': wholeNumber(1, 1_000_000),
  'openDescriptors?': wholeNumber(1, 1_000_000),
  'sleepingWebSockets?': wholeNumber(1, 1_000_000),
};
