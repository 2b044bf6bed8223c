/** Answers the requests of the backend process to the application: calls of its own code, fetches of its own functions, and the spans of traced calls. */

import type { TracedCall } from '../../backend/calls/call-trace.js';
import { type LocalAnswerHead, type LocalHead, parseLocalHead } from '../../backend/wire/local-hop.js';
import { BackendOpens } from '../../backend/wire/messages.js';
import type { HopRequest, LocalSend } from '../../bindings/egress/transport.js';
import type { CallOrigin, Service, ServiceBody } from '../../bindings/service.js';
import type { Exchange } from '../../protocol/exchange.js';
import { ExchangeIo, failureText } from '../../protocol/exchange-io.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { type CallWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { heapBytesOf } from '../../quotas/host/heap-bytes.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { FunctionTable } from './function-table.js';
import type { InvocationReports } from './invocation-reports.js';
import type { RemoteCaller } from './remote-caller.js';
import type { RemoteFunction } from './remote-function.js';

export interface AnsweredHereParts {
  readonly functions: Pick<FunctionTable, 'get'>;
  readonly reports: Pick<InvocationReports, 'caller' | 'countRedirect' | 'countEgress' | 'beginSpan'>;
  share(account: string): HostShare | undefined;
  localSend(account: string, url: URL, origin: CallOrigin | undefined): LocalSend | undefined;
}

export class AnsweredHere {
  readonly #parts: AnsweredHereParts;
  /** The last turns that are waited for. */
  readonly #turns = new Map<HostShare, Promise<unknown>>();

  constructor(parts: AnsweredHereParts) {
    this.#parts = parts;
  }

  answers(kind: number): boolean {
    return kind in BackendOpens;
  }

  async answer(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): Promise<void> {
    if (isComplete) exchange.buffer(body);
    const io = new ExchangeIo(exchange);
    try {
      if (kind === BackendOpens.Call) await this.#call(exchange, io, head, isComplete);
      else if (kind === BackendOpens.Route)
        reply(exchange, this.#route(parseLocalHead(head)) === undefined ? '' : 'local');
      else if (kind === BackendOpens.Local) await this.#local(exchange, io, parseLocalHead(head), isComplete);
      else await this.#traceBegins(exchange, head);
    } catch (error) {
      exchange.fail(failureText(error));
    }
  }

  async #call(exchange: Exchange, io: ExchangeIo, head: string, isComplete: boolean): Promise<void> {
    const [key = '', , , service = '', , binding = ''] = head.split('\n', 6);
    const fn = this.#parts.functions.get(Number(key));
    const answering = fn?.services.get(Number(service))?.services.get(binding);
    if (fn === undefined || answering === undefined)
      throw new TypeError(`The function has no binding ${JSON.stringify(binding)}`);
    // The backend process has read them as they came, and all accounts share the connection.
    const share = this.#parts.share(fn.record.account);
    const answer = (): Promise<void> => this.#answerCall(exchange, io, head, isComplete, fn, answering, share);
    await this.#inTurn(share, answer);
  }

