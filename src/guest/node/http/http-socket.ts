/** The `socket` of a message: what code asks it is answered, but its connection belongs to the host, and carries no bytes of the function. */
import { type Emitter, EventEmitter } from '../events/emitter.ts';

export interface HttpSocket extends Emitter {
  readonly encrypted: boolean;
  readonly remoteAddress: string | undefined;
  destroyed: boolean;
  destroy(error?: Error): HttpSocket;
}

interface Peer {
  readonly encrypted: boolean;
  readonly remoteAddress: string | undefined;
  readonly localPort?: number;
  /** Called when code destroys the socket. */
  readonly onDestroy: (error: Error | undefined) => void;
}

export function httpSocket({ encrypted, remoteAddress, localPort, onDestroy }: Peer): HttpSocket {
  const family = remoteAddress?.includes(':') ? 'IPv6' : 'IPv4';
  const socket = Object.assign(new EventEmitter(), {
    encrypted,
    authorized: encrypted,
    remoteAddress,
    remoteFamily: remoteAddress === undefined ? undefined : family,
    remotePort: undefined,
    localAddress: undefined,
    localPort,
    readable: true,
    writable: true,
    connecting: false,
    destroyed: false,
    timeout: 0,
    destroy(error?: Error) {
      if (socket.destroyed) return socket;
      Object.assign(socket, { destroyed: true, readable: false, writable: false });
      onDestroy(error);
      socket.emit('close', error !== undefined);
      return socket;
    },
    address: () => (localPort === undefined ? {} : { address: '127.0.0.1', family: 'IPv4', port: localPort }),
    // The host decides about its connections.
    setTimeout: (_ms: number, onTimeout?: () => void) => {
      if (onTimeout !== undefined) socket.once('timeout', onTimeout);
      return socket;
    },
    setNoDelay: () => socket,
    setKeepAlive: () => socket,
    ref: () => socket,
    unref: () => socket,
    cork: () => {},
    uncork: () => {},
  });
  return socket;
}
