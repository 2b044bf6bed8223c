/** MessageChannel, MessagePort and MessageEvent. @see https://html.spec.whatwg.org/multipage/web-messaging.html */
import { arrayIndexOf, arrayPush, arraySlice, objectFreeze, TypeErrorCtor } from '../../primordials.ts';
import {
  defineInterface,
  isObject,
  requireArguments,
  toDictionary,
  toDOMString,
  toSequence,
  toUSVString,
} from '../base/idl.ts';
import { Event, markTrusted } from '../events/event.ts';
import { defineHandler, dispatch, EventTarget, getHandler, setHandler, targetState } from '../events/event-target.ts';
import { startTimer } from '../scheduling/timers.ts';
import { cloneWithTransfer, dataCloneError, registerCloneable, toTransferList } from './structured-clone.ts';

export class MessageEvent extends Event {
  #data: unknown;
  #origin: string;
  #lastEventId: string;
  #source: object | null;
  #ports: readonly object[];

  constructor(type: unknown, init: unknown = undefined) {
    requireArguments(arguments.length, 1, 'MessageEvent constructor');
    super(type, init);
    const { data, origin, lastEventId, source, ports } = toDictionary(init, 'The init of the event') ?? {};
    this.#data = data === undefined ? null : data;
    this.#origin = origin === undefined ? '' : toUSVString(origin);
    this.#lastEventId = lastEventId === undefined ? '' : toDOMString(lastEventId);
    this.#source = toSource(source);
    this.#ports = ports === undefined ? objectFreeze([]) : toPorts(ports);
  }

  get data(): unknown {
    return this.#data;
  }

  get origin(): string {
    return this.#origin;
  }

  get lastEventId(): string {
    return this.#lastEventId;
  }

  get source(): object | null {
    return this.#source;
  }

  get ports(): readonly object[] {
    return this.#ports;
  }

  initMessageEvent(
    type: unknown,
    bubbles: unknown = false,
    cancelable: unknown = false,
    data: unknown = null,
    origin: unknown = '',
    lastEventId: unknown = '',
    source: unknown = null,
    ports: unknown = [],
  ): void {
    requireArguments(arguments.length, 1, 'initMessageEvent');
    this.initEvent(type, bubbles, cancelable);
    this.#data = data;
    this.#origin = toUSVString(origin);
    this.#lastEventId = toDOMString(lastEventId);
    this.#source = toSource(source);
    this.#ports = toPorts(ports);
  }
}

defineInterface(MessageEvent);

function toSource(source: unknown): object | null {
  if (source === undefined || source === null) return null;
  if (!isObject(source) || !isMessagePort(source)) throw new TypeErrorCtor('The source is not a MessagePort');
  return source;
}

function toPorts(ports: unknown): readonly object[] {
  const toPort = (port: unknown): object => {
    if (!isObject(port) || !isMessagePort(port)) throw new TypeErrorCtor('A port is not a MessagePort');
    return port;
  };
  return objectFreeze(toSequence(ports, toPort, 'The ports'));
}

interface Message {
  readonly data: unknown;
  readonly ports: readonly object[];
}

/** One end of a channel; it moves from port to port when a port is transferred. */
interface Endpoint {
  other: Endpoint | undefined;
  owner: MessagePort | undefined;
  queue: Message[];
  isEnabled: boolean;
  isScheduled: boolean;
}

/** The most undelivered messages of a port. Sending another one throws. */
const MAX_QUEUED = 10_000;

let isConstructing = false;
let isMessagePort: (value: object) => value is MessagePort;
let endpointOf: (port: MessagePort) => Endpoint | undefined;
let setEndpoint: (port: MessagePort, endpoint: Endpoint | undefined) => void;

export class MessagePort extends EventTarget {
  #endpoint: Endpoint | undefined;

  constructor() {
    if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
    super();
  }

