/** Sockets in responses: of the answer to a request that asks for one, and of the answer to a fetch. */
import { JOIN } from '../../bindings/objects/socket-wire.ts';
import { Op } from '../../isolate/ops/table.ts';
import { ServiceId } from '../../quotas/service-calls.ts';
import { op } from '../bridge.ts';
import { callOpen } from '../call-service.ts';
import type { CallListener } from '../open-calls.ts';
import { arrayPush, TypeErrorCtor } from '../primordials.ts';
import { isObject } from '../web/base/idl.ts';
import { HostLink } from './host-link.ts';
import type { Link } from './link.ts';
import { PairLink } from './pair-link.ts';
import { createWebSocket, SocketState, socketState, type WebSocket } from './web-socket.ts';

/** The socket of a response to a fetch, until it is accepted or returned: nothing of it has been read. */
class FetchedLink implements Link {
  readonly exchange: number;
  readonly #owner: SocketState;

  constructor(exchange: number, owner: SocketState) {
    this.exchange = exchange;
    this.#owner = owner;
  }

  /** It was accepted. */
  start(): void {
    const link = new HostLink(this.exchange, this.#owner, () => {});
    this.#owner.link = link;
    link.start();
  }

  // It cannot send before it is accepted.
  send(): void {}
  close(): void {}
}

/**
 * A socket that sleeps in the host. Code that accepts it here becomes its client. As any other call, the acceptance waits until the writes before it are
 * on disk, and messages that are sent meanwhile wait behind it.
 */
class HandedLink implements Link {
  readonly number: number;
  readonly #owner: SocketState;
  #waiting: ((link: Link) => void)[] = [];

  constructor(number: number, owner: SocketState) {
    this.number = number;
    this.#owner = owner;
  }

  /** It was accepted. */
  start(): void {
    const owner = this.#owner;
    let link: HostLink | undefined;
    const reply: CallListener = {
      onReply: () => link?.start(),
      onFailed: makeError => {
        const error = makeError();
        owner.onLost(isObject(error) && 'message' in error ? `${error.message}` : '');
      },
    };
    callOpen(ServiceId.ObjectSockets, `${JOIN}\n\n{"w":${this.number}}`, reply, exchange => {
      link = new HostLink(exchange, owner, () => {});
      owner.link = link;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (let i = 0; i < waiting.length; i++) waiting[i]?.(link);
    });
  }

  send(data: string | Uint8Array): void {
    arrayPush(this.#waiting, link => link.send(data));
  }

  close(code: number, reason: string): void {
    arrayPush(this.#waiting, link => link.close(code, reason));
  }
}

/** The socket of an object that has accepted it to sleep, for the response of a fetch. */
export function handedSocket(number: number, protocol: string): WebSocket {
  const state = new SocketState();
  state.protocol = protocol;
  state.link = new HandedLink(number, state);
  return createWebSocket(state);
}

/**
 * The answer with a socket that sleeps is complete at once: the host has both ends. `listener` gets its body, which names the
 * socket (host/hibernation/handed-sockets.ts), or the error of an answer without one. False for any other socket.
 */
export function answerSleeping(
  state: SocketState,
  listener: (key: string, failure: { readonly error: unknown } | undefined) => void,
): boolean {
  const { link } = state;
  if (link instanceof HandedLink) {
    state.use = 'given';
    listener(`h${link.number}`, undefined);
    return true;
  }
  const sleeping = link instanceof PairLink ? link.sleeping : undefined;
  if (sleeping === undefined) return false;
  state.use = 'given';
  sleeping.whenAccepted(failure => listener(`o${sleeping.socket}`, failure));
  return true;
}

/** The socket of the other end, for the response of a fetch that the server has answered with 101. */
export function fetchedSocket(exchange: number, protocol: string): WebSocket {
  const state = new SocketState();
  state.protocol = protocol;
  state.link = new FetchedLink(exchange, state);
  return createWebSocket(state);
}

/** Checks that a socket may be returned in a response. */
export function takeSocket(socket: WebSocket): SocketState {
  const state = socketState(socket);
  if (state.use === 'accepted') throw new TypeErrorCtor("Can't return WebSocket in a Response after calling accept().");
  if (state.use === 'given' || state.link === undefined) {
    throw new TypeErrorCtor(
      "Can't return WebSocket that was already used in a response, or was made by its constructor.",
    );
  }
  return state;
}

/**
 * The socket takes over the exchange of the invocation: the other end of the pair has it, or the connection that was fetched, and then none of its bytes come
 * here. Answers whether the invocation stays open until `onOver` is called.
 */
export function joinSocket(state: SocketState, exchange: number, onOver: (isLost: boolean) => void): boolean {
  const { link } = state;
  state.use = 'given';
  if (link instanceof FetchedLink) {
    op(Op.BodyPipe, link.exchange, exchange);
    op(Op.BodyPipe, exchange, link.exchange);
    return false;
  }
  if (!(link instanceof PairLink) || link.other === undefined)
    throw new TypeErrorCtor('The WebSocket has no other end');
  const other = link.other.owner;
  if (!(other instanceof SocketState)) throw new TypeErrorCtor('The WebSocket has no other end');
  const outside = new HostLink(exchange, other, onOver);
  link.leave(outside);
  other.attach(outside);
  return true;
}
