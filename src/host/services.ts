/** The joint between the calls of a function and the services of the host process. */
import type { Service, ServiceBody, ServiceReply } from '../bindings/service.js';
import { ServiceId } from '../bindings/service-id.js';
import type { Exchange } from '../isolate/protocol/exchange.js';
import { ExchangeIo, failureText } from '../isolate/protocol/exchange-io.js';
import type { Connection } from '../quotas/connection-gate.js';
import { EdgeError } from '../quotas/errors.js';
import { heapBytesOf } from '../quotas/host/heap-bytes.js';
import { costOf, HOST_COSTS } from '../quotas/host/host-costs.js';
import type { Ledger } from './ledger.js';
import { meteredAnswer, meteredUpload } from './metered-bodies.js';

/** The services that one function may call. */
export interface FunctionServices {
  /** Outgoing fetch of one invocation; `onHop` is called before each hop, and may refuse it. */
  readonly fetch: (onHop: (url: URL, hop: number) => void) => Service;
  /** By binding name: a function reaches only the buckets it is bound to. */
  readonly buckets: ReadonlyMap<string, Service>;
  /** Those that a function has without a binding. The package has none yet. @default none */
  readonly more?: ReadonlyMap<ServiceId, Service>;
}

/** What a function reads when it calls what is not there yet. */
const NOT_YET: Readonly<Partial<Record<ServiceId, string>>> = {
  [ServiceId.Cache]: 'Caches',
};

/** The head of a call: "method\nbinding\narguments as JSON". Written by the function. */
interface CallHead {
  readonly method: string;
  /** For services that have several. */
  readonly binding: string;
  /** Parsed when the call's turn comes: what waits takes no more than its text. */
  readonly argumentText: string;
}

/** Of the records of a call that is under way: its promises, its place in the queue for a connection (measured, Node 20.20). */
const CALL_BYTES = 5 * 1024;

/** Runs one call and answers it on its exchange; never rejects. */
export async function answerCall(
  services: FunctionServices,
  ledger: Ledger,
  exchange: Exchange,
  serviceId: ServiceId,
  headText: string,
  isComplete: boolean,
): Promise<void> {
  const { work } = ledger;
  const io = new ExchangeIo(exchange, ledger.pace);
  let connection: Connection | undefined;
  let heldBytes = CALL_BYTES;
  ledger.countHeld(heldBytes);
  try {
    work.charge(HOST_COSTS.callMs);
    const head = splitHead(headText);
    // First, so that calls of what is not there are not without end.
    const needsConnection = ledger.countCall(serviceId, head.method);
    ledger.checkHead(serviceId, head.method, head.argumentText);
    const service = find(services, ledger, serviceId, head);
    if (needsConnection) connection = ledger.gate.tryOpen() ?? (await ledger.gate.open(io.signal));
    work.charge(costOf(head.argumentText.length, HOST_COSTS.jsonMbMs));
    const args: unknown = JSON.parse(head.argumentText);
    const argumentBytes = heapBytesOf(args, head.argumentText.length);
    ledger.countHeld(argumentBytes);
    heldBytes += argumentBytes;
    const reply = await service({
      method: head.method,
      args,
      body: incomingBody(exchange, io, isComplete, connection),
      get signal() {
        return io.signal;
      },
      work,
    });
    connection?.answered();
    if (connection !== undefined && hasBody(reply)) {
      // Before the answer is sent, or the function may have read it before it is known that it must.
      ledger.hold(exchange.id, connection);
      await send(exchange, io, reply, connection);
      if (exchange.incoming === 'failed') ledger.release(exchange.id);
      else ledger.sent(exchange.id);
      return;
    }
    await send(exchange, io, reply, connection);
    connection?.close();
  } catch (error) {
    exchange.fail(failureText(connection?.error ?? error));
    ledger.release(exchange.id);
    connection?.close();
  } finally {
    ledger.countHeld(-heldBytes);
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
): Promise<void> {
  const head = JSON.stringify(reply.head ?? null);
  const body = reply.body ?? null;
  if (body === null || body instanceof Uint8Array) {
    exchange.reply(200, head, true, body, true);
    return;
  }
  exchange.reply(200, head, true, null, false);
  connection?.signal.addEventListener('abort', () => io.cancel(connection.error), { once: true });
  await io.send(connection === undefined ? body : meteredAnswer(body, connection));
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

function splitHead(text: string): CallHead {
  const methodEnd = text.indexOf('\n');
  const bindingEnd = text.indexOf('\n', methodEnd + 1);
  if (methodEnd < 0 || bindingEnd < 0) throw new TypeError('The call is malformed');
  return {
    method: text.slice(0, methodEnd),
    binding: text.slice(methodEnd + 1, bindingEnd),
    argumentText: text.slice(bindingEnd + 1),
  };
}

function find(services: FunctionServices, ledger: Ledger, serviceId: ServiceId, head: CallHead): Service {
  // The first hop was counted with the call.
  if (serviceId === ServiceId.Fetch) return services.fetch((_url, hop) => hop > 0 && ledger.countRedirect(hop));
  const service = serviceId === ServiceId.Bucket ? services.buckets.get(head.binding) : services.more?.get(serviceId);
  if (service !== undefined) return service;
  const what = NOT_YET[serviceId];
  if (what === undefined) throw new TypeError(`The function has no binding ${JSON.stringify(head.binding)}`);
  throw new EdgeError('EDGE_NOT_SUPPORTED', `${what} are not supported by this version of EdgeHost`);
}
