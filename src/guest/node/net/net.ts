/** node:net: connections of the function, under the rules and limits of connect(). @see https://nodejs.org/api/net.html */
import { notSupported } from '../unsupported.ts';
import { isIP, isIPv4, isIPv6 } from './addresses.ts';
import { type NodeSocket, normalizeConnect, Socket } from './socket.ts';

function connect(...args: unknown[]): NodeSocket {
  const { options } = normalizeConnect(args);
  return new Socket(options).connect(...args);
}

function createServer(): never {
  const advice = 'Connections arrive at the host: export a fetch handler, or use createServer() of node:http';
  throw notSupported('net', 'createServer()', advice);
}

export default {
  connect,
  createConnection: connect,
  createServer,
  /** The host tries the addresses of a name itself. */
  getDefaultAutoSelectFamily: (): boolean => true,
  isIP,
  isIPv4,
  isIPv6,
  Socket,
  Stream: Socket,
};
