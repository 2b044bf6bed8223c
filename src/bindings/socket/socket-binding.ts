/** TCP sockets (`connect()` of `edgehost:sockets`) as a service that every function has, under the address policy of outgoing requests. */

import { ServiceId } from '../../quotas/service-calls.js';
import type { BindingHost, ImplicitBinding } from '../binding.js';
import { needsApplication } from '../egress/needs-application.js';
import type { OutboundHandler } from '../egress/outbound-transport.js';
import { Dialer, type DialerOptions } from './dialer.js';
import { type SocketShare, socketService } from './socket-service.js';
import { CONNECT, FINISH, START_TLS } from './wire.js';

/** The options of the host that this binding reads. Their form is checked with the options of outgoing requests. */
interface SocketHostOptions {
  readonly egress: DialerOptions;
  readonly outbound: OutboundHandler | undefined;
}

export const socketBinding: ImplicitBinding<SocketShare> = {
  id: ServiceId.Socket,
  name: 'socket',
  implicit: true,
  subrequest: 'socket',
  methods: {
    [CONNECT]: { holdsConnection: true, headBytes: 1024 },
    [START_TLS]: { continues: true, usesConnection: true, headBytes: 1024 },
    [FINISH]: { continues: true, usesConnection: true, headBytes: 1024 },
  },
  isInApplication: needsApplication,
  share({ options: { egress, outbound } }: BindingHost<SocketHostOptions>) {
    // An application that answers the requests itself has decided that nothing goes around it.
    const hasSockets = egress.sockets ?? outbound === undefined;
    return {
      dialer: hasSockets ? new Dialer(egress) : undefined,
      maxSockets: egress.socketsPerAccount ?? 1000,
      open: new Map(),
    };
  },
  open: context => socketService(context),
};
