/**
 * One instance of one function: the guest realm with its ops and turns on one side, the channel to the host process on the other.
 * Lives in an isolate thread; knows nothing of Piscina or of how its channel is carried.
 */
import { Channel, type ChannelOwner } from '../protocol/channel.js';
import type { Exchange } from '../protocol/exchange.js';
import { HostOpens, type LoadAnswer, type LoadHead, type ScriptFailure, SignalKind } from '../protocol/messages.js';
import { encodeReading } from '../protocol/pong.js';
import type { Transport } from '../protocol/transports/transport.js';
import { AsyncContext } from './async-context/async-context.js';
import { createHostCall } from './bridge.js';
import { HeldWork } from './held-work.js';
import { BackendLine } from './invocations/backend-line.js';
import { OpenInvocations } from './invocations/open-invocations.js';
import { IsolateContext } from './isolate-context.js';
import type { IsolateParts } from './isolate-parts.js';
import { loadModules } from './load.js';
import { InvocationMeter } from './metering/meter.js';
import type { WatchBlock } from './metering/watch-block.js';
import type { ModuleGraph } from './modules.js';
import { basicOps } from './ops/basics.js';
import { exchangeOps } from './ops/exchange.js';
import { loadingOps } from './ops/loading.js';
import { processOps } from './ops/node/process.js';
import type { OpContext, OpSet } from './ops/op-set.js';
import { keyedRandom } from './ops/random-source.js';
import { Ev } from './ops/table.js';
import { Timers } from './ops/timers.js';
import { createRealm, type Realm } from './realm.js';
import { useStackPlaces } from './stacks/stack-formatter.js';
import { TurnQueue } from './turns.js';

export class Isolate implements IsolateParts, ChannelOwner {
  readonly turns: TurnQueue;
  readonly meter: InvocationMeter;
  readonly timers: Timers;
  channel: Channel | undefined;
  line: BackendLine | undefined;
  modules: ModuleGraph | undefined;
  /** An exception ends the thread, and the host hears how. */
  readonly throwsFaults = true;
  /** Excludes CPU time that the thread has used for a collection of its own, see idle-memory.ts. */
  readonly onCollected = (): void => this.meter.skip();
  readonly #realm: Realm;
  readonly #invocations = new OpenInvocations(this);
  readonly #context = new IsolateContext(this, this.#invocations);
  readonly #asyncContext = new AsyncContext(() => this.#realm.contextSlot);
  #pendingImports = 0;
  #isLoading = false;
  #isForRuns = false;
  #seal: () => void = () => {};
  #onLoaded: ((answer: { handlers: readonly string[] } | { failure: ScriptFailure }) => void) | undefined;
  #onClosed: () => void = () => {};
  #warmUp: () => Promise<unknown> = async () => {};
  #warmedUp: Promise<unknown> = Promise.resolve();
  /** The host asks for a new realm. Set in threads that can have one. */
  onRenew: ((before: Isolate, exchange: Exchange) => Promise<void>) | undefined;

