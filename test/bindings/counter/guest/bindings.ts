/** The bindings of the guest realm with one more: bundled in place of the package's own list (.scripts/guest-bundle.mjs). */

import { type GuestBinding, BINDINGS as OWN } from '../../../../src/guest/bindings.ts';
import { ServiceId } from '../../../../src/quotas/service-calls.ts';
import { createCounterClient } from '../counter-client.ts';

export const BINDINGS: readonly GuestBinding[] = [
  ...OWN,
  { service: ServiceId.Experimental, create: createCounterClient },
];
