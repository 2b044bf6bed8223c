/** node:tls: connections with TLS, which the host starts and whose certificates it checks. @see https://nodejs.org/api/tls.html */
import { connect as connectTo } from '../../sockets/socket.ts';
import { invalidArgType } from '../errors.ts';
import type { Listener } from '../events/emitter.ts';
import { defineClass } from '../http/streams.ts';
import { notSupported } from '../unsupported.ts';
import { isIP } from './addresses.ts';
import {
  addressOf,
  type ConnectOptions,
  type NodeSocket,
  normalizeConnect,
  type OpenSocket,
  openWith,
  release,
  Socket,
  type SocketConstructor,
} from './socket.ts';

export interface TLSSocket extends NodeSocket {
  encrypted: boolean;
  authorized: boolean;
  authorizationError: null;
  alpnProtocol: false;
  servername: string | undefined;
}

/** Options about the handshake. To accept and not use them would be unsafe. */
const UNAVAILABLE = [
  'ALPNProtocols',
  'ca',
  'cert',
  'checkServerIdentity',
  'ciphers',
  'crl',
  'key',
  'maxVersion',
  'minVersion',
  'pfx',
  'pskCallback',
  'secureContext',
  'session',
];
const CONNECTIONS = 'The host starts TLS and checks certificates';

function checkOptions(options: ConnectOptions): void {
  for (const name of UNAVAILABLE) {
    if (options[name] !== undefined) throw notSupported('tls', `connect() with the option "${name}"`, CONNECTIONS);
  }
  if (options.rejectUnauthorized === false) {
    throw notSupported('tls', 'connect({ rejectUnauthorized: false })', CONNECTIONS);
  }
}

function construct(this: TLSSocket, below?: unknown, options: ConnectOptions = {}): void {
  checkOptions(options);
  if (options.isServer)
    throw notSupported('tls', 'new TLSSocket({ isServer: true })', 'Connections arrive at the host');
  Socket.call(this, options);
  Object.assign(this, { encrypted: true, authorized: false, authorizationError: null, alpnProtocol: false });
  if (below === undefined) return;
  if (!(below instanceof Socket)) throw invalidArgType('socket', 'net.Socket', below);
  const name = options.servername ?? options.host;
  if (name !== undefined && typeof name !== 'string') throw invalidArgType('options.servername', 'string', name);
  upgrade(this, below, name);
}

/** A function, as in Node: older code calls it with an object of its own. */
export const TLSSocket = construct as unknown as SocketConstructor<TLSSocket> & {
  new (socket?: unknown, options?: ConnectOptions): TLSSocket;
};

/** Lets TLS take over the connection of a socket, when it is open and all was sent. */
function upgrade(socket: TLSSocket, below: NodeSocket, serverName: string | undefined): void {
  socket.connecting = true;
  below.once('error', error => void socket.destroy(error as Error));
  const start = (): void => {
    const web = release(below);
    if (web === undefined) {
      socket.destroy(new Error('The socket under TLS is not connected'));
      return;
    }
    open(socket, () => startTls(web, serverName));
  };
  if (below.connecting) below.once('connect', start);
  else start();
}

function startTls(web: OpenSocket, serverName: string | undefined): OpenSocket {
  return web.startTls(serverName === undefined ? {} : { expectedServerHostname: serverName });
}

function open(socket: TLSSocket, make: () => OpenSocket): void {
  try {
    socket.once('connect', () => {
      socket.authorized = true;
    });
    openWith(socket, make(), ['secureConnect']);
  } catch (error) {
    socket.destroy(error as Error);
  }
}

function unavailable(name: string): () => never {
  return () => {
    throw notSupported('tls', `TLSSocket.${name}()`, CONNECTIONS);
  };
}

const NAMES = [
  'enableTrace',
  'exportKeyingMaterial',
  'getCertificate',
  'getCipher',
  'getEphemeralKeyInfo',
  'getFinished',
  'getPeerCertificate',
  'getPeerFinished',
  'getPeerX509Certificate',
  'getProtocol',
  'getSession',
  'getTLSTicket',
  'getX509Certificate',
  'isSessionReused',
  'renegotiate',
  'setMaxSendFragment',
  'setServername',
];

defineClass('TLSSocket', TLSSocket, Socket, Object.fromEntries(NAMES.map(name => [name, unavailable(name)])));

function connect(...args: unknown[]): TLSSocket {
  const { options: given, listener } = normalizeConnect(args);
  const extra = args.find((value, at) => at > 0 && typeof value === 'object' && value !== null);
  const options = { ...given, ...(extra as ConnectOptions | undefined) };
  const socket = new TLSSocket(options.socket, options);
  if (listener !== undefined) socket.once('secureConnect', listener as Listener); // a function
  if (options.socket !== undefined) return socket;
  const address = addressOf('tls', options);
  const { servername = address.hostname } = options;
  if (typeof servername !== 'string') throw invalidArgType('options.servername', 'string', servername);
  socket.servername = isIP(servername) === 0 ? servername : undefined;
  // The host takes the name of the address for the one of the server, unless TLS starts later.
  const isOtherName = servername !== address.hostname && servername !== '';
  const web = connectTo(address, { secureTransport: isOtherName ? 'starttls' : 'on', allowHalfOpen: true });
  if (isOtherName) {
    socket.connecting = true;
    web.opened.then(
      () => open(socket, () => startTls(web, servername)),
      (error: Error) => void socket.destroy(error),
    );
  } else open(socket, () => web);
  return socket;
}

function createServer(): never {
  throw notSupported('tls', 'createServer()', 'Connections arrive at the host: export a fetch handler');
}

export default { connect, createServer, TLSSocket };
