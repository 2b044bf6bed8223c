/** The connection of `new WebSocket(url)`. @see https://websockets.spec.whatwg.org/#dom-websocket-websocket */
import { ServiceId } from '../../quotas/service-calls.ts';
import { callOpen } from '../call-service.ts';
import type { CallListener } from '../open-calls.ts';
import { jsonParse, jsonStringify, stringIndexOf, stringSlice, stringToLowerCase } from '../primordials.ts';
import { requireHandler } from '../scope.ts';
import { DOMException } from '../web/base/dom-exception.ts';
import { isObject, quoted, toSequence, toUSVString } from '../web/base/idl.ts';
import { parseUrl } from '../web/url/url-parse.ts';
import { HostLink } from './host-link.ts';
import type { LinkOwner } from './link.ts';

export interface Opening {
  onOpen(link: HostLink, protocol: string): void;
  onFailed(message: string): void;
}

const SCHEMES: { readonly [scheme: string]: string | undefined } = {
  __proto__: null,
  ws: 'http',
  wss: 'https',
  http: 'http',
  https: 'https',
} as never; // no inherited names

/** Answers the URL as the socket shows it. */
export function openConnection(text: string, protocols: unknown, owner: LinkOwner, opening: Opening): string {
  const { shown, http } = parse(text);
  const names = protocolsOf(protocols);
  requireHandler('new WebSocket()');
  let list = '';
  for (let i = 0; i < names.length; i++) list += i === 0 ? names[i] : `, ${names[i]}`;
  const headers = list === '' ? '' : `,"sec-websocket-protocol",${jsonStringify(list)}`;
  // From texts: function code could add properties to an object.
  const args = `{"method":"GET","url":${jsonStringify(http)},"redirect":"error","headers":["upgrade","websocket"${headers}]}`;
  let exchange = 0;
  const reply: CallListener = {
    onReply: head => {
      const { status, headers: pairs }: { status: number; headers: readonly string[] } = jsonParse(head); // the service wrote it
      const link = new HostLink(exchange, owner, () => {});
      if (status === 101) opening.onOpen(link, protocolOf(pairs));
      else link.lost(`The WebSocket was refused with status ${status}`);
    },
    onFailed: makeError => {
      const error = makeError();
      opening.onFailed(isObject(error) && 'message' in error ? `${error.message}` : 'The connection failed');
    },
  };
  callOpen(ServiceId.WebSocket, `fetch\n\n${args}`, reply, made => {
    exchange = made;
  });
  return shown;
}

/** The protocol that the other end has chosen. */
export function protocolOf(pairs: readonly string[]): string {
  for (let i = 0; i < pairs.length; i += 2) {
    if (stringToLowerCase(pairs[i] ?? '') === 'sec-websocket-protocol') return pairs[i + 1] ?? '';
  }
  return '';
}

function parse(text: string): { readonly shown: string; readonly http: string } {
  const href = parseUrl(text)?.href;
  if (href === undefined) throw syntaxError(`${quoted(text)} is not an absolute URL`);
  const colon = stringIndexOf(href, ':');
  const scheme = SCHEMES[stringSlice(href, 0, colon)];
  if (scheme === undefined) throw syntaxError(`the scheme of ${quoted(text)} is not ws, wss, http or https`);
  if (stringIndexOf(href, '#') >= 0) throw syntaxError(`${quoted(text)} has a fragment`);
  const rest = stringSlice(href, colon);
  return { shown: `${scheme === 'http' ? 'ws' : 'wss'}${rest}`, http: `${scheme}${rest}` };
}

function protocolsOf(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const names = isObject(value) ? toSequence(value, toUSVString, 'The protocols') : [toUSVString(value)];
  const seen: { [name: string]: true } = { __proto__: null } as never; // no inherited names
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    if (!isToken(name)) throw syntaxError(`the protocol ${quoted(name)} is not a token`);
    if (seen[stringToLowerCase(name)] === true) throw syntaxError(`the protocol ${quoted(name)} is given twice`);
    seen[stringToLowerCase(name)] = true;
  }
  return names;
}

/** The characters of a protocol's name (RFC 9110, 5.6.2). */
const TOKEN = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function isToken(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (stringIndexOf(TOKEN, text[i] ?? '') < 0) return false;
  return text !== '';
}

function syntaxError(why: string): DOMException {
  return new DOMException(`WebSocket: ${why}`, 'SyntaxError');
}
