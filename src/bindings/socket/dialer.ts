/** Opens connections for functions, under the address policy of outgoing requests, and takes them to TLS. */
import { connect as connectTcp, isIP, type LookupFunction, type NetConnectOpts, type Socket } from 'node:net';
import { EdgeError, errorCode, isEdgeErrorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { AddressPolicy } from '../egress/address-policy.js';
import type { EgressSettings } from '../egress/egress.js';
import { createResolver, deniedError, policedLookup } from '../egress/policed-lookup.js';

export interface Target {
  readonly hostname: string;
  readonly port: number;
}

export interface DialerOptions extends Omit<EgressSettings, 'outbound'> {}

/** As much is read from a socket at once, and kept while the function does not read. */
const READ_BYTES = 64 * 1024;

export class Dialer {
  readonly #policy: AddressPolicy;
  readonly #lookup: LookupFunction;
  readonly #timeoutMs: number;
  readonly #ca: string[] | undefined;

  /** @throws TypeError for a text that is neither an address nor a CIDR range */
  constructor(options: DialerOptions) {
    const { ca, connectTimeoutMs = 10_000 } = options;
    this.#policy = new AddressPolicy(options);
    this.#lookup = policedLookup(this.#policy, options.resolve ?? createResolver());
    this.#timeoutMs = connectTimeoutMs;
    this.#ca = ca === undefined ? undefined : [ca].flat();
  }

  /**
   * A connection that is open. The policy has judged its destination: names are resolved here, and an address is connected to as it is.
   *
   * @throws EdgeError EDGE_EGRESS_DENIED, EDGE_EGRESS_FAILED; the reason of the signal
   */
  async open(target: Target, signal: AbortSignal): Promise<Socket> {
    const { hostname, port } = target;
    if (isIP(hostname) !== 0 && !this.#policy.allows(hostname)) throw deniedError(hostname);
    signal.throwIfAborted();
    const lookup = this.#lookup;
    // The last one is an option of all streams, which the types of sockets leave out.
    const options = { host: hostname, port, lookup, allowHalfOpen: true, noDelay: true, highWaterMark: READ_BYTES };
    const socket = connectTcp(options satisfies NetConnectOpts & { highWaterMark: number });
    await this.#event(socket, 'connect', target, signal);
    const address = socket.remoteAddress;
    if (address === undefined || !this.#policy.allows(address)) {
      socket.destroy();
      throw deniedError(hostname);
    }
    return socket;
  }

  /**
   * TLS over an open connection, with the certificate checked for the name.
   *
   * @throws EdgeError EDGE_EGRESS_FAILED, the connection is then closed; the reason of the signal
   */
  async secure(socket: Socket, target: Target, serverName: string, signal: AbortSignal): Promise<Socket> {
    const { connect: connectTls } = await import('node:tls');
    const secured = connectTls({
      socket,
      host: serverName,
      // A name is sent to the server; an address is not one (RFC 6066, 3), and is checked all the same.
      ...(isIP(serverName) === 0 && { servername: serverName }),
      ...(this.#ca !== undefined && { ca: this.#ca }),
    });
    await this.#event(secured, 'secureConnect', target, signal);
    return secured;
  }

  async #event(socket: Socket, event: 'connect' | 'secureConnect', target: Target, signal: AbortSignal): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once(event, () => resolve());
        socket.on('error', reject);
        socket.once(
          'close',
          guarded(() => reject(new Error('closed'))),
        );
        timer = setTimeout(
          guarded(() => reject(cannotConnect(target, 'it took too long (option egress.connectTimeoutMs)'))),
          this.#timeoutMs,
        );
        onAbort = guarded(() => reject(signal.reason));
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      });
    } catch (error) {
      socket.destroy();
      if (signal.aborted) throw signal.reason;
      if (isEdgeErrorCode(errorCode(error) ?? '')) throw error;
      throw cannotConnect(target, reasonOf(error), error);
    } finally {
      clearTimeout(timer);
      if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
    }
  }
}

function cannotConnect({ hostname, port }: Target, why: string, cause?: unknown): EdgeError {
  // Functions of other platforms look for these words.
  const what = 'proxy request failed, cannot connect to the specified address';
  const hint =
    port === 80 || port === 443
      ? '. It looks like you might be trying to connect to a HTTP-based service: consider using fetch instead'
      : '';
  return new EdgeError('EDGE_EGRESS_FAILED', `Cannot connect to ${nameOf(hostname, port)}: ${what} (${why})${hint}`, {
    cause,
  });
}

export function connectionLost({ hostname, port }: Target, cause: unknown): EdgeError {
  return new EdgeError(
    'EDGE_EGRESS_FAILED',
    `The connection to ${nameOf(hostname, port)} was lost: ${reasonOf(cause)}`,
    {
      cause,
    },
  );
}

export function nameOf(hostname: string, port: number): string {
  return isIP(hostname) === 6 ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'the connection was refused'],
  ['ECONNRESET', 'the connection was reset'],
  ['EPIPE', 'the other end reads no more'],
]);

/** Codes of the system and of TLS; any other text may reveal internals. */
function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? '';
  return REASONS.get(code) ?? (/^[A-Z][A-Z0-9_]+$/.test(code) ? code : 'it failed');
}
