/** The application's end of the backend process. It hands each message of the control connection to the part that decides about it. */

import { DatabaseListeners } from '../../backend/client/database-listeners.js';
import { RemoteLink } from '../../backend/client/remote-link.js';
import { RemoteStore } from '../../backend/client/remote-store.js';
import type { HostStore } from '../../backend/host-store.js';
import type { BindingErrors } from '../../backend/wire/errors.js';
import {
  type Notice,
  parseDatabaseChange,
  parseNotice,
  parseToldRefusal,
} from '../../backend/wire/message-contents.js';
import { ApplicationSignal, BackendOpens, BackendSignal } from '../../backend/wire/messages.js';
import type { ServedNamesList } from '../../backend/wire/served-names.js';
import type { LocalSend } from '../../bindings/egress/transport.js';
import type { CallOrigin } from '../../bindings/service.js';
import type { SandboxState } from '../../pool/sandbox/state.js';
import type { ChannelOwner } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { EdgeError, isEdgeErrorCode } from '../../quotas/errors.js';
import { detached } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { AccountFollower, type AccountFollowerOptions } from './account-follower.js';
import { AnsweredHere } from './answered-here.js';
import { AttachedIsolates } from './attached-isolates.js';
import { ControlConnection, type ControlConnectionOptions } from './control-connection.js';
import { FunctionTable } from './function-table.js';
import { InvocationReports } from './invocation-reports.js';
import { NamesReport } from './names-report.js';
import { PreparedConnections } from './prepared-connections.js';
import type { RemoteFunction, RemoteFunctionParts } from './remote-function.js';

export interface HostBackendOptions
  extends AccountFollowerOptions,
    Omit<ControlConnectionOptions, 'greet' | 'onConnected'> {
  /** Restores the errors of bindings that come from the backend process. */
  readonly errors: BindingErrors;
  /** The backend process has ended: cells have no connection to the next one. */
  readonly onLost: () => void;
  /** The backend process has reported the layers around its SQL engines. */
  readonly onSqlSandbox: (state: SandboxState) => void;
  readonly share: (account: string) => HostShare | undefined;
  /** The cells of the account have to end. */
  readonly onStuck: (account: string, reason: string) => void;
  readonly localSend: (account: string, url: URL, origin: CallOrigin | undefined) => LocalSend | undefined;
  readonly names: () => ServedNamesList;
}

export class HostBackend implements ChannelOwner {
  readonly #options: HostBackendOptions;
  readonly #control: ControlConnection;
  readonly #accounts: AccountFollower;
  readonly #names: NamesReport;
  readonly #functions: FunctionTable;
  readonly #isolates: AttachedIsolates;
  readonly #reports: InvocationReports;
  readonly #here: AnsweredHere;
  /** The connections that new cells inherit. */
  readonly connections: PreparedConnections;
  /** Calls of the application itself. */
  readonly link: RemoteLink;
  readonly #databases = new DatabaseListeners();
  #wasConnected = false;

