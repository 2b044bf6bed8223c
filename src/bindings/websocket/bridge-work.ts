/** What a connection makes the host do, counted to its account. */
import type { CallWork } from '../../quotas/host/call-work.js';

export type BridgeWork = Pick<CallWork, 'owner' | 'charge' | 'turn' | 'countBytes'>;
