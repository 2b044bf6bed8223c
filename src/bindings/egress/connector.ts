/**
 * Opens the sockets of outgoing requests. The address policy stands here and nowhere earlier: what a name resolves to is judged and connected to in one step,
 * so a name that changes its address between a check and the connection (DNS rebinding) changes nothing.
 */

import { isIP } from 'node:net';
import { buildConnector } from 'undici';

import type { AddressPolicy } from './address-policy.js';
import { deniedError, policedLookup, type ResolveHost } from './policed-lookup.js';

export interface ConnectorOptions {
  readonly policy: AddressPolicy;
  readonly resolve: ResolveHost;
  readonly connectTimeoutMs: number;
  /** Certificates to trust instead of the usual ones, PEM. */
  readonly ca?: string | readonly string[] | undefined;
}

/** How undici opens a socket. */
export function createConnector({ policy, resolve, connectTimeoutMs, ca }: ConnectorOptions): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    lookup: policedLookup(policy, resolve),
    ...(ca === undefined ? {} : { ca: [ca].flat() }),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    // An address written into the URL is connected to without a lookup.
    if (isIP(host) !== 0 && !policy.allows(host)) {
      callback(deniedError(host), null);
      return;
    }
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      const address = socket.remoteAddress;
      if (address !== undefined && policy.allows(address)) return callback(null, socket);
      socket.destroy();
      callback(deniedError(host), null);
    });
  };
}
