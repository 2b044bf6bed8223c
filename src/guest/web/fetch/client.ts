/** `request.client`: whose request it is, from the headers that the host has set. The host drops headers of clients that begin with `edge-client-`. */
import { jsonParse, objectFreeze, objectKeys, stringIndexOf } from '../../primordials.ts';
import { defineOwn } from '../base/idl.ts';
import { getValue, parsePairs } from './header-list.ts';

export interface RequestClient {
  readonly address: string | undefined;
  readonly proxyAddress: string | undefined;
  readonly httpProtocol: string;
  readonly tlsVersion: string | undefined;
  readonly tlsCipher: string | undefined;
}

/** `headText` is the head of the request as it arrived. Undefined when it did not come over HTTP. */
export function clientOf(headText: string): RequestClient | undefined {
  if (stringIndexOf(headText, 'edge-client-') < 0) return undefined;
  const pairs = parsePairs(headText);
  const value = (name: string): string | undefined => getValue(pairs, name) ?? undefined;
  return objectFreeze({
    address: value('edge-client-ip'),
    proxyAddress: value('edge-client-proxy-ip'),
    httpProtocol: value('edge-client-http') ?? 'HTTP/1.1',
    tlsVersion: value('edge-client-tls-version'),
    tlsCipher: value('edge-client-tls-cipher'),
  });
}

/**
 * `request.cf`: facts about the connection under the names of the hosted platform, and the facts that the application gave to the request.
 * @param given JSON of them, '' for none
 */
export function cfOf(headText: string, given: string): object {
  const cf = {};
  const client = clientOf(headText);
  if (client !== undefined) {
    defineOwn(cf, 'httpProtocol', client.httpProtocol);
    if (client.tlsVersion !== undefined) defineOwn(cf, 'tlsVersion', client.tlsVersion);
    if (client.tlsCipher !== undefined) defineOwn(cf, 'tlsCipher', client.tlsCipher);
  }
  if (given === '') return cf;
  const facts: { readonly [name: string]: unknown } = jsonParse(given);
  const names = objectKeys(facts);
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? '';
    defineOwn(cf, name, facts[name]);
  }
  return cf;
}
