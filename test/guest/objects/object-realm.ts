/** A realm with the storage of objects alone, whose calls are answered by the service itself: the test is the isolate between them. */
import type { Service, ServiceCall, ServiceReply } from '../../../src/bindings/service.js';
import { BODY_NONE, Ev, Op } from '../../../src/isolate/ops/table.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { guestModules } from '../guest-modules.js';

export interface TestGates {
  closeInput(): () => void;
  holdOutput(written: Promise<void>): void;
}

/** The methods of `ctx.storage` that tests call. */
export interface TestStorage {
  get(key: unknown, options?: unknown): Promise<unknown>;
  put(key: unknown, value?: unknown, options?: unknown): Promise<void>;
  delete(key: unknown, options?: unknown): Promise<unknown>;
  list(options?: unknown): Promise<Map<string, unknown>>;
  deleteAll(options?: unknown): Promise<void>;
  sync(): Promise<void>;
  getAlarm(options?: unknown): Promise<number | null>;
  setAlarm(time: unknown, options?: unknown): Promise<void>;
  deleteAlarm(options?: unknown): Promise<void>;
  transaction(closure: (txn: TestTransaction) => unknown): Promise<unknown>;
  transactionSync(closure: () => unknown): unknown;
}

export interface TestTransaction extends TestStorage {
  rollback(): void;
}

interface Modules {
  'objects/storage/object-storage': {
    createObjectStorage(context: {
      className: string;
      id: string;
      gates: TestGates;
      hasAlarmHandler: boolean;
      deletesAlarm?: boolean;
    }): TestStorage;
    endObjectStorage(storage: object, error?: unknown): void;
  };
  'events/invocation': { GuestInvocation: new (id: number) => { endTask(): void } };
}

const newRealm = await guestModules<Modules>('objects/storage/object-storage', 'events/invocation');

const INVOCATION = 2;

export interface SeenCall {
  readonly method: string;
  readonly args: { readonly [name: string]: unknown };
  readonly bodyBytes: number;
}

export class ObjectRealm {
  readonly realm = newRealm();
  /** All that were made, in their order. */
  readonly calls: SeenCall[] = [];
  readonly #service: Service;
  readonly #bodies = new Map<number, Uint8Array>();
  readonly #outgoing = new Map<number, { readonly text: string; readonly pieces: Uint8Array[] }>();
  #next = 100;
  /** Called before a call is answered, and may change what it is answered with. */
  answering: (call: SeenCall) => Promise<void> | undefined = () => undefined;

  constructor(service: Service) {
    this.#service = service;
    const { realm } = this;
    new realm.modules['events/invocation'].GuestInvocation(INVOCATION);
    realm.answer(Op.CurrentInvocation, () => INVOCATION);
    realm.answer(Op.TextLength, text => Buffer.byteLength(String(text)));
    realm.answer(Op.TextEncode, (text, target) => {
      if (!ArrayBuffer.isView(target)) throw new TypeError('No bytes');
      return new TextEncoder().encodeInto(
        String(text),
        Buffer.from(target.buffer, target.byteOffset, target.byteLength),
      ).read;
    });
    realm.answer(Op.TextDecode, (bytes, _label, flags) => {
      if (!ArrayBuffer.isView(bytes)) throw new TypeError('No bytes');
      return new TextDecoder('utf-8', { ignoreBOM: Number(flags) !== 0 }).decode(
        Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      );
    });
    realm.answer(Op.Call, (_service, head) => this.#call(String(head), null));
    realm.answer(Op.CallBytes, (_service, head, body) => this.#call(String(head), copyOf(body)));
    realm.answer(Op.CallStream, (_service, head) => {
      const exchange = this.#next++;
      this.#outgoing.set(exchange, { text: String(head), pieces: [] });
      return exchange;
    });
    realm.answer(Op.BodyWrite, (exchange, piece) => {
      this.#outgoing.get(Number(exchange))?.pieces.push(copyOf(piece));
      return 1;
    });
    realm.answer(Op.BodyEnd, exchange => {
      const sent = this.#outgoing.get(Number(exchange));
      if (sent !== undefined) void this.#answer(Number(exchange), sent.text, Buffer.concat(sent.pieces));
      return undefined;
    });
    realm.answer(Op.BodyRead, (exchange, target) => {
      const body = this.#bodies.get(Number(exchange));
      if (body === undefined || !ArrayBuffer.isView(target)) throw new TypeError('No body');
      Buffer.from(target.buffer, target.byteOffset, target.byteLength).set(body);
      return body.byteLength;
    });
  }

  storage(
    id: string,
    options: { readonly gates?: TestGates; readonly hasAlarmHandler?: boolean; readonly deletesAlarm?: boolean } = {},
  ): TestStorage {
    const { gates = openGates(), hasAlarmHandler = true, deletesAlarm = false } = options;
    const { createObjectStorage } = this.realm.modules['objects/storage/object-storage'];
    return createObjectStorage({ className: 'Room', id, gates, hasAlarmHandler, deletesAlarm });
  }

  end(storage: TestStorage): void {
    this.realm.modules['objects/storage/object-storage'].endObjectStorage(storage);
  }

  /** Values of the realm are not those of the test: a copy that is. */
  static plain(value: unknown): unknown {
    return structuredClone(value);
  }

  #call(text: string, body: Uint8Array | null): number {
    const exchange = this.#next++;
    void this.#answer(exchange, text, body);
    return exchange;
  }

  async #answer(exchange: number, text: string, body: Uint8Array | null): Promise<void> {
    const [first = '', , args = ''] = text.split('\n');
    // The length of a body that is known stands behind the method.
    const [method = ''] = first.split(' ');
    const call: SeenCall = { method, args: JSON.parse(args), bodyBytes: body?.byteLength ?? 0 };
    this.calls.push(call);
    let reply: ServiceReply;
    try {
      const answered = this.#service(callOf(call, body));
      await this.answering(call);
      reply = await answered;
    } catch (error) {
      this.realm.enter(Ev.CallFailed, exchange, failureText(error));
      return;
    }
    const answer = reply.body instanceof Uint8Array ? reply.body : undefined;
    if (answer !== undefined) this.#bodies.set(exchange, answer);
    const size = answer === undefined || answer.byteLength === 0 ? BODY_NONE : answer.byteLength;
    this.realm.enter(Ev.CallReply, exchange, 200, JSON.stringify(reply.head ?? null), size);
    this.#bodies.delete(exchange);
  }
}

export function openGates(): TestGates {
  return {
    closeInput: () => () => {},
    holdOutput: written => void written.catch(() => {}),
  };
}

function callOf({ method, args }: SeenCall, body: Uint8Array | null): ServiceCall {
  return { method, args, body, signal: new AbortController().signal, work: OWN_WORK };
}

function failureText(error: unknown): string {
  if (!(error instanceof Error)) return 'Error\nfailed\n';
  const code: unknown = Reflect.get(error, 'code');
  return `${error.name}\n${error.message}\n${typeof code === 'string' ? code : ''}`;
}

function copyOf(bytes: unknown): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) throw new TypeError('No bytes');
  return new Uint8Array(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