  async #answerCall(
    exchange: Exchange,
    io: ExchangeIo,
    head: string,
    isComplete: boolean,
    fn: RemoteFunction,
    answering: Service,
    share: HostShare | undefined,
  ): Promise<void> {
    if (exchange.isFinished) return;
    const began = performance.now();
    const fields = head.split('\n', 7);
    const [, connection = '', id = '', , method = '', , trace = ''] = fields;
    const traceHeaders: string[] = JSON.parse(trace); // written by the backend process, as is what follows
    const argumentText = head.slice(fields.join('\n').length + 1);
    const args: unknown = JSON.parse(argumentText);
    const argumentBytes = heapBytesOf(args, argumentText.length);
    const caller = this.#parts.reports.caller(Number(connection), Number(id));
    share?.bytes.countHeap(argumentBytes);
    try {
      const replying = within(caller, () =>
        answering({
          method,
          args,
          body: bodyOf(exchange, io, isComplete),
          signal: io.signal,
          work: this.#work(fn, caller, Number(connection), Number(id)),
          origin: caller,
          ...(traceHeaders.length > 0 && { traceHeaders }),
        }),
      );
      share?.charge(performance.now() - began);
      const answer = await replying;
      const status = answer.isOpen === true ? 101 : 200;
      const body = answer.body ?? null;
      const replyHead = JSON.stringify(answer.head ?? null);
      if (isWhole(body)) exchange.reply(status, replyHead, true, body, true);
      else await within(caller, () => sendStream(exchange, io, status, replyHead, body));
    } finally {
      share?.bytes.countHeap(-argumentBytes);
    }
  }

  /** Begins the work when its account may continue. Works of one account begin in order: one that finds no debt still waits for those before it. */
  async #inTurn(share: HostShare | undefined, work: () => Promise<void>): Promise<void> {
    const before = share && this.#turns.get(share);
    const turn = before === undefined ? share?.turn() : before.then(() => share?.turn());
    if (share === undefined || turn === undefined) return work();
    const begins = turn.then(() => {
      if (this.#turns.get(share) === begins) this.#turns.delete(share);
      return { done: work() };
    });
    this.#turns.set(share, begins);
    await (await begins).done;
  }

  #route({ key, connection, id, url: text }: LocalHead): { send: LocalSend; work: CallWork } | undefined {
    const fn = this.#parts.functions.get(key);
    if (fn === undefined) return undefined;
    const url = new URL(text);
    fn.checkUrl(url);
    const caller = this.#parts.reports.caller(connection, id);
    const local = this.#parts.localSend(fn.record.account, url, caller);
    return local && { send: local, work: this.#work(fn, caller, connection, id) };
  }

  async #local(exchange: Exchange, io: ExchangeIo, head: LocalHead, isComplete: boolean): Promise<void> {
    const fn = this.#parts.functions.get(head.key);
    const share = fn && this.#parts.share(fn.record.account);
    await this.#inTurn(share, () => this.#answerLocal(exchange, io, head, isComplete, fn, share));
  }

  async #answerLocal(
    exchange: Exchange,
    io: ExchangeIo,
    head: LocalHead,
    isComplete: boolean,
    fn: RemoteFunction | undefined,
    share: HostShare | undefined,
  ): Promise<void> {
    if (exchange.isFinished) return;
    const began = performance.now();
    const route = this.#route(head);
    if (route === undefined || fn === undefined) throw new TypeError('No function answers the URL any more');
    await within(this.#parts.reports.caller(head.connection, head.id), async () => {
      const request: HopRequest = {
        account: fn.record.account,
        function: fn.record.function,
        method: head.method,
        url: new URL(head.url),
        headers: head.headers,
        body: bodyOf(exchange, io, isComplete),
        contentLength: head.contentLength,
        signal: io.signal,
        work: route.work,
      };
      const sending = route.send(request);
      share?.charge(performance.now() - began);
      const answer = await sending;
      if (answer === undefined) throw new TypeError('No function answers the URL any more');
      const { body, ...rest } = answer;
      const answerHead = JSON.stringify(rest satisfies LocalAnswerHead);
      if (isWhole(body)) exchange.reply(200, answerHead, true, body, true);
      else await sendStream(exchange, io, 200, answerHead, body);
    });
  }

  async #traceBegins(exchange: Exchange, text: string): Promise<void> {
    const [connection = '', id = ''] = text.split('\n', 2);
    const call: TracedCall = JSON.parse(text.slice(connection.length + id.length + 2)); // written by the backend process
    const caller = this.#parts.reports.caller(Number(connection), Number(id));
    const trace = await caller?.trace?.beginCall(call);
    const span = trace === undefined || caller === undefined ? 0 : this.#parts.reports.beginSpan(trace, caller);
    reply(exchange, JSON.stringify({ span, headers: trace?.headers ?? [] }));
  }

  #work({ record }: RemoteFunction, caller: RemoteCaller | undefined, connection: number, id: number): CallWork {
    const share = this.#parts.share(record.account);
    return share === undefined ? OWN_WORK : new AnsweredWork(this.#parts, share, caller, connection, id);
  }
}

/** The work of a call that is answered here: the application's part is charged here, and the backend process counts the call. */
class AnsweredWork implements CallWork {
  readonly owner: HostShare;
  readonly #parts: AnsweredHereParts;
  readonly #caller: RemoteCaller | undefined;
  readonly #connection: number;
  readonly #id: number;

  constructor(
    parts: AnsweredHereParts,
    share: HostShare,
    caller: RemoteCaller | undefined,
    connection: number,
    id: number,
  ) {
    this.owner = share;
    this.#parts = parts;
    this.#caller = caller;
    this.#connection = connection;
    this.#id = id;
  }

  charge(ms: number): void {
    this.owner.charge(ms);
    this.#caller?.charge(ms);
  }

  turn(): Promise<void> | undefined {
    return this.owner.turn();
  }

  countBytes(bytes: number): void {
    this.owner.bytes.countBuffers(bytes);
  }

  room(): Promise<void> | undefined {
    return this.owner.room();
  }

  openDescriptor(): void {
    this.owner.openDescriptor();
  }

  closeDescriptor(): void {
    this.owner.closeDescriptor();
  }

  countRedirect(hop: number): Promise<void> {
    return this.#parts.reports.countRedirect(this.#connection, this.#id, hop);
  }

  countEgress(sentBytes: number, receivedBytes: number): void {
    this.#parts.reports.countEgress(this.#connection, this.#id, sentBytes, receivedBytes);
  }
}

/** All applications' calls come on one connection: each is answered in the context of the invocation that makes it. */
function within<T>(caller: RemoteCaller | undefined, run: () => T): T {
  return caller === undefined ? withoutCaller(run) : caller.caller.runInAsyncScope(run);
}

function reply(exchange: Exchange, head: string): void {
  exchange.reply(200, head, true, null, true);
}

function bodyOf(exchange: Exchange, io: ExchangeIo, isComplete: boolean): ServiceBody | null {
  return isComplete ? (exchange.read(Number.MAX_SAFE_INTEGER) ?? null) : io.chunks();
}

function isWhole(body: ServiceBody | AsyncIterable<Uint8Array> | null): body is Uint8Array | null {
  return body === null || body instanceof Uint8Array;
}

async function sendStream(
  exchange: Exchange,
  io: ExchangeIo,
  status: number,
  head: string,
  body: Exclude<ServiceBody, Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<void> {
  exchange.reply(status, head, true, null, false);
  await io.send(body);
}
