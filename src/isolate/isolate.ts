/**
 * One instance of one function: the guest realm with its ops and turns on one side, the channel to the host process on the other.
 * Lives in an isolate thread; knows nothing of Piscina or of how its channel is carried.
 */
import type { ServiceId } from '../bindings/service-id.js';
import { Channel, type ChannelOwner } from '../protocol/channel.js';
import type { Exchange } from '../protocol/exchange.js';
import { IdTable } from '../protocol/id-table.js';
import {
  HostOpens,
  type LoadAnswer,
  type LoadHead,
  type ScriptFailure,
  SignalKind,
  STALLED_REASON,
} from '../protocol/messages.js';
import type { Transport } from '../protocol/transport.js';
import { createHostCall } from './bridge.js';
import { GuestExchange } from './guest-exchange.js';
import { EndedInvocations } from './invocations/ended-invocations.js';
import { HeldWork, OWN } from './invocations/held-work.js';
import { StalledInvocations } from './invocations/stalled-invocations.js';
import { loadModules } from './load.js';
import { InvocationMeter } from './meter.js';
import type { ModuleGraph } from './modules.js';
import { NO_CALLS, OpenInvocation } from './open-invocation.js';
import { OpError } from './ops/arguments.js';
import { basicOps } from './ops/basics.js';
import { exchangeOps } from './ops/exchange.js';
import { loadingOps } from './ops/loading.js';
import type { OpContext, OpSet } from './ops/op-set.js';
import { BODY_NONE, BODY_STREAM, Ev } from './ops/table.js';
import { Timers } from './ops/timers.js';
import { createRealm, type Realm } from './realm.js';
import type { Place } from './stacks/source-places.js';
import { useStackPlaces } from './stacks/stack-formatter.js';
import { TurnQueue } from './turns.js';
import type { WatchBlock } from './watch-block.js';

/** Async ops under way in one isolate; a guest that starts more is told so. */
const MAX_PENDING_OPS = 4096;

/**
 * CPU time that a call without an answer is charged with. It costs the host process 22 us among many, 100 alone (Node 20.20). Answers are bounded
 * by the limit of subrequests; refusals are not, and a loop of them would cost the host several times what it costs the function.
 */
const FAILED_CALL_MS = 0.05;

/** What the handler is told that goes on after its client. */
const GONE = 'The client has disconnected, and only what waitUntil was given goes on';

/** Told to the host as the reason of a failure: what was used, or asked for, in milliseconds. */
function cpuLimitReason(cpuMs: number): string {
  return `EDGE_CPU_LIMIT ${cpuMs.toFixed(3)}`;
}

function memoryLimitReason(bytes: number): string {
  return `EDGE_MEMORY_LIMIT ${Math.round(bytes)}`;
}

