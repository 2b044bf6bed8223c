/** The joint between the calls of a function and the services. */
import { type BindingDefinition, methodOf } from '../../bindings/binding.js';
import type {
  CallOrigin,
  Cancellation,
  Service,
  ServiceBody,
  ServiceCall,
  ServiceReply,
} from '../../bindings/service.js';
import type { Exchange } from '../../protocol/exchange.js';
import { ExchangeIo, failureText } from '../../protocol/exchange-io.js';
import type { Connection } from '../../quotas/connection-limiter.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { heapBytesOf } from '../../quotas/host/heap-bytes.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { CALL_HEAD_BYTES } from '../../quotas/service-calls.js';
import type { InvocationAccounting } from './accounting.js';
import type { CallTrace, CallTracer } from './call-trace.js';
import { FunctionReads, meteredAnswer, meteredUpload } from './metered-bodies.js';

/** The services that one function may call, by number. A missing number belongs to no service. */
export type FunctionServices = ReadonlyMap<number, ServiceEntry>;

export interface ServiceEntry {
  readonly definition: BindingDefinition;
  /** By binding name: a function reaches only what it is bound to. A service that every function has stands under the empty name. */
  readonly services: ReadonlyMap<string, Service>;
}

/** The head of a call: "method\nbinding\narguments as JSON", or "method length\n..." for a body whose length is known. Written by the function. */
interface CallHead {
  readonly method: string;
  readonly bodyBytes: number | undefined;
  readonly binding: string;
  /** Parsed when the call's turn comes: a waiting call takes no more than its text. */
  readonly argumentText: string;
}

/** The records of an open call: its promises, its place in the queue for a connection (measured, Node 20.20). */
const CALL_BYTES = 5 * 1024;

/** Runs one call and answers it on its exchange; never rejects. @returns the text of the failure that it was answered with; undefined: it has succeeded */
export async function answerCall(
  { definition, services }: ServiceEntry,
  accounting: InvocationAccounting,
  exchange: Exchange,
  headText: string,
  isComplete: boolean,
  trace?: CallTracer,
): Promise<string | undefined> {
  const { work } = accounting;
  const io = new ExchangeIo(exchange, accounting.pace);
  let connection: Connection | undefined;
  let heldBytes = CALL_BYTES;
  let traced: CallTrace | undefined;
  let used: (() => void) | undefined;
  let failure: unknown;
  let answer: unknown;
  accounting.countHeld(heldBytes);
  try {
    work.charge(HOST_COSTS.callMs);
    const head = splitHead(headText);
    const {
      holdsConnection,
      headBytes = CALL_HEAD_BYTES,
      continues,
      usesConnection,
    } = methodOf(definition, head.method);
    // Count before the lookup, so that calls to unknown bindings are limited too.
    if (continues !== true) accounting.countCall(definition.subrequest);
    if (usesConnection === true) used = accounting.gate.use();
    accounting.checkHead(head.method, head.argumentText, headBytes);
    const service = services.get(head.binding);
    if (service === undefined) throw new TypeError(`The function has no binding ${JSON.stringify(head.binding)}`);
    const parsingMs = costOf(head.argumentText.length, HOST_COSTS.jsonMbMs);
    if (holdsConnection === true) connection = accounting.gate.tryOpen();
    if (holdsConnection !== true || connection !== undefined) accounting.bill(parsingMs);
    else {
      connection = await accounting.gate.open(io.signal);
      work.charge(parsingMs);
    }
    const args: unknown = JSON.parse(head.argumentText);
    const argumentBytes = heapBytesOf(args, head.argumentText.length);
    accounting.countHeld(argumentBytes);
    heldBytes += argumentBytes;
    if (trace !== undefined && definition.tracesItself !== true)
      traced = await trace.beginCall({ service: definition.name, method: head.method, binding: head.binding, args });
    if (head.bodyBytes !== undefined) exchange.expect(head.bodyBytes);
    const body = incomingBody(exchange, io, isComplete, connection);
    const reply = await service(new FunctionCall(head.method, args, body, traced, io, accounting));
    answer = reply.head;
    connection?.answered();
    if (reply.isOpen === true) connection?.close();
    else if (connection !== undefined && hasBody(reply)) {
      // Before the answer is sent, or the function may have read it before it is known that it must.
      const isWhole = reply.body instanceof Uint8Array;
      const reads = reply.closed === undefined ? undefined : new FunctionReads(connection);
      accounting.hold(exchange.id, connection, isWhole ? undefined : error => io.cancel(error), reads);
      await send(exchange, io, reply, connection, reads);
      if (reply.closed !== undefined) await reply.closed;
      if (exchange.incoming === 'failed' || reply.closed !== undefined) accounting.release(exchange.id);
      else accounting.sent(exchange.id);
      return undefined;
    }
    await send(exchange, io, reply, reply.isOpen === true ? undefined : connection);
    connection?.close();
    return undefined;
  } catch (error) {
    failure = connection?.error ?? error;
    const text = failureText(failure);
    exchange.fail(text);
    accounting.release(exchange.id);
    connection?.close();
    return text;
  } finally {
    accounting.countHeld(-heldBytes);
    used?.();
    traced?.end(failure, answer);
  }
}