  /** Builds the realm; the function comes later, so a spare can wait warm. `platformOps` are the ops of the web platform. */
  constructor(watch: WatchBlock, platformOps: (context: OpContext) => readonly OpSet[]) {
    const held = new HeldWork();
    this.timers = new Timers({
      fire: (invocation, id, serial, before) => this.turns.push(invocation, [Ev.Timer, id], before, serial),
      drop: id => this.turns.push(0, [Ev.TimerDropped, id]),
      due: id => this.turns.push(0, [Ev.TimerDue, id]),
      ask: object => this.channel?.signal(0, SignalKind.TimerDue, object),
    });
    this.#realm = createRealm(
      createHostCall(
        [
          basicOps(this.#context),
          loadingOps({
            context: this.#context,
            loaded: handlers => this.#onLoaded?.({ handlers }),
            failed: failure => this.#onLoaded?.({ failure }),
            modules: () => this.modules,
            importing: work => {
              this.#pendingImports++;
              void work.then(() => {
                this.#pendingImports--;
              });
            },
          }),
          exchangeOps(this.#invocations, this.#context),
          this.timers.ops(this.#context, held),
          this.#asyncContext.ops(),
          processOps(() => this.turns),
          ...platformOps(this.#context),
        ],
        end => {
          this.#seal = end;
        },
      ),
    );
    this.meter = new InvocationMeter(watch, this.#invocations);
    this.turns = new TurnQueue(this.#realm.enter, this.meter, held, this.#invocations.reportEnded, this.#asyncContext);
  }

  get isForRuns(): boolean {
    return this.#isForRuns;
  }

  /** Work is pending that may belong to any invocation. */
  get isBusy(): boolean {
    return !this.turns.isIdle || this.#context.pendingOps + this.#pendingImports > 0;
  }

  /** Starts to listen to the host; `onClose` when the connection has ended. `warmUp` runs when the host asks a spare to warm up. */
  connect(transport: Transport, onClose: () => void, warmUp: () => Promise<unknown> = async () => {}): void {
    this.#onClosed = onClose;
    this.#warmUp = warmUp;
    this.channel = new Channel(transport, 'isolate', this);
  }

  /** Calls of services go over a connection of their own from now on. */
  connectCalls(transport: Transport): void {
    const line = new BackendLine(transport, {
      host: () => this.channel,
      onSignal: (id, kind, payload) => {
        if (kind === SignalKind.CallCanceled) this.#cancelCall(id, payload);
        else if (kind === SignalKind.Ping) this.#pong(id, line.channel);
      },
    });
    this.line = line;
  }

  /** Takes the connection of an isolate that is over, see renew-realm.ts. */
  succeed(before: Isolate): void {
    const { channel } = before;
    if (channel === undefined) throw new Error('An isolate without a connection has no successor');
    before.#end();
    this.#onClosed = before.#onClosed;
    this.onRenew = before.onRenew;
    this.channel = channel;
    channel.handOver(this);
  }

  /** Nothing of the realm runs any more, and what it still holds reaches nothing. */
  #end(): void {
    this.#seal();
    this.turns.end();
    this.#asyncContext.end();
    this.channel = undefined;
    this.modules = undefined;
  }

  /** Why the realm cannot be given up yet; `undefined` when nothing of it can run any more. */
  get leftover(): string | undefined {
    if (!this.#isForRuns) return 'the isolate has a function';
    if (!this.#invocations.isEmpty) return 'an invocation or a call is open';
    if (this.#invocations.hasLeftWork) return 'a run has ended before its work did';
    if (this.timers.size > 0) return `${this.timers.size} timers are set`;
    if (this.isBusy || this.turns.isLeaving) return 'work is pending';
    return undefined;
  }

  /** A promise of the guest was rejected without a handler. Both arguments are guest values and go back without being looked at. */
  unhandledRejection(reason: unknown, promise: unknown): void {
    // A rejection of the warm-up: nothing of its realm may reach this one.
    if (this.modules === undefined) return;
    this.meter.rejected();
    // Node reports behind the last turn of a batch, when none is running.
    const { last } = this.turns;
    const args = [Ev.UnhandledRejection, reason, promise, this.#asyncContext.frameOfRejected(promise)] as const;
    if (this.#invocations.has(last)) this.turns.push(last, args);
    else
      this.turns.push(0, args, () => {
        this.#invocations.rejecting = last;
        return true;
      });
  }

  /** The rejection of a promise that was reported has been handled after all. */
  rejectionHandled(promise: unknown): void {
    if (this.modules === undefined) return;
    this.turns.push(this.turns.current, [Ev.RejectionHandled, promise]);
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
    if (kind === HostOpens.Renew) {
      if (this.onRenew === undefined) exchange.fail('Not supported');
      else void this.onRenew(this, exchange);
      return;
    }
    this.#invocations.open(exchange, kind, head, body, isComplete);
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    switch (kind) {
      case SignalKind.Close:
        this.#invocations.finish(id);
        return;
      case SignalKind.CallCanceled:
        this.#cancelCall(id, payload);
        return;
      case SignalKind.Ping:
        this.#pong(id, this.channel);
        return;
      default:
    }
  }

  onClose(): void {
    this.#onClosed();
  }

  #cancelCall(call: number, reason: Buffer): void {
    this.#invocations.find(call)?.exchange.receiveReset(reason.toString('utf8'));
  }

  /** The pong follows the turns that were queued before the ping. */
  #pong(invocation: number, channel: Channel | undefined): void {
    this.turns.runBetween(() => {
      channel?.signal(invocation, SignalKind.Pong, encodeReading(this.#invocations.reading(invocation)));
    });
  }

  // --- loading ---

  #load(exchange: Exchange, head: string, body: Buffer, isComplete: boolean): void {
    const load: LoadHead = JSON.parse(head); // the host wrote it
    // The next run of a session has other modules in the same realm.
    const isNext = this.#isForRuns && load.run !== undefined;
    if (this.#isLoading && !isNext) {
      exchange.fail('This isolate has its function already');
      return;
    }
    this.#isLoading = true;
    if (load.run !== undefined) {
      const { randomKey } = load.run;
      if (randomKey !== undefined) this.#context.keyedRandom = keyedRandom(Buffer.from(randomKey, 'hex'));
      this.#isForRuns = true;
      this.line = undefined;
    }
    const answer = (value: LoadAnswer): void => {
      this.meter.endStartup(value.kind === 'loaded' ? value.startupTimeMs : 0);
      exchange.reply(200, JSON.stringify(value), true, null, true);
    };
    this.meter.setLimits(load.limits);
    if (isComplete) exchange.buffer(body);
    // The warm-up is an isolate too; turns of two isolates must not interleave.
    this.#warmedUp
      .then(() =>
        loadModules({
          exchange,
          load,
          realm: this.#realm,
          // Where it sees the writes of objects before their answers.
          holdsAnswers: this.line === undefined,
          turns: this.turns,
          meter: this.meter,
          quiet: () => this.#quiet(),
          setModules: modules => {
            this.modules = modules;
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
    } while (this.#context.pendingOps > 0 || !this.turns.isIdle);
  }
}