  postMessage(message: unknown, options: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'MessagePort.postMessage');
    const endpoint = this.#endpoint;
    const list = transferListOf(options);
    if (arrayIndexOf(list, this) >= 0) throw dataCloneError('A port cannot be sent over itself');
    const { value, transferred } = cloneWithTransfer(message, list);
    const target = endpoint?.other;
    if (target === undefined) return;
    if (target.queue.length >= MAX_QUEUED) throw new TypeErrorCtor(`More than ${MAX_QUEUED} messages wait at the port`);
    const ports: object[] = [];
    for (let i = 0; i < transferred.length; i++) {
      const item = transferred[i];
      if (item !== undefined && isMessagePort(item)) arrayPush(ports, item);
    }
    arrayPush(target.queue, { data: value, ports: objectFreeze(ports) });
    schedule(target);
  }

  start(): void {
    const endpoint = this.#endpoint;
    if (endpoint === undefined || endpoint.isEnabled) return;
    endpoint.isEnabled = true;
    schedule(endpoint);
  }

  close(): void {
    const endpoint = this.#endpoint;
    this.#endpoint = undefined;
    if (endpoint === undefined) return;
    endpoint.owner = undefined;
    const { other } = endpoint;
    endpoint.other = undefined;
    if (other === undefined) return;
    other.other = undefined;
    const { owner } = other;
    if (owner !== undefined) startTimer(0, () => dispatch(targetState(owner), markTrusted(new Event('close'))));
  }

  static {
    isMessagePort = (value): value is MessagePort => #endpoint in value;
    endpointOf = port => port.#endpoint;
    setEndpoint = (port, endpoint) => {
      port.#endpoint = endpoint;
    };
  }
}

defineHandler(MessagePort.prototype, 'messageerror');
// Setting onmessage starts the port, addEventListener does not.
const startingPort = {
  get onmessage(): object | null {
    return getHandler(targetState(this), 'message');
  },
  set onmessage(value: unknown) {
    setHandler(targetState(this), 'message', value);
    if (isObject(this) && isMessagePort(this)) this.start();
  },
};
const { get: getOnmessage, set: setOnmessage } = Object.getOwnPropertyDescriptor(startingPort, 'onmessage') ?? {};
const onmessage = { __proto__: null, get: getOnmessage, set: setOnmessage, enumerable: true, configurable: true };
Object.defineProperty(MessagePort.prototype, 'onmessage', onmessage as PropertyDescriptor);
defineInterface(MessagePort);

function transferListOf(options: unknown): object[] {
  if (options === undefined || options === null) return [];
  if (!isObject(options)) throw new TypeErrorCtor('The options of postMessage are not an object');
  const iterator: unknown = (options as Iterable<unknown>)[Symbol.iterator]; // read as unknown
  if (iterator !== undefined && iterator !== null) return toTransferList(options);
  const list = toDictionary(options, 'The options of postMessage')?.transfer;
  return list === undefined ? [] : toTransferList(list);
}

function schedule(endpoint: Endpoint): void {
  if (endpoint.isScheduled || !endpoint.isEnabled || endpoint.queue.length === 0) return;
  endpoint.isScheduled = true;
  startTimer(0, () => deliver(endpoint));
}

/** Each message is a task: the next waits for the next turn. */
function deliver(endpoint: Endpoint): void {
  endpoint.isScheduled = false;
  const { owner } = endpoint;
  const message = endpoint.queue[0];
  if (owner === undefined || message === undefined) return;
  endpoint.queue = endpoint.queue.length === 1 ? [] : arraySlice(endpoint.queue, 1);
  schedule(endpoint);
  const event = new MessageEvent('message', { data: message.data, ports: message.ports });
  dispatch(targetState(owner), markTrusted(event));
}

function createPort(endpoint: Endpoint | undefined): MessagePort {
  isConstructing = true;
  const port = new MessagePort();
  isConstructing = false;
  setEndpoint(port, endpoint);
  if (endpoint !== undefined) endpoint.owner = port;
  return port;
}

function createEndpoint(): Endpoint {
  return { other: undefined, owner: undefined, queue: [], isEnabled: false, isScheduled: false };
}

export class MessageChannel {
  readonly #port1: MessagePort;
  readonly #port2: MessagePort;

  constructor() {
    const first = createEndpoint();
    const second = createEndpoint();
    first.other = second;
    second.other = first;
    this.#port1 = createPort(first);
    this.#port2 = createPort(second);
  }

  get port1(): MessagePort {
    return this.#port1;
  }

  get port2(): MessagePort {
    return this.#port2;
  }
}

defineInterface(MessageChannel);

registerCloneable({
  is: value => isMessagePort(value),
  createTarget: value => {
    if (!isMessagePort(value) || endpointOf(value) === undefined) throw dataCloneError('The port is closed or moved');
    return createPort(undefined);
  },
  move: (value, target) => {
    if (!isMessagePort(value) || !isMessagePort(target)) return;
    const endpoint = endpointOf(value);
    setEndpoint(value, undefined);
    setEndpoint(target, endpoint);
    if (endpoint === undefined) return;
    endpoint.owner = target;
    endpoint.isEnabled = false;
  },
});
