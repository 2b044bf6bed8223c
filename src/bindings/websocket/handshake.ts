/** The handshake of a WebSocket that a function opens, with the secrets of the function in it, where it has any. */

import type { EgressPolicy } from '../egress/rules/egress-policy.js';
import type { SubstitutedRequest } from '../egress/rules/substituted-request.js';
import type { CallOrigin } from '../service.js';

export interface Handshake {
  readonly url: URL;
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
  readonly protocols: readonly string[];
}

/** A token of HTTP, as protocols are. */
export const PROTOCOL = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;

/**
 * The handshake as the network gets it, and what hides its secrets in the answer.
 *
 * @throws EdgeError EDGE_EGRESS_DENIED for a secret that may not be sent there, TypeError for one that cannot be
 */
export function handshakeWithSecrets(
  policy: EgressPolicy | undefined,
  handshake: Handshake,
  origin: CallOrigin | undefined,
): { readonly sent: Handshake; readonly substituted: SubstitutedRequest | undefined } {
  const { url, headers, protocols } = handshake;
  // Clients of APIs that authenticate a browser send their key as a protocol.
  const all = [...headers, ...protocols.flatMap(name => ['sec-websocket-protocol', name])];
  const substituted = policy?.substitute({ method: 'GET', url, headers: all }, origin);
  if (substituted === undefined) return { sent: handshake, substituted };
  const { urlWithSecrets, headersWithSecrets } = substituted;
  const names = headersWithSecrets.slice(headers.length).filter((_, at) => at % 2 === 1);
  if (!names.every(name => PROTOCOL.test(name)))
    throw new TypeError(
      'Cannot open a WebSocket: a protocol is no token with the secret in the place of its placeholder',
    );
  const sent = { url: urlWithSecrets, headers: headersWithSecrets.slice(0, headers.length), protocols: names };
  return { sent, substituted };
}

/** The values of the answer's headers as the function may see them. */
export function answeredHeaders(
  headers: readonly string[],
  substituted: SubstitutedRequest | undefined,
): readonly string[] {
  return substituted === undefined
    ? headers
    : headers.map((text, at) => (at % 2 === 1 ? substituted.hidden(text) : text));
}
