/**
 * Answers the calls of one application over its connection. The application is trusted, but not what its customers gave it: arguments of buckets are
 * checked by the bucket and by its service, and bodies have the bounds of the call.
 */

import type { ServiceReply } from '../../../bindings/service.js';
import type { Channel } from '../../../protocol/channel.js';
import type { Exchange } from '../../../protocol/exchange.js';
import { detached } from '../../../quotas/guarded.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import { ApplicationSignal } from '../../wire/messages.js';
import { CALLS_AT_ONCE, MAX_PACKET_BYTES, unpackValue } from '../../wire/packets.js';
import { ContractServer, type ServedMethod } from './contract-server.js';
import { type ConnectionParts, valueHandlers } from './handlers.js';
import { ServedCall } from './served-call.js';
import { ServedLocks } from './served-locks.js';
import type { ServedObjects } from './served-objects.js';
import { ServedParts } from './served-parts.js';
import { ServedQueues } from './served-queues.js';
import { ServedRemovals } from './served-removals.js';
import { ServedServices } from './served-services.js';
import type { ValueHandlers } from './value-handlers.js';

export class RemoteServer {
  readonly #channel: Channel;
  readonly #parts: ConnectionParts;
  readonly #handlers: ValueHandlers;
  readonly #ofStorage: ServedParts;
  readonly #contracts: ContractServer;

  constructor(channel: Channel, objects: ServedObjects) {
    this.#channel = channel;
    const announce: ConnectionParts['announce'] = change => objects.announce(channel, change);
    this.#parts = {
      queues: new ServedQueues(objects.seats),
      announce,
      removals: new ServedRemovals(objects, announce),
      services: new ServedServices(objects.service),
      locks: new ServedLocks(objects.locks),
      onChange: (name, keys) => objects.onChange?.(channel, name, keys),
    };
    this.#handlers = valueHandlers(objects.store, this.#parts);
    this.#ofStorage = new ServedParts(objects);
    const { rows, directoryOf, workOf } = objects;
    this.#contracts = new ContractServer({ rows, directoryOf, workOf, tracked: this.#parts.queues.tracked });
  }

  /** The application has opened an exchange of the kind ApplicationOpens.Remote: as ChannelOwner.onOpen. */
  onOpen(exchange: Exchange, head: string, body: Buffer, isComplete: boolean): void {
    const name = callName(head);
    if (name === undefined) {
      detached(this.#answerService(exchange, head, body, isComplete));
      return;
    }
    const method = this.#contracts.find(name);
    if (method?.terms.body === undefined) detached(this.#answerValue(exchange, head, body, isComplete));
    else detached(this.#answerBodyCall(method, exchange, head, body, isComplete));
  }

  /** As ChannelOwner.onSignal. */
  onSignal(id: number, kind: number, payload: Buffer): void {
    const listener = this.#channel.find(id)?.listener;
    if (!(listener instanceof ServedCall)) return;
    if (kind === ApplicationSignal.Trailer) listener.trailer = payload.toString();
    else if (kind === ApplicationSignal.Stop) listener.stop();
  }

  /** The connection is closed. */
  close(): void {
    this.#parts.removals.close();
    this.#parts.queues.close();
    this.#parts.locks.close();
    this.#ofStorage.close();
  }

  async #answerService(exchange: Exchange, head: string, body: Buffer, isComplete: boolean): Promise<void> {
    let request: [number: number, method: string, args: unknown, hasBody: boolean];
    try {
      request = JSON.parse(head);
    } catch {
      exchange.fail('The call is malformed');
      return;
    }
    const [number, method, args, hasBody] = request;
    const call = new ServedCall(exchange, method, args, hasBody ? body : null, isComplete);
    try {
      answer(call, await this.#parts.services.of(number)(call));
      this.#channel.flushMany(CALLS_AT_ONCE);
    } catch (error) {
      call.replyError(error);
    }
  }

  /** The value is in the head alone. */
  async #answerBodyCall(
    method: ServedMethod,
    exchange: Exchange,
    head: string,
    body: Buffer,
    isComplete: boolean,
  ): Promise<void> {
    const call = new ServedCall(exchange, '', undefined, body, isComplete);
    try {
      await this.#contracts.answer(call, method, checkedCall(unpackValue(head, NO_BYTES)));
    } catch (error) {
      call.replyError(error);
    }
  }

  async #answerValue(exchange: Exchange, head: string, body: Buffer, isComplete: boolean): Promise<void> {
    const call = new ServedCall(exchange, '', undefined, body, isComplete);
    try {
      // A call that is here as a whole begins before the next one does, which may need what it opens.
      const bytes = call.body instanceof Uint8Array ? call.body : await wholeBody(call);
      const value = checkedCall(unpackValue(head, bytes));
      const [name, ...args] = value;
      const method = this.#contracts.find(name);
      if (method !== undefined) await this.#contracts.answer(call, method, value);
      else call.replyValue(await (this.#ofStorage.find(name) ?? handlerOf(this.#handlers, name))(...args));
    } catch (error) {
      call.replyError(error);
    }
  }
}

/** Undefined for a call of a service. A value whose text is long is one of a call by name. */
function callName(head: string): string | undefined {
  if (!head.startsWith('["')) return head.startsWith('[') ? undefined : '';
  return head.slice(2, head.indexOf('"', 2));
}

function checkedCall(value: unknown): [string, ...unknown[]] {
  if (!Array.isArray(value) || typeof value[0] !== 'string') throw new TypeError('A call has no name');
  return [value[0], ...value.slice(1)];
}

/** The application is of the same version: its arguments have the types of the table. */
function handlerOf(handlers: ValueHandlers, name: string): (...args: unknown[]) => unknown {
  const handler: unknown = Object.hasOwn(handlers, name) ? Reflect.get(handlers, name) : undefined;
  if (typeof handler !== 'function') throw new TypeError(`There is no call ${JSON.stringify(name.slice(0, 100))}`);
  return (...args) => Reflect.apply(handler, undefined, args);
}

async function wholeBody({ body }: ServedCall): Promise<Uint8Array> {
  if (body === null || body instanceof Uint8Array) return body ?? NO_BYTES;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_PACKET_BYTES) throw new RangeError(`A call has more than ${MAX_PACKET_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answer(call: ServedCall, { head, headText, body }: ServiceReply): void {
  const text = headText ?? JSON.stringify(head ?? null);
  if (body !== null && body !== undefined) call.replyWithBody(text, body);
  else call.replyText(text);
}