  constructor(options: HostBackendOptions) {
    this.#options = options;
    this.#accounts = new AccountFollower(options);
    this.#control = new ControlConnection(this, {
      ...options,
      greet: channel => this.#accounts.greet(channel),
      onConnected: channel => {
        this.#names.send();
        this.#functions.registerAll(channel);
        if (this.#wasConnected) this.#databases.missed();
        this.#wasConnected = true;
      },
    });
    this.link = new RemoteLink(() => this.#control.channel(), options.errors);
    this.#names = new NamesReport(this.#control, options.names);
    this.#functions = new FunctionTable(this.#control, options.errors);
    this.connections = new PreparedConnections(this.#control);
    this.#isolates = new AttachedIsolates(this.#control, this.connections, key => this.#functions.known(key));
    this.#reports = new InvocationReports(this.#control, this.#isolates, this.#names);
    this.#here = new AnsweredHere({
      functions: this.#functions,
      reports: this.#reports,
      share: options.share,
      localSend: options.localSend,
    });
  }

  /** The id of the process; undefined while it does not run. */
  get pid(): number | undefined {
    return this.#control.process?.pid;
  }

  /** The storage, as the host itself uses it. */
  openStore(): Promise<HostStore> {
    return RemoteStore.open({
      connection: () => this.#control.channel(),
      changes: this.#databases,
      errors: this.#options.errors,
    });
  }

  /** Registers a function. Its calls are answered when `ready` of the answer has resolved. */
  bind(record: Omit<RemoteFunction['record'], 'key'>, parts: RemoteFunctionParts): RemoteFunction {
    return this.#functions.bind(record, parts, { reports: this.#reports, isolates: this.#isolates });
  }

  accountEnds(account: string): void {
    this.#control.current?.signal(0, ApplicationSignal.AccountEnds, account);
  }

  /** The host names that functions answer have changed. */
  namesChanged(): void {
    this.#names.changed();
  }

  /** Resolves when the totals are here of all invocations that were over before the call. */
  settled(): Promise<void> {
    return this.#reports.settled();
  }

  async close(): Promise<void> {
    this.#control.closing();
    this.#names.stop();
    this.connections.dropAll();
    await this.#control.close();
  }

  // --- ChannelOwner ---

  onOpen(exchange: Exchange, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    if (kind === BackendOpens.Splice) this.#isolates.spliced(exchange, head);
    else if (kind === BackendOpens.AccountChanged) {
      detached(this.#accounts.follow(exchange, head), () => exchange.fail('The application could not follow'));
    } else if (kind === BackendOpens.RemovalLeft) detached(this.#accounts.takeRemoval(exchange, head));
    else if (this.#here.answers(kind)) this.#here.answer(exchange, kind, head, body, isComplete);
    else exchange.fail('Not supported');
  }

  onSignal(_id: number, kind: number, payload: Buffer): void {
    switch (kind) {
      case BackendSignal.Asks:
        this.#reports.asked(payload);
        return;
      case BackendSignal.Charged:
        this.#reports.charged(payload);
        return;
      case BackendSignal.Totals:
        this.#reports.totals(payload);
        return;
      case BackendSignal.Stuck: {
        const text = payload.toString('utf8');
        const at = text.indexOf('\n');
        this.#options.onStuck(text.slice(0, at), text.slice(at + 1));
        return;
      }
      case BackendSignal.Broken:
        this.#isolates.get(payload.readUInt32LE(0))?.broke(payload.toString('utf8', 4));
        return;
      case BackendSignal.TraceEnds:
        this.#reports.endSpan(payload.toString('utf8'));
        return;
      case BackendSignal.DatabaseChanged: {
        const { name, keys } = parseDatabaseChange(payload.toString('utf8'));
        this.#databases.changed(name, keys);
        return;
      }
      case BackendSignal.Notice:
        this.#noticed(parseNotice(payload.toString('utf8')));
        return;
      case BackendSignal.Refused: {
        const { function: key, connection, id, refusal, unreported } = parseToldRefusal(payload.toString('utf8'));
        const caller = this.#reports.caller(connection, id);
        this.#functions.get(key)?.onRefusal(refusal, unreported, caller);
        return;
      }
      default:
    }
  }

  onClose(): void {
    this.#control.lost();
    this.connections.dropAll();
    this.#reports.lostTotals();
    this.#isolates.lost();
    this.#reports.lostWaits();
    if (!this.#control.isClosed) this.#options.onLost();
  }

  #noticed({ warning, sqlSandbox }: Notice): void {
    if (sqlSandbox !== undefined) this.#options.onSqlSandbox(sqlSandbox as SandboxState); // of the same version
    if (warning === undefined) return;
    const { code, message } = warning;
    this.#options.onWarning(new EdgeError(isEdgeErrorCode(code) ? code : 'EDGE_INTERNAL', message));
  }
}