/**
 * A call as a service gets it, with an abort signal for services that ask for one. A class: V8 makes a dictionary of each object literal that has a
 * getter, which takes ten times as long and keeps the collector busy (measured, Node 20.20).
 */
class FunctionCall implements ServiceCall {
  readonly method: string;
  readonly args: unknown;
  readonly body: ServiceBody | null;
  readonly traceHeaders: readonly string[] | undefined;
  readonly work: CallWork;
  readonly origin: CallOrigin | undefined;
  readonly onlySendsBody = true;
  readonly #io: ExchangeIo;

  constructor(
    method: string,
    args: unknown,
    body: ServiceBody | null,
    trace: CallTrace | undefined,
    io: ExchangeIo,
    { work, origin }: InvocationAccounting,
  ) {
    this.method = method;
    this.args = args;
    this.body = body;
    this.traceHeaders = trace?.headers;
    this.work = work;
    this.origin = origin;
    this.#io = io;
  }

  get signal(): AbortSignal {
    return this.#io.signal;
  }

  get cancellation(): Cancellation {
    return this.#io.cancellation;
  }

  get isGivenUp(): boolean {
    return this.#io.isFailed;
  }
}

function hasBody({ body = null }: ServiceReply): boolean {
  return body !== null && !(body instanceof Uint8Array && body.length === 0);
}

async function send(
  exchange: Exchange,
  io: ExchangeIo,
  reply: ServiceReply,
  connection: Connection | undefined,
  reads?: FunctionReads,
): Promise<void> {
  const head = reply.headText ?? JSON.stringify(reply.head ?? null);
  const body = reply.body ?? null;
  if (body === null || body instanceof Uint8Array) {
    exchange.reply(200, head, true, body, true);
    return;
  }
  exchange.reply(200, head, true, null, false);
  if (reads !== undefined) await io.send(reads.metered(body));
  else await io.send(connection === undefined ? body : meteredAnswer(body, connection));
}

function incomingBody(
  exchange: Exchange,
  io: ExchangeIo,
  isComplete: boolean,
  connection: Connection | undefined,
): ServiceBody | null {
  if (!isComplete) return connection === undefined ? io.chunks() : meteredUpload(io.chunks(), connection);
  const bytes = exchange.read(Number.MAX_SAFE_INTEGER);
  return bytes ?? null;
}

/** @throws TypeError for a malformed head */
export function splitHead(text: string): CallHead {
  const methodEnd = text.indexOf('\n');
  const bindingEnd = text.indexOf('\n', methodEnd + 1);
  if (methodEnd < 0 || bindingEnd < 0) throw new TypeError('The call is malformed');
  const lengthAt = text.lastIndexOf(' ', methodEnd);
  const bodyBytes = lengthAt < 0 ? undefined : Number(text.slice(lengthAt + 1, methodEnd));
  if (bodyBytes !== undefined && !Number.isSafeInteger(bodyBytes)) throw new TypeError('The call is malformed');
  return {
    method: text.slice(0, lengthAt < 0 ? methodEnd : lengthAt),
    bodyBytes,
    binding: text.slice(methodEnd + 1, bindingEnd),
    argumentText: text.slice(bindingEnd + 1),
  };
}
