/** The hibernatable WebSockets of stateful objects as a service that every function has: it reaches the function's own objects, and no others. */
import { EdgeError } from '../../quotas/errors.js';
import { ServiceId } from '../../quotas/service-calls.js';
import type { ImplicitBinding } from '../binding.js';
import { JOIN, LIST, SEND } from './socket-wire.js';

const HEAD_BYTES = 8 * 1024;

export const objectSocketBinding: ImplicitBinding<undefined> = {
  id: ServiceId.ObjectSockets,
  name: 'object-sockets',
  implicit: true,
  subrequest: 'stateful',
  // An object pays for what it sends with its CPU time, as by any WebSocket.
  methods: {
    [SEND]: { continues: true, headBytes: HEAD_BYTES },
    [LIST]: { continues: true, headBytes: HEAD_BYTES },
    [JOIN]: { continues: true, headBytes: HEAD_BYTES },
  },
  // The connections are the application's.
  isInApplication: () => true,
  share: () => undefined,
  open:
    ({ objectSockets }) =>
    async call => {
      if (objectSockets === undefined)
        throw new EdgeError('EDGE_NOT_SUPPORTED', 'Hibernatable WebSockets are not supported on this host');
      return objectSockets(call);
    },
};
