/** All sleeping WebSockets of a host, by function and object. They outlast versions of the function, and its isolates. */

import type { BridgeWork } from '../../bindings/websocket/bridge-owner.js';
import { EdgeError } from '../../quotas/errors.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { SleepingObject, SocketGroup, SocketRunner, Tagged } from './keeper.js';
import { ObjectSockets } from './object-sockets.js';

/** A socket with its connection, as far as it is not counted there: its place among the others, its tags, the time of its last answer. */
const SOCKET_BYTES = 512;

/** The sleeping WebSockets of one function. */
export class FunctionSockets implements SocketGroup {
  /** The host's work for its connections. */
  readonly work: BridgeWork;
  readonly #open: Map<HostShare, number>;
  readonly #objects = new Map<string, ObjectSockets>();
  /** The version that gets events. */
  runner: SocketRunner;

  constructor(runner: SocketRunner, open: Map<HostShare, number>) {
    this.runner = runner;
    this.#open = open;
    const share = this.#share;
    this.work = {
      owner: share,
      charge: ms => share.charge(ms),
      turn: () => share.turn(),
      countBytes: bytes => share.bytes.countBuffers(bytes),
    };
  }

  get #share(): HostShare {
    return this.runner.context.share;
  }

  count(bytes: number): void {
    if (bytes !== 0) this.#share.bytes.countHeap(bytes);
  }

  charge(ms: number): void {
    this.#share.charge(ms);
  }

  find(className: string, id: string): ObjectSockets | undefined {
    return this.#objects.get(`${className}/${id}`);
  }

  object(name: SleepingObject): ObjectSockets {
    const key = `${name.className}/${name.id}`;
    const object = this.#objects.get(key) ?? new ObjectSockets(name, this);
    this.#objects.set(key, object);
    return object;
  }

  forget(name: SleepingObject): void {
    this.#objects.delete(`${name.className}/${name.id}`);
  }

  /** @throws EdgeError EDGE_OVERLOADED */
  added(socket: Tagged): void {
    const share = this.#share;
    const open = this.#open.get(share) ?? 0;
    const { sleepingWebSockets = Number.POSITIVE_INFINITY } = share.limits;
    if (open >= sleepingWebSockets) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot accept the WebSocket: account "${share.account}" has ${open} that sleep, option sleepingWebSockets is ${sleepingWebSockets}`,
      );
    }
    if (share.bytes.isUnderPressure) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot accept the WebSocket: the host holds ${share.bytes.held} bytes for account "${share.account}", option hostBytes is ${share.limits.hostBytes}`,
      );
    }
    this.#open.set(share, open + 1);
    this.count(SOCKET_BYTES + tagBytes(socket));
  }

  removed(socket: Tagged): void {
    const share = this.#share;
    const open = (this.#open.get(share) ?? 1) - 1;
    if (open > 0) this.#open.set(share, open);
    else this.#open.delete(share);
    this.count(-SOCKET_BYTES - tagBytes(socket));
  }

  end(error: EdgeError): void {
    for (const object of [...this.#objects.values()]) object.end(error);
  }
}

function tagBytes({ tags }: Tagged): number {
  let bytes = 0;
  for (const tag of tags) bytes += 32 + tag.length * 2;
  return bytes;
}

/** The sleeping WebSockets of all functions of a host. */
export class SleepingSockets {
  readonly #functions = new Map<string, FunctionSockets>();
  readonly #open = new Map<HostShare, number>();

  of(runner: SocketRunner): FunctionSockets {
    const key = keyOf(runner);
    const known = this.#functions.get(key) ?? new FunctionSockets(runner, this.#open);
    this.#functions.set(key, known);
    return known;
  }

  find(runner: SocketRunner): FunctionSockets | undefined {
    return this.#functions.get(keyOf(runner));
  }

  /** Another version of the function has taken the place of one. */
  moved(runner: SocketRunner, next: SocketRunner): void {
    const known = this.find(runner);
    if (known?.runner === runner) known.runner = next;
  }

  /** The function is gone. */
  end(runner: SocketRunner, error: EdgeError): void {
    const key = keyOf(runner);
    const sockets = this.#functions.get(key);
    this.#functions.delete(key);
    sockets?.end(error);
  }

  /** The host is about to close. */
  goAway(): void {
    const error = new EdgeError('EDGE_CLOSED', 'The WebSocket was closed: the host is being closed');
    for (const sockets of this.#functions.values()) sockets.end(error);
  }

  /** How many sleep. */
  get count(): number {
    let count = 0;
    for (const open of this.#open.values()) count += open;
    return count;
  }
}

function keyOf({ context: { account, function: name } }: SocketRunner): string {
  return `${account}\n${name}`;
}
