/** Outgoing fetch as a service that every function has. All functions of a host share its sockets, its address policy and its resolver. */

import { ServiceId } from '../../quotas/service-calls.js';
import type { BindingHost, ImplicitBinding } from '../binding.js';
import { createEgress, type Egress, type EgressSettings } from './egress.js';
import { egressService } from './egress-service.js';
import { needsApplication } from './needs-application.js';
import type { OutboundHandler } from './outbound-transport.js';

const KIB = 1024;

/** The options of the host that this binding reads. */
interface EgressHostOptions {
  readonly egress: Omit<EgressSettings, 'outbound'>;
  readonly outbound: OutboundHandler | undefined;
}

export const egressBinding: ImplicitBinding<Egress> = {
  id: ServiceId.Fetch,
  name: 'fetch',
  implicit: true,
  subrequest: 'fetch',
  // A URL of 16 KB and 128 KB of headers, as JSON.
  methods: { fetch: { holdsConnection: true, headBytes: 256 * KIB } },
  isInApplication: needsApplication,
  share: ({ options: { egress, outbound } }: BindingHost<EgressHostOptions>) =>
    createEgress({ ...egress, ...(outbound !== undefined && { outbound }) }),
  closeShared: egress => egress.close(),
  open: context => egressService(context.shared, context),
};
