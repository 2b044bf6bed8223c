/** The arguments of connect(), with the messages that code of the hosted platform knows. */
import type { ConnectArguments, SecureTransport } from '../../bindings/socket/wire.ts';
import { mathTrunc, stringCharCodeAt, stringIndexOf, stringSlice, TypeErrorCtor } from '../primordials.ts';
import { isObject, quoted, toDictionary, toDOMString } from '../web/base/idl.ts';

const MAX_LENGTH = 255;
const MAX_PORT = 65_535;
/** Behind which no write waits. */
const DEFAULT_HIGH_WATER_MARK = 16_384;

export type Address = Pick<ConnectArguments, 'hostname' | 'port'>;

export interface SocketOptions {
  readonly secureTransport: SecureTransport;
  readonly allowHalfOpen: boolean;
  /** Bytes that may wait to be sent before `desiredSize` of the writer falls to zero. */
  readonly highWaterMark: number;
}

/** `host:port`, an IPv6 address in brackets; or an object. @throws TypeError */
export function parseAddress(value: unknown): Address {
  return isObject(value) ? addressOfObject(value) : addressOfText(toDOMString(value));
}

function addressOfObject(value: object): Address {
  const { hostname: givenName, port: givenPort } = value as { hostname?: unknown; port?: unknown }; // any object can be read from
  if (givenName === undefined) throw new TypeErrorCtor('Specified address is missing hostname.');
  if (givenPort === undefined) throw new TypeErrorCtor('Specified address is missing port.');
  const hostname = toDOMString(givenName);
  if (hostname === '') throw new TypeErrorCtor('Specified address is missing hostname.');
  const port = +(givenPort as number); // unary plus is ToNumber for every value
  if (!(port >= 0 && port <= MAX_PORT && mathTrunc(port) === port)) {
    throw new TypeErrorCtor(`The port of the address is ${quoted(toDOMString(givenPort))}, expected 0 to ${MAX_PORT}`);
  }
  return { hostname: checkHost(withoutBrackets(hostname)), port };
}

function addressOfText(text: string): Address {
  if (text === '') throw unsupported();
  const hostEnd = stringCharCodeAt(text, 0) === BRACKET ? stringIndexOf(text, ']') + 1 : endOfHost(text);
  const hostname = withoutBrackets(stringSlice(text, 0, hostEnd));
  const portText = stringSlice(text, hostEnd + 1);
  if (hostname === '') throw new TypeErrorCtor('Specified address is missing hostname.');
  if (hostEnd < text.length && stringCharCodeAt(text, hostEnd) !== COLON) throw unparsable();
  if (portText === '') throw new TypeErrorCtor('Specified address is missing port.');
  let port = 0;
  for (let i = 0; i < portText.length; i++) {
    const digit = stringCharCodeAt(portText, i) - ZERO;
    if (digit < 0 || digit > 9) throw unparsable();
    port = port * 10 + digit;
    if (port > MAX_PORT) throw unparsable();
  }
  if (!isHost(hostname)) throw unparsable();
  return { hostname: checkHost(hostname), port };
}

const BRACKET = 0x5b;
const COLON = 0x3a;
const ZERO = 0x30;

function endOfHost(text: string): number {
  const at = stringIndexOf(text, ':');
  return at < 0 ? text.length : at;
}

function withoutBrackets(host: string): string {
  return stringCharCodeAt(host, 0) === BRACKET ? stringSlice(host, 1, host.length - 1) : host;
}

function checkHost(host: string): string {
  if (host.length > MAX_LENGTH || !isHost(host)) throw unsupported();
  return host;
}

/** Letters, digits, and `. - _ :` of names and addresses. */
function isHost(host: string): boolean {
  for (let i = 0; i < host.length; i++) {
    const code = stringCharCodeAt(host, i);
    const isLetter = (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
    const isDigitOrColon = code >= ZERO && code <= COLON;
    if (!isLetter && !isDigitOrColon && code !== 0x2d && code !== 0x2e && code !== 0x5f) return false;
  }
  return true;
}

function unparsable(): TypeError {
  return new TypeErrorCtor('Specified address could not be parsed.');
}

function unsupported(): TypeError {
  return new TypeErrorCtor('Specified address is empty string, contains unsupported characters or is too long.');
}

/** @throws TypeError */
export function parseOptions(value: unknown): SocketOptions {
  const given = toDictionary(value, 'The options of connect()');
  return {
    secureTransport: toTransport(given?.secureTransport),
    allowHalfOpen: given?.allowHalfOpen === undefined ? false : !!given?.allowHalfOpen,
    highWaterMark: toHighWaterMark(given?.highWaterMark),
  };
}

function toTransport(value: unknown): SecureTransport {
  if (value === undefined) return 'off';
  const text = toDOMString(value);
  if (text === 'off' || text === 'on' || text === 'starttls') return text;
  throw new TypeErrorCtor(`Unsupported value in secureTransport socket option: ${stringSlice(text, 0, MAX_LENGTH)}`);
}

function toHighWaterMark(value: unknown): number {
  if (value === undefined) return DEFAULT_HIGH_WATER_MARK;
  const number = +(value as number); // unary plus is ToNumber for every value
  if (number >= 0) return number;
  throw new TypeErrorCtor(`Option highWaterMark of connect() is ${number}, expected a number from 0 on`);
}
