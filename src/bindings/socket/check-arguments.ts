/** Checks of what a function has written into the arguments of a call. */
import { isIP } from 'node:net';
import { isObject } from '../../quotas/schema/describe.js';
import { isCount } from '../../quotas/schema/is-count.js';
import { type ConnectArguments, type FinishArguments, type StartTlsArguments, TRANSPORTS } from './wire.js';

/** Names of DNS, with the underscores that some have, and addresses. Nothing else is looked up. */
const NAME = /^[A-Za-z0-9._-]{1,255}$/;

/** @throws TypeError */
export function checkConnect(args: unknown): ConnectArguments {
  if (!isObject(args)) throw malformed();
  const { socket, hostname, port, secureTransport: given, allowHalfOpen } = args;
  const secureTransport = TRANSPORTS.find(transport => transport === given);
  if (!isCount(socket) || typeof allowHalfOpen !== 'boolean' || secureTransport === undefined) throw malformed();
  return { socket, hostname: checkHost(hostname), port: checkPort(port), secureTransport, allowHalfOpen };
}

/** @throws TypeError */
export function checkFinish(args: unknown): FinishArguments {
  if (!isObject(args) || !isCount(args.socket)) throw malformed();
  return { socket: args.socket };
}

/** @throws TypeError */
export function checkStartTls(args: unknown): StartTlsArguments {
  if (!isObject(args)) throw malformed();
  const { socket, sentBytes, readBytes, serverName } = args;
  if (!isCount(socket) || !isCount(sentBytes) || !isCount(readBytes)) throw malformed();
  return { socket, sentBytes, readBytes, serverName: serverName === null ? null : checkHost(serverName) };
}

function checkHost(value: unknown): string {
  if (typeof value === 'string' && (NAME.test(value) || isIP(value) !== 0)) return value;
  const given = typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : typeof value;
  throw new TypeError(`Cannot connect: the host is ${given}, expected a name or an IP address`);
}

function checkPort(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535) return value;
  throw new TypeError(
    `Cannot connect: the port is ${typeof value === 'number' ? value : typeof value}, expected a whole number from 1 to 65535`,
  );
}

function malformed(): TypeError {
  return new TypeError('The call is malformed');
}
