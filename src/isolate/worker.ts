/**
 * The program of an isolate thread; Piscina loads its bundle. One task is one lease: it opens its connection, builds the realm and serves
 * one function until the connection or the thread ends. A task never returns, and a thread never serves a second lease.
 */
import process from 'node:process';
import type { MessagePort } from 'node:worker_threads';
import { blockingDescriptorTransport, blockingPortTransport } from '../protocol/transports/blocking-transport.js';
import { CLOSED_EXIT, TORN_EXIT } from './exit-codes.js';
import { hardenThread } from './harden-thread.js';
import { renewRealm } from './invocations/renew-realm.js';
import { Isolate } from './isolate.js';
import { collectGarbage } from './metering/collect-garbage.js';
import { IdleMemory } from './metering/idle-memory.js';
import { ownClockDescriptor, ownThreadId } from './metering/thread-clock.js';
import { WatchBlock } from './metering/watch-block.js';
import { platformOps } from './ops/platform.js';
import { useBundle } from './realm.js';
import { takeOverStacks } from './stacks/stack-formatter.js';
import { warmUp } from './warm-up.js';

export interface IsolateLease {
  /** Where the host and the services are reached: inherited descriptors in a cell, a port when isolates run in the host process. */
  readonly connection:
    | { readonly fd: number; readonly callsFd?: number }
    | { readonly port: MessagePort; readonly notices: Int32Array<SharedArrayBuffer> };
  readonly watch: SharedArrayBuffer;
  /** The text of the guest realm's bundle. @default the package's bundle */
  readonly guestBundle?: string;
}

const { exit } = process;
const torn = (): void => exit(TORN_EXIT);

export default function serve(lease: IsolateLease): Promise<never> {
  const watch = new WatchBlock(lease.watch);
  watch.clock = ownClockDescriptor();
  watch.thread = ownThreadId();
  let isolate: Isolate | undefined;
  // Neither callback touches its argument: it is a guest value (rules R10 and R11).
  process.setUncaughtExceptionCaptureCallback(() => {});
  process.on('unhandledRejection', (reason: unknown, promise: unknown) => isolate?.unhandledRejection(reason, promise));
  process.on('rejectionHandled', (promise: unknown) => isolate?.rejectionHandled(promise));
  takeOverStacks();
  hardenThread();
  if (lease.guestBundle !== undefined) useBundle(lease.guestBundle);
  const make = (): Isolate => new Isolate(watch, platformOps);
  isolate = make();
  isolate.onRenew = async (before, exchange) => {
    try {
      isolate = await renewRealm(before, make, exchange);
    } catch {
      exchange.fail('The realm could not be renewed');
    }
  };
  const { connection } = lease;
  const transport =
    'fd' in connection
      ? blockingDescriptorTransport(connection.fd, torn)
      : blockingPortTransport(connection.port, connection.notices);
  if ('fd' in connection && connection.callsFd !== undefined) {
    isolate.connectCalls(blockingDescriptorTransport(connection.callsFd, torn));
  }
  isolate.connect(
    transport,
    () => exit(CLOSED_EXIT),
    () => warmUp(platformOps),
  );
  const onCollected = (): void => isolate?.onCollected();
  new IdleMemory({ sequence: () => watch.sequence, collect: collectGarbage, onCollected });
  return new Promise(() => {});
}
