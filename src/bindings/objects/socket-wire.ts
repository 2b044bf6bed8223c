/**
 * The calls by which a stateful object and the host speak of the WebSockets that the object has accepted to sleep (`ctx.acceptWebSocket()`): the host
 * keeps each, with its tags and its attachment. Constants of both realms, without imports. All numbers are little-endian.
 */

/**
 * The operations of an object on its sockets, in its order. Body: entries, `u32 socket | u8 kind | u32 length | payload` each, kind and payload of a message as
 * in bindings/websocket/wire.ts. Arguments: SocketArguments.
 */
export const SEND = 'send';
/**
 * All sockets of an object. Arguments: SocketArguments. The answer is a ListedSockets, its body a record for each: `u32 length | u32 length of the attachment
 * or NO_ATTACHMENT | JSON of ListedSocket | attachment`.
 */
export const LIST = 'list';
/**
 * A function accepts the socket that an object has answered its request with, and that it was handed by this number. The bodies are the bodies of a WebSocket.
 */
export const JOIN = 'join';

/** Kinds of entries besides messages. */
export enum SocketEntry {
  /** Payload: JSON of AcceptedSocket. */
  Accept = 32,
  /** Payload: the attachment; empty for none. */
  Attachment = 33,
  /** Names no socket. Payload: `u16 length of the request | request | response`; empty for none. */
  AutoResponse = 34,
  /** Names no socket. Payload: u32 milliseconds, 0 for none. */
  EventTimeout = 35,
}

export const ENTRY_HEAD_BYTES = 9;
export const LISTED_HEAD_BYTES = 8;
export const NO_ATTACHMENT = 0xffff_ffff;

export interface SocketArguments {
  /** Class and id of the object. */
  readonly c: string;
  readonly i: string;
  /** The name that the id was made from. */
  readonly n?: string;
}

export interface AcceptedSocket {
  /** Tags. */
  readonly t: readonly string[];
}

export interface ListedSockets {
  /** Request and response that the host answers by itself. */
  readonly p: readonly [request: string, response: string] | null;
  /** How long an event may take, in milliseconds; 0 for no limit of its own. */
  readonly t: number;
}

export interface ListedSocket extends AcceptedSocket {
  readonly s: number;
  /** When the host has answered it last, in milliseconds since the epoch; 0 for never. */
  readonly a: number;
}

/** The events of a socket: the letter begins the head of its event, and JSON with the number of the socket and the fields of its kind follows. */
export const SOCKET_EVENTS = { text: 't', binary: 'b', close: 'c', error: 'e' } as const;

export interface SocketEventHead {
  readonly s: number;
  /** The code of a close: 1005 for a close without one, 1006 for a connection that ended without a close. */
  readonly c?: number;
  /** The reason of a close, or the error. */
  readonly r?: string;
}

export const SOCKET_LIMITS = {
  /** The sockets of one object. */
  sockets: 32_768,
  /** The tags of one socket. */
  tags: 10,
  /** The length of one tag, in UTF-16 code units. */
  tagLength: 256,
  /** An attachment, in bytes as it is serialized. */
  attachmentBytes: 16 * 1024,
  /** Request and response of the host, each, in bytes of UTF-8. */
  autoResponseBytes: 2048,
  eventTimeoutMs: 604_800_000,
} as const;

/** The longest JSON of tags: each code unit may take six bytes there. */
export const ACCEPT_BYTES = 32 + SOCKET_LIMITS.tags * (SOCKET_LIMITS.tagLength * 6 + 3);
