/** Outgoing WebSockets as a service that every function has, under the address policy of outgoing requests. */

import { ServiceId } from '../../quotas/service-calls.js';
import type { BindingHost, ImplicitBinding } from '../binding.js';
import { needsApplication } from '../egress/needs-application.js';
import type { OutboundHandler } from '../egress/outbound-transport.js';
import type { DialerOptions } from '../socket/dialer.js';
import { SocketOpener } from './opener.js';
import { type WebSocketShare, webSocketService } from './websocket-service.js';

/** The options of the host that this binding reads. Their form is checked with the options of outgoing requests. */
interface WebSocketHostOptions {
  readonly egress: DialerOptions;
  readonly outbound: OutboundHandler | undefined;
}

export const webSocketBinding: ImplicitBinding<WebSocketShare> = {
  id: ServiceId.WebSocket,
  name: 'websocket',
  implicit: true,
  subrequest: 'fetch',
  // As the head of a request: its headers may have as many bytes.
  methods: { fetch: { holdsConnection: true, headBytes: 512 * 1024 } },
  isInApplication: needsApplication,
  share({ options: { egress, outbound } }: BindingHost<WebSocketHostOptions>) {
    // An application that answers the requests itself has decided that nothing goes around it.
    const hasSockets = egress.sockets ?? outbound === undefined;
    return {
      opener: hasSockets ? new SocketOpener(egress) : undefined,
      maxSockets: egress.socketsPerAccount ?? 1000,
      open: new Map(),
    };
  },
  open: context => webSocketService(context),
};
