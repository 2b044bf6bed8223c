/** WebSockets: of clients, whose request is answered with one end of a pair, and of servers that the function connects to. */

interface CloseEventInit extends EventInit {
  code?: number;
  reason?: string;
  wasClean?: boolean;
}

interface CloseEvent extends Event {
  /** 1005 for a close without a code, 1006 for a connection that has ended without a close. */
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}
declare var CloseEvent: EventPhases & { prototype: CloseEvent; new (type: string, init?: CloseEventInit): CloseEvent };

interface WebSocketEventMap {
  close: CloseEvent;
  error: ErrorEvent;
  message: MessageEvent;
  open: Event;
}

interface WebSocketAcceptOptions {
  /** Taken for compatibility: a close is always answered. */
  allowHalfOpen?: boolean;
}

interface WebSocket extends EventTarget {
  /** The type of received bytes in `data`. @default 'blob' from the compatibility date 2026-03-17 on, 'arraybuffer' before */
  binaryType: 'blob' | 'arraybuffer';
  readonly extensions: string;
  /** The offered protocol that the other end has chosen; '' for none. */
  readonly protocol: string;
  readonly readyState: number;
  /** The URL of a socket made by the constructor; null for all others. */
  readonly url: string | null;
  onclose: ((event: CloseEvent) => unknown) | null;
  onerror: ((event: ErrorEvent) => unknown) | null;
  onmessage: ((event: MessageEvent) => unknown) | null;
  onopen: ((event: Event) => unknown) | null;
  /** Receives messages from now on. A socket made by the constructor needs none of it. */
  accept(options?: WebSocketAcceptOptions): void;
  /** Throws a TypeError before accept() and after close(). Messages that the other end does not take yet wait in the memory of the function. */
  send(message: string | ArrayBuffer | ArrayBufferView): void;
  /** `code`: 1000 to 4999 without 1004, 1005, 1006 and 1015. `reason`: at most 123 bytes. */
  close(code?: number, reason?: string): void;
  /** Keeps a copy of the value with the socket: of one that sleeps for as long as it is open. At most 16,384 bytes when it is serialized. */
  serializeAttachment(value: unknown): void;
  /** A copy of the value; null when none was kept. */
  deserializeAttachment(): any;
  addEventListener<K extends keyof WebSocketEventMap>(
    type: K,
    listener: (event: WebSocketEventMap[K]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;
}
declare var WebSocket: {
  prototype: WebSocket;
  /** Connects: a subrequest, which holds a connection until the socket is open. */
  new (url: string | URL, protocols?: string | string[]): WebSocket;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;
};

/** Two sockets that are each other's ends. One is accepted, the other returned: `new Response(null, { status: 101, webSocket })`. */
interface WebSocketPair {
  [Symbol.iterator](): IterableIterator<WebSocket>;
}
declare var WebSocketPair: {
  prototype: WebSocketPair;
  new (): WebSocketPair & { readonly 0: WebSocket; readonly 1: WebSocket };
};

/** A message that the host answers by itself. @see StatefulObjectState.setWebSocketAutoResponse */
interface WebSocketRequestResponsePair {
  readonly request: string;
  readonly response: string;
}
declare var WebSocketRequestResponsePair: {
  prototype: WebSocketRequestResponsePair;
  /** At most 2,048 bytes each. */
  new (request: string, response: string): WebSocketRequestResponsePair;
};
