/** The calls of sockets, as the client in the function's realm and the service speak them. */

/**
 * Opens a socket. The body of the call carries the bytes that the function sends, the body of the reply the received ones; the reply comes when the connection
 * is open.
 */
export const CONNECT = 'connect';
/** Starts TLS over a socket whose reply may not have arrived yet. The bodies of its call stay in use. */
export const START_TLS = 'startTls';

/** Is answered when all that the function has sent is written, the end of it included. */
export const FINISH = 'finish';

export const TRANSPORTS = ['off', 'on', 'starttls'] as const;
export type SecureTransport = (typeof TRANSPORTS)[number];

export interface ConnectArguments {
  /** The client's number for it: no two sockets of an invocation have the same. */
  readonly socket: number;
  /** A name, or an address without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly secureTransport: SecureTransport;
  readonly allowHalfOpen: boolean;
}

export interface ConnectReply {
  /** `address:port` of the other end. */
  readonly remoteAddress: string;
}

export interface FinishArguments {
  readonly socket: number;
}

export interface FinishReply {
  /** False when the connection was closed before the end of what the function sends. */
  readonly whole: boolean;
}

export interface StartTlsArguments {
  readonly socket: number;
  /** Bytes that the function has written so far: later bytes are sent over TLS. */
  readonly sentBytes: number;
  /** Bytes that it has read so far: no others may have come before TLS. */
  readonly readBytes: number;
  /** The name that the certificate must be for; null for the host name of the socket. */
  readonly serverName: string | null;
}
