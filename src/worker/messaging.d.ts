/** Copies of values, and messages within a function. */

type Transferable = MessagePort | ArrayBuffer | ReadableStream | WritableStream | TransformStream;

interface StructuredSerializeOptions {
  transfer?: Transferable[];
}

declare function structuredClone<T>(value: T, options?: StructuredSerializeOptions): T;

interface MessageEventInit<T = unknown> extends EventInit {
  data?: T;
  lastEventId?: string;
  origin?: string;
  ports?: MessagePort[];
  source?: MessagePort | null;
}

interface MessageEvent<T = any> extends Event {
  readonly data: T;
  readonly lastEventId: string;
  readonly origin: string;
  readonly ports: readonly MessagePort[];
  readonly source: MessagePort | null;
  /** @deprecated what the constructor does */
  initMessageEvent(
    type: string,
    bubbles?: boolean,
    cancelable?: boolean,
    data?: unknown,
    origin?: string,
    lastEventId?: string,
    source?: MessagePort | null,
    ports?: MessagePort[],
  ): void;
}
declare var MessageEvent: EventPhases & {
  prototype: MessageEvent;
  new <T>(type: string, init?: MessageEventInit<T>): MessageEvent<T>;
};

interface MessagePort extends EventTarget {
  onmessage: ((this: MessagePort, event: MessageEvent) => unknown) | null;
  onmessageerror: ((this: MessagePort, event: MessageEvent) => unknown) | null;
  close(): void;
  postMessage(message: unknown, transfer: Transferable[]): void;
  postMessage(message: unknown, options?: StructuredSerializeOptions): void;
  start(): void;
  addEventListener(
    type: 'message' | 'messageerror',
    listener: (this: MessagePort, event: MessageEvent) => unknown,
    options?: AddEventListenerOptions | boolean,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
}
declare var MessagePort: { prototype: MessagePort };

interface MessageChannel {
  readonly port1: MessagePort;
  readonly port2: MessagePort;
}
declare var MessageChannel: { prototype: MessageChannel; new (): MessageChannel };
