/** One application that is connected to the backend process. Each message of its control connection goes to the part that decides about it. */
import type { Socket } from 'node:net';
import { Channel, type ChannelOwner } from '../../../protocol/channel.js';
import type { Exchange } from '../../../protocol/exchange.js';
import { ExchangeIo, failureText } from '../../../protocol/exchange-io.js';
import type { Transport } from '../../../protocol/transports/transport.js';
import { detached } from '../../../quotas/guarded.js';
import { changesText, type MissedChanges, type ToldChange } from '../../wire/account-changes.js';
import { CONNECTION_BOUNDS } from '../../wire/connection-bounds.js';
import { forward } from '../../wire/forwarded-call.js';
import type { ApplicationHello, FunctionRegistration, RemovalStep } from '../../wire/message-contents.js';
import { ApplicationOpens, ApplicationSignal, BackendOpens } from '../../wire/messages.js';
import { unpackValue } from '../../wire/packets.js';
import { ApplicationAnswers } from '../application-answers.js';
import { BoundFunctions, type FunctionSurroundings } from '../bound-functions.js';
import { CellConnections } from '../cell-connections.js';
import { RemoteServer } from './remote-server.js';
import type { ServedObjects } from './served-objects.js';

/** The parts of the process that its applications share. */
export interface ApplicationSurroundings extends FunctionSurroundings {
  /** Resolves with the changes of accounts that the application has missed. */
  onHello(application: Application, hello: ApplicationHello): Promise<MissedChanges>;
  /** The objects of the application itself. */
  readonly objects: ServedObjects;
  onClose(application: Application): void;
}

/** An application is stuck when it has not followed a change of an account, or taken a step of its removal, for this long. */
const FOLLOW_MS = 30_000;

export class Application implements ChannelOwner {
  readonly channel: Channel;
  /** Answers what the application itself calls. */
  readonly remote: RemoteServer;
  /** It knows of all changes of accounts until now, and must receive the later ones. */
  isGreeted = false;
  readonly #surroundings: ApplicationSurroundings;
  readonly #answers: ApplicationAnswers;
  readonly #functions: BoundFunctions;
  readonly #cells: CellConnections;

  constructor(transport: Transport, surroundings: ApplicationSurroundings) {
    this.#surroundings = surroundings;
    this.channel = new Channel(transport, 'isolate', this, CONNECTION_BOUNDS);
    this.remote = new RemoteServer(this.channel, surroundings.objects);
    this.#answers = new ApplicationAnswers(this.channel, surroundings.registry);
    this.#functions = new BoundFunctions(surroundings, this.#answers);
    this.#cells = new CellConnections(this.channel, this.#functions, surroundings);
  }

  /** A connection that the application has opened for a cell. */
  connect(connection: number, socket: Socket): void {
    this.#cells.connect(connection, socket);
  }

  close(): void {
    this.channel.close();
  }

  /**
   * Resolves when the application has followed the change, or is gone. One that does not answer has its connection closed: it makes another one, and receives
   * the change then.
   */
  async follow(change: ToldChange): Promise<void> {
    await this.#ask(BackendOpens.AccountChanged, changesText(change)).catch(() => this.close());
  }

  /** As a helper of LeftRemovals. One that does not answer has its connection closed. */
  async takeRemoval(step: RemovalStep): Promise<boolean> {
    try {
      await this.#ask(BackendOpens.RemovalLeft, JSON.stringify(step));
      return true;
    } catch (error) {
      if (this.channel.isClosed) return false;
      throw error;
    }
  }

  /** Rejects as `forward` does. The connection of one that is stuck is closed. */
  async #ask(kind: BackendOpens, head: string): Promise<void> {
    const timeout = AbortSignal.timeout(FOLLOW_MS);
    try {
      await forward(this.channel, kind, head, null, timeout);
    } catch (error) {
      if (timeout.aborted) this.close();
      throw error;
    }
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    switch (kind) {
      case ApplicationOpens.Remote:
        this.remote.onOpen(exchange, head, body, isComplete);
        return;
      case ApplicationOpens.Splice:
        this.#cells.spliced(exchange, head);
        return;
      case ApplicationOpens.Redirect:
        this.#cells.countRedirect(exchange, head);
        return;
      case ApplicationOpens.Hello:
      case ApplicationOpens.Function:
        if (isComplete) exchange.buffer(body);
        detached(this.#registered(exchange, kind, head, isComplete));
        return;
      default:
        exchange.fail('Not supported');
    }
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    switch (kind) {
      case ApplicationSignal.Gone:
        this.#cells.gone(payload);
        return;
      case ApplicationSignal.Attach:
        this.#cells.attach(payload);
        return;
      case ApplicationSignal.Invocations:
        this.#cells.invocations(payload);
        return;
      case ApplicationSignal.Belongs:
        this.#cells.belongs(payload);
        return;
      case ApplicationSignal.Egress:
        this.#cells.countEgress(payload);
        return;
      case ApplicationSignal.Forget:
        this.#functions.forget(payload.readUInt32LE(0));
        return;
      case ApplicationSignal.AccountEnds:
        this.#functions.endAccount(payload.toString('utf8'));
        return;
      case ApplicationSignal.Names:
        this.#answers.names.set(payload.toString('utf8'));
        return;
      default:
        this.remote.onSignal(id, kind, payload);
    }
  }

  onClose(): void {
    this.#cells.close();
    this.#functions.close();
    this.remote.close();
    this.#surroundings.onClose(this);
  }

  async #registered(
    exchange: Exchange,
    kind: ApplicationOpens.Hello | ApplicationOpens.Function,
    head: string,
    isComplete: boolean,
  ): Promise<void> {
    try {
      const io = new ExchangeIo(exchange);
      const pieces: Uint8Array[] = [];
      if (isComplete) pieces.push(exchange.read(Number.MAX_SAFE_INTEGER) ?? new Uint8Array());
      else for await (const piece of io.chunks()) pieces.push(piece);
      const value = unpackValue(head, Buffer.concat(pieces));
      let text = '';
      if (kind === ApplicationOpens.Hello)
        text = changesText(await this.#greeted(value as ApplicationHello)); // as the application has packed it
      else await this.#functions.register(value as FunctionRegistration); // as above
      exchange.reply(200, text, true, null, true);
    } catch (error) {
      exchange.fail(failureText(error));
    }
  }

  #greeted(hello: ApplicationHello): Promise<MissedChanges> {
    this.#functions.greeted(hello);
    return this.#surroundings.onHello(this, hello);
  }
}