export class Isolate implements OpContext, ChannelOwner {
  readonly #realm: Realm;
  readonly #turns: TurnQueue;
  readonly #meter: InvocationMeter;
  readonly #timers: Timers;
  readonly #exchanges = new IdTable<GuestExchange>();
  readonly #invocations = new IdTable<OpenInvocation>();
  readonly #ended = new EndedInvocations();
  readonly #stalled: StalledInvocations;
  #channel: Channel | undefined;
  #left: Uint8Array | undefined;
  #pendingOps = 0;
  #pendingImports = 0;
  #nextOp = 1;
  #modules: ModuleGraph | undefined;
  #isLoading = false;
  /** The invocation that the isolate is about to end for. */
  #ending = 0;
  /** The invocation whose rejected promise is reported in a turn of no invocation. */
  #rejecting = 0;
  #onLoaded: ((answer: { handlers: readonly string[] } | { failure: ScriptFailure }) => void) | undefined;
  readonly #forget = (exchange: GuestExchange): void => {
    if (exchange.isInvocation) {
      this.#finishIfOver(exchange.id);
      return;
    }
    this.#exchanges.delete(exchange.id);
    this.#invocations.get(exchange.invocationId)?.calls?.delete(exchange);
    if (!exchange.exchange.isReplied) this.#meter.settle(exchange.invocationId, FAILED_CALL_MS);
  };

  readonly #read = (exchange: GuestExchange): void => {
    if (exchange.isInvocation) {
      this.#stalled.turnEnded(exchange.id);
      return;
    }
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(exchange.id);
    this.#channel?.signal(exchange.invocationId, SignalKind.CallRead, payload);
  };

  /** Builds the realm; the function comes later, so a spare can wait warm. `platformOps` are those of the web platform. */
  constructor(watch: WatchBlock, platformOps: (context: OpContext) => readonly OpSet[]) {
    const held = new HeldWork();
    this.#timers = new Timers(
      (invocation, id, serial) => this.#turns.push(invocation, [Ev.Timer, id], undefined, serial),
      id => this.#turns.push(0, [Ev.TimerDropped, id]),
    );
    this.#realm = createRealm(
      createHostCall([
        basicOps({
          currentInvocation: () => this.currentInvocation(),
          leaveBytes: bytes => this.leaveBytes(bytes),
          begin: work => this.begin(work),
          charge: cpuMs => this.charge(cpuMs),
          settle: (invocation, cpuMs) => this.settle(invocation, cpuMs),
          hold: bytes => this.hold(bytes),
          placeOf: place => this.placeOf(place),
          log: (level, text) => this.#log(level, text),
          takeBytes: () => {
            const bytes = this.#left;
            this.#left = undefined;
            return bytes;
          },
        }),
        loadingOps({
          context: this,
          loaded: handlers => this.#onLoaded?.({ handlers }),
          failed: failure => this.#onLoaded?.({ failure }),
          modules: () => this.#modules,
          importing: work => {
            this.#pendingImports++;
            void work.then(() => {
              this.#pendingImports--;
            });
          },
        }),
        exchangeOps({
          find: id => this.#exchanges.get(id),
          call: (service, head, body, isComplete) => this.#call(service, head, body, isComplete),
          forget: this.#forget,
          beforeReply: exchange => this.#meter.beforeReply(exchange.id),
          failed: (exchange, failure) => this.#channel?.signal(exchange.id, SignalKind.HandlerFailed, failure),
          passThrough: exchange => this.#channel?.signal(exchange.id, SignalKind.PassThrough, ''),
          handled: exchange => {
            const invocation = this.#invocations.get(exchange.id);
            if (invocation === undefined) return;
            invocation.isHandled = true;
            // Its own turn ends by asking this; a promise that it waited for may also settle in the turn of another.
            if (exchange.id !== this.currentInvocation()) this.#finishIfOver(exchange.id);
          },
          hold: ({ id }) => {
            if (!this.#turns.held.mayBegin(id)) throw new OpError('Error', GONE);
            this.#turns.held.hold(id);
          },
          abandon: ({ id }) => this.#abandon(id),
          awaitClient: exchange => {
            exchange.isClientAwaited = true;
          },
        }),
        this.#timers.ops(this, held),
        ...platformOps(this),
      ]),
    );
    this.#meter = new InvocationMeter(watch, {
      onTurnEnd: invocation => {
        this.#finishIfOver(invocation);
        this.#stalled.turnEnded(invocation);
        this.#channel?.flushMany();
      },
      onCpuExceeded: (invocation, cpuMs) => this.#fail(invocation, cpuLimitReason(cpuMs)),
      onCpuSpent: (invocation, cpuMs) => this.#spent(invocation, cpuMs),
      onMemoryExceeded: (invocation, bytes) => this.#exceedMemory(invocation, bytes),
    });
    const report = (id: number, usage: Buffer): void => this.#channel?.signal(id, SignalKind.Done, usage);
    this.#turns = new TurnQueue(this.#realm.enter, this.#meter, held, () => {
      this.#rejecting = 0;
      this.#ended.drain(report);
    });
    const isBusy = (): boolean => !this.#turns.isIdle || this.#pendingOps + this.#pendingImports > 0;
    this.#stalled = new StalledInvocations({
      open: this.#invocations,
      get isBusy() {
        return isBusy();
      },
      onStalled: invocation => this.#fail(invocation, STALLED_REASON),
    });
  }

  /** Starts to listen to the host; `onClose` when the connection has ended. A spare is told to `warmUp`. */
  connect(transport: Transport, onClose: () => void, warmUp: () => Promise<unknown> = async () => {}): void {
    this.#onClosed = onClose;
    this.#warmUp = warmUp;
    this.#channel = new Channel(transport, 'isolate', this);
  }

  #onClosed: () => void = () => {};
  #warmUp: () => Promise<unknown> = async () => {};
  #warmedUp: Promise<unknown> = Promise.resolve();

  /** The thread has used CPU time for itself, see idle-memory.ts. */
  readonly onCollected = (): void => this.#meter.skip();

  /** A promise of the guest was rejected and nobody listens. Both are guest values and go back unseen. */
  unhandledRejection(reason: unknown, promise: unknown): void {
    // Of the warm-up: nothing of that realm may come to this one.
    if (this.#modules === undefined) return;
    this.#meter.rejected();
    // Node reports behind the last turn of a batch, when none is running.
    const { last } = this.#turns;
    if (this.#invocations.has(last)) this.#turns.push(last, [Ev.UnhandledRejection, reason, promise]);
    else
      this.#turns.push(0, [Ev.UnhandledRejection, reason, promise], () => {
        this.#rejecting = last;
        return true;
      });
  }

  /** Somebody listens after all to the rejection of a promise that was reported. */
  rejectionHandled(promise: unknown): void {
    if (this.#modules === undefined) return;
    this.#turns.push(this.#turns.current, [Ev.RejectionHandled, promise]);
  }

  // --- OpContext ---

  placeOf(place: Place): Place {
    return this.#modules?.places.find(place) ?? place;
  }

  currentInvocation(): number {
    return this.#turns.current;
  }

  leaveBytes(bytes: Uint8Array): number {
    this.#left = bytes;
    return bytes.length;
  }

  begin(work: Promise<number | string | undefined | Uint8Array>): number {
    if (this.#pendingOps >= MAX_PENDING_OPS) {
      work.catch(() => {});
      throw new OpError('Error', `More than ${MAX_PENDING_OPS} operations are under way`);
    }
    const invocation = this.currentInvocation();
    const serial = this.#turns.held.begin();
    const id = this.#nextOp++;
    this.#pendingOps++;
    work.then(
      value => {
        this.#pendingOps--;
        if (value instanceof Uint8Array) {
          const before = (): boolean => this.leaveBytes(value) >= 0;
          this.#turns.push(invocation, [Ev.Settle, id, 1, undefined, value.length], before, serial);
        } else {
          this.#turns.push(invocation, [Ev.Settle, id, 1, value, -1], undefined, serial);
        }
      },
      (error: unknown) => {
        this.#pendingOps--;
        const text =
          error instanceof OpError
            ? `${error.name}\n${error.message}\n${error.code}`
            : 'OperationError\nThe operation failed\n';
        this.#turns.push(invocation, [Ev.Settle, id, 0, text, -1], undefined, serial);
      },
    );
    return id;
  }

  charge(cpuMs: number): void {
    const id = this.currentInvocation();
    if (this.#meter.charge(id, cpuMs)) return;
    // At once: what the function makes of the error would be its answer before its turn ends.
    this.#spent(id, cpuMs);
    throw new OpError('OperationError', 'The CPU time that is left does not suffice for the operation');
  }

  settle(invocation: number, cpuMs: number): void {
    this.#meter.settle(invocation, cpuMs);
  }

  hold(bytes: number): void {
    this.#meter.hold(bytes);
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    if (kind === HostOpens.Load) {
      this.#load(exchange, head, body, isComplete);
      return;
    }
    if (kind === HostOpens.Warm) {
      this.#warmedUp = this.#warmUp().catch(() => {});
      this.#warmedUp.then(() => exchange.reply(200, '', true, null, true));
      return;
    }
    const guest = new GuestExchange(exchange, exchange.id, this.#turns, this.#forget, this.#read);
    this.#exchanges.set(exchange.id, guest);
    this.#invocations.set(exchange.id, new OpenInvocation(guest, this.#timers));
    this.#meter.open(exchange.id, kind);
    switch (kind) {
      case HostOpens.Fetch: {
        if (isComplete) exchange.buffer(body);
        const size = isComplete ? (body.length > 0 ? body.length : BODY_NONE) : BODY_STREAM;
        this.#turns.push(exchange.id, [Ev.Fetch, exchange.id, head, size], undefined, OWN);
        return;
      }
      case HostOpens.Scheduled: {
        const at = head.indexOf('\n');
        const scheduled = [Ev.Scheduled, exchange.id, head.slice(at + 1), Number(head.slice(0, at))] as const;
        this.#turns.push(exchange.id, scheduled, undefined, OWN);
        return;
      }
      case HostOpens.Alarm: {
        const at = head.indexOf('\n');
        const alarm = [Ev.Alarm, exchange.id, Number(head.slice(0, at)), Number(head.slice(at + 1))] as const;
        this.#turns.push(exchange.id, alarm, undefined, OWN);
        return;
      }
      case HostOpens.Queue:
        this.#turns.push(exchange.id, [Ev.Queue, exchange.id, head], undefined, OWN);
        return;
      default:
        exchange.fail('Not supported');
    }
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    switch (kind) {
      case SignalKind.Close:
        this.#finish(id);
        return;
      case SignalKind.CallCanceled:
        this.#exchanges.get(id)?.exchange.receiveReset(payload.toString('utf8'));
        return;
      case SignalKind.Ping:
        // In the order of the turns, of which it is none.
        this.#turns.push(0, [Ev.TimerDropped, 0], () => {
          this.#channel?.signal(id, SignalKind.Pong, '');
          return false;
        });
        return;
      default:
    }
  }

  onClose(): void {
    this.#onClosed();
  }

  // --- loading ---

  #load(exchange: Exchange, head: string, body: Buffer, isComplete: boolean): void {
    if (this.#isLoading) {
      exchange.fail('This isolate has its function already');
      return;
    }
    this.#isLoading = true;
    const load: LoadHead = JSON.parse(head); // the host wrote it
    const answer = (value: LoadAnswer): void => {
      this.#meter.endStartup();
      exchange.reply(200, JSON.stringify(value), true, null, true);
    };
    this.#meter.setLimits(load.limits);
    if (isComplete) exchange.buffer(body);
    // Turns of two isolates are not to run into each other.
    this.#warmedUp
      .then(() =>
        loadModules({
          exchange,
          load,
          realm: this.#realm,
          turns: this.#turns,
          quiet: () => this.#quiet(),
          chargedMs: () => this.#meter.startupChargedMs,
          setModules: modules => {
            this.#modules = modules;
            useStackPlaces(place => modules.places.find(place));
          },
          whenLoaded: listener => {
            this.#onLoaded = listener;
          },
        }),
      )
      .then(answer, () => exchange.fail('Loading failed'));
  }

  async #quiet(): Promise<void> {
    do {
      await new Promise(resolve => setTimeout(resolve, 1));
    } while (this.#pendingOps > 0 || !this.#turns.isIdle);
  }

  // --- calls and the end of an invocation ---

  #call(service: ServiceId, head: string, body: Uint8Array | string | null, isComplete: boolean): GuestExchange {
    const invocation = this.#invocations.get(this.currentInvocation());
    if (invocation === undefined || this.#channel === undefined) {
      throw new OpError(
        'Error',
        'Services cannot be called outside of a request; the global scope may only prepare what handlers use',
      );
    }
    if (!this.#turns.held.mayBegin(invocation.exchange.id)) throw new OpError('AbortError', GONE);
    if (invocation.isSpent) throw new OpError('AbortError', 'The CPU time of the request is used up');
    const exchange = this.#channel.open(service, `${invocation.exchange.id}\n${head}`, true, body, isComplete);
    const guest = new GuestExchange(exchange, invocation.exchange.id, this.#turns, this.#forget, this.#read);
    this.#exchanges.set(guest.id, guest);
    invocation.calls ??= new Set();
    invocation.calls.add(guest);
    return guest;
  }

  /** Of no invocation, or of one whose end was reported, the host wants no log: function code that goes on by itself would flood it. */
  #log(level: number, text: string): void {
    const id = this.currentInvocation() || this.#rejecting;
    if (!this.#invocations.has(id) && !this.#ended.has(id)) return;
    this.#channel?.signal(id, SignalKind.Log, String.fromCharCode(level) + text);
  }

  /** The client is gone: what the handler has under way by itself is over, and it begins nothing more. */
  #abandon(id: number): void {
    const { held } = this.#turns;
    held.abandon(id);
    const isHeld = (serial: number): boolean => held.isHeld(id, serial);
    this.#timers.clearInvocation(id, isHeld);
    for (const call of [...(this.#invocations.get(id)?.calls ?? NO_CALLS)]) {
      if (isHeld(call.serial)) continue;
      const reason = `AbortError\n${GONE}\n`;
      call.exchange.fail(reason);
      call.onFail(reason);
    }
  }

  /** Its answer fails now; it is over with its turn, for which it pays. */
  #spent(id: number, cpuMs: number): void {
    const invocation = this.#invocations.get(id);
    if (invocation === undefined) return;
    invocation.isSpent = true;
    invocation.exchange.exchange.fail(cpuLimitReason(cpuMs));
  }

  #fail(id: number, code: string): void {
    this.#invocations.get(id)?.exchange.exchange.fail(code);
    this.#finish(id);
  }

  /** One that is answered by now stays open until the isolate ends: the host then hears that it was the one. */
  #exceedMemory(id: number, bytes: number): void {
    if (this.#invocations.get(id)?.exchange.exchange.isOver === true) this.#ending = id;
    else this.#fail(id, memoryLimitReason(bytes));
  }

  /** The invocation is over once it is handled and its answer has been sent. */
  #finishIfOver(id: number): void {
    const invocation = this.#invocations.get(id);
    if (id !== this.#ending && invocation?.isHandled === true && invocation.exchange.exchange.isOutgoingOver)
      this.#finish(id);
  }

  #finish(id: number): void {
    const invocation = this.#invocations.get(id);
    if (invocation === undefined) return;
    this.#invocations.delete(id);
    this.#exchanges.delete(id);
    const calls = invocation.calls ?? NO_CALLS;
    if (!invocation.isHandled || calls.size > 0) {
      const ids = [id, ...Array.from(calls, call => call.id)];
      this.#turns.push(0, [Ev.Over, id, ids.join(',')]);
    }
    // Before the calls: what is piped from one of them did not fail, there was no time for it.
    const { exchange } = invocation.exchange;
    exchange.stopReading('The invocation is over');
    if (!exchange.isOutgoingOver) exchange.fail('The invocation is over');
    for (const call of calls) {
      this.#exchanges.delete(call.id);
      call.fail('AbortError\nThe request that this belongs to is over\n');
      call.endPipes('The request that this belongs to is over');
    }
    invocation.exchange.endPipes('The invocation is over');
    this.#timers.clearInvocation(id);
    this.#turns.held.forget(id);
    this.#stalled.ended(id);
    const usage = this.#meter.close(id);
    if (this.#turns.isLeaving) this.#ended.add(id, usage);
    else this.#channel?.signal(id, SignalKind.Done, usage);
  }
}
