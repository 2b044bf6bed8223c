/** How the claims of stateful objects, and of their alarms, are used from another process. */
import { partContract } from '../contract.js';
import type { AlarmClaims } from './alarm-claims.js';
import type { ObjectClaims } from './object-claims.js';

export const OBJECT_CONTRACT = partContract<ObjectClaims>({
  claim: { isOwned: true },
  release: {},
  left: {},
});

export const ALARM_CONTRACT = partContract<AlarmClaims>({
  serve: { isOwned: true },
  drop: {},
  claim: {},
  settle: {},
  left: {},
});
