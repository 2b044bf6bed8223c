/** The sockets of one function, as its isolates call for them. */
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { FunctionContext } from '../binding.js';
import type { Service, ServiceCall, ServiceReply } from '../service.js';
import { checkConnect, checkFinish, checkStartTls } from './check-arguments.js';
import { type Dialer, nameOf, type Target } from './dialer.js';
import { SocketLink } from './socket-link.js';
import { CONNECT, type ConnectReply, FINISH, type FinishReply, START_TLS } from './wire.js';

/** The parts that all accounts of a host share. */
export interface SocketShare {
  /** Undefined when the host has none, because the application answers the requests of functions itself. */
  readonly dialer: Dialer | undefined;
  /** The sockets that one account may have open. */
  readonly maxSockets: number;
  /** Open sockets, by account. */
  readonly open: Map<string, number>;
}

/** SMTP between servers: what it sends is mail that nobody is accountable for. */
const SMTP_PORT = 25;

export function socketService(context: FunctionContext<SocketShare>): Service {
  const { account, shared } = context;
  /** The open sockets, by invocation and number. */
  const links = new Map<string, SocketLink>();

  async function connect(call: ServiceCall): Promise<ServiceReply> {
    const { work, signal } = call;
    const { socket, secureTransport, allowHalfOpen, ...target } = checkConnect(call.args);
    const dialer = checkTarget(context, target, call);
    const key = keyOf(call, socket);
    if (links.has(key)) throw new TypeError(`The invocation has a socket ${socket} already`);
    const isSecure = secureTransport === 'on';
    const release = countSocket(shared, account, call);
    work.charge(isSecure ? HOST_COSTS.tlsSocketMs : HOST_COSTS.socketMs);
    const link = new SocketLink({
      dialer,
      target,
      allowHalfOpen,
      work,
      signal,
      canUpgrade: secureTransport === 'starttls',
    });
    links.set(key, link);
    const end = (): void => {
      links.delete(key);
      release();
    };
    link.closed.then(end, end);
    const { address, body: received } = await opened(link, isSecure, target, call);
    return { head: { remoteAddress: address } satisfies ConnectReply, body: received, closed: link.closed };
  }

  async function opened(
    link: SocketLink,
    isSecure: boolean,
    { hostname, port }: Target,
    { body, origin }: ServiceCall,
  ): ReturnType<SocketLink['open']> {
    try {
      return await link.open(body, isSecure);
    } catch (error) {
      if (errorCode(error) === 'EDGE_EGRESS_DENIED') context.egress?.refusedSocketAddress(hostname, port, origin);
      throw error;
    }
  }

  async function startTls(call: ServiceCall): Promise<ServiceReply> {
    const args = checkStartTls(call.args);
    const link = links.get(keyOf(call, args.socket));
    if (link === undefined) {
      throw new TypeError('Cannot startTls: the invocation has no open socket of that number');
    }
    await link.startTls(args);
    return { head: null };
  }

  async function finish(call: ServiceCall): Promise<ServiceReply> {
    const { socket } = checkFinish(call.args);
    // One that is gone has nothing left to be written.
    const link = links.get(keyOf(call, socket));
    await link?.written;
    return { head: { whole: link?.isSentWhole === true } satisfies FinishReply };
  }

  return async call => {
    if (call.method === CONNECT) return connect(call);
    if (call.method === START_TLS) return startTls(call);
    if (call.method === FINISH) return finish(call);
    throw new EdgeError('EDGE_NOT_SUPPORTED', `Sockets have no method ${JSON.stringify(call.method.slice(0, 100))}`);
  };
}

/** Sockets belong to the invocation that opened them. */
function keyOf({ origin }: ServiceCall, socket: number): string {
  return `${origin?.invocation ?? ''}/${socket}`;
}

/** @throws EdgeError EDGE_EGRESS_DENIED */
function checkTarget(
  { shared: { dialer }, checkUrl, egress }: FunctionContext<SocketShare>,
  { hostname, port }: Target,
  { origin }: ServiceCall,
): Dialer {
  const refuse = (why: string): never => {
    throw new EdgeError('EDGE_EGRESS_DENIED', `Cannot connect to ${nameOf(hostname, port)}: ${why}`);
  };
  if (dialer === undefined) return refuse('this host opens no sockets for functions (option egress.sockets)');
  if (port === SMTP_PORT) return refuse('port 25 (SMTP) is open to no function');
  // Also a name that is no host name for URLs may be one for the resolver.
  const url = `https://${nameOf(hostname, port)}/`;
  if (URL.canParse(url)) checkUrl(new URL(url));
  egress?.checkSocket(hostname, port, origin);
  return dialer;
}

/** Counts an open socket until the function returned is called. @throws EdgeError EDGE_EGRESS_FAILED, EDGE_OVERLOADED */
function countSocket({ open, maxSockets }: SocketShare, account: string, { work }: ServiceCall): () => void {
  const count = open.get(account) ?? 0;
  if (count >= maxSockets) {
    throw new EdgeError(
      'EDGE_EGRESS_FAILED',
      `Cannot connect: the account has ${count} sockets open, at most ${maxSockets} are allowed (option egress.socketsPerAccount)`,
    );
  }
  work.openDescriptor();
  open.set(account, count + 1);
  return () => {
    work.closeDescriptor();
    const left = (open.get(account) ?? 1) - 1;
    if (left > 0) open.set(account, left);
    else open.delete(account);
  };
}
