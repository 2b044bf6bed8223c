/** How the claims of cron triggers are used from another process. */
import { partContract } from '../contract.js';
import type { CronClaims } from './cron-claims.js';

export const CRON_CONTRACT = partContract<CronClaims>({
  track: {},
  claim: { isOwned: true },
  finished: {},
  left: {},
});
