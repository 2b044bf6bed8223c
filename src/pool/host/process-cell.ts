/** A cell as a supervised child process: it has inherited socket pairs, and no environment, no files and nothing else of the application. */
import { Socket } from 'node:net';
import { Channel, type ChannelOwner } from '../../protocol/channel.js';
import { socketTransport } from '../../protocol/transports/transport.js';
import { detached, guarded, guardedEach } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { type CellSettings, CONTROL_BOUNDS, Control, parseEnded, parseFlag, startPayload } from '../control.js';
import type { Launcher } from '../launcher/launcher.js';
import { isolateFlags } from '../sandbox/cell-flags.js';
import type { Sandbox } from '../sandbox/sandbox.js';
import { type Inmate, launchBehind, type SpawnedProcess } from '../sandbox/spawn.js';
import type { Trial } from '../sandbox/trial.js';
import {
  type Cell,
  type CellBackend,
  type CellEvents,
  type CellOptions,
  FIRST_LEASES,
  type InheritedConnections,
  type LeaseConnection,
  protocolDetail,
} from './cell.js';
import { type CellProgram, cellProgram } from './cell-program.js';
import { KernelReader } from './cell-usage/cell-reader.js';
import type { CellReader } from './cell-usage/cell-watch.js';
import type { CellCgroup, CgroupParent } from './cell-usage/cgroup.js';
import { enclose } from './cell-usage/enclose.js';
import { CellLastWords } from './last-words.js';
import { printable } from './printable.js';

const CONTROL_FD = 3;
const FIRST_LEASE_FD = 4;
/** Its standard error and control connection, and the two files in /proc that are kept open to measure it. */
const OWN_DESCRIPTORS = 4;
/** Its processes with their threads before it has isolates: the cell itself, and those that keep its sandbox (Node 20.20 and bubblewrap). */
const OWN_TASKS = 8;
/** How long to read its standard error after its exit. */
const LAST_WORDS_WITHIN_MS = 200;
/** A cell that is not up by then counts as failed. It took 0.1 s on an idle machine, and 2 s on a very busy one. */
const START_WITHIN_MS = 30_000;
/** A cell that does not close within this time is killed. */
const CLOSE_WITHIN_MS = 2000;

/** The surroundings of a cell, besides its options. */
export interface CellSurroundings {
  /** Where the cell gets a control group of its own. @default none */
  readonly cgroups?: CgroupParent | undefined;
  /** The account's share of the host. @default nothing is counted */
  readonly share?: HostShare | undefined;
  /** Undefined with `backend: 'inline'`: services are called over the connection of the lease. */
  readonly backend?: CellBackend | undefined;
  /** Starts its process. @default this process does */
  readonly launcher?: Launcher | undefined;
  /** @default Node with the main file of a cell */
  readonly program?: CellProgram | undefined;
}

export class ProcessCell implements Cell {
  readonly ready: Promise<void>;
  readonly #inmate: Inmate;
  readonly #backend: CellBackend | undefined;
  readonly #calls: InheritedConnections | undefined;
  readonly #hasNamespace: boolean;
  readonly #trial: Trial | undefined;
  /** The cell, or a program that waits for it. */
  readonly #child: SpawnedProcess;
  /** Known once the cell is up: before, its wrapper may have helper processes that are not the cell. */
  #pid: number | undefined;
  #isUp = false;
  /** Undefined before the process has been started, and when it could not be. */
  #control: Channel | undefined;
  /** The account that the cell belongs to, if it has one yet. */
  #share: HostShare | undefined;
  readonly #events: CellEvents;
  readonly #leases = new Set<number>();
  readonly #exited: Promise<string>;
  #nextSocket = 0;
  /** Its leases, those that were used included. */
  #leaseCount: number;
  /** The first of its connections to the backend process. It began with as many of them as it had leases. */
  readonly #firstCallsFd: number;
  /** The process has its descriptors. */
  #isOpen = false;
  #lastWords: CellLastWords | undefined;
  /** Undefined before the cell was moved to its control group, and for a cell without one. */
  #cgroup: CellCgroup | undefined;
  #isRemoved: Promise<void> = Promise.resolve();
  #isClosing = false;
  #killReason = '';
  #isPinged = false;
  #isFinished = false;

  constructor(
    options: CellOptions,
    events: CellEvents,
    sandbox: Sandbox,
    { cgroups, share, backend, launcher, program = cellProgram() }: CellSurroundings = {},
  ) {
    this.#events = events;
    this.#hasNamespace = sandbox.state.namespaces;
    this.#trial = sandbox.trial;
    this.#backend = backend;
    this.#share = share;
    this.#calls = backend?.take();
    this.#leaseCount = this.#calls?.sockets.length ?? options.leases ?? FIRST_LEASES;
    this.#firstCallsFd = FIRST_LEASE_FD + this.#leaseCount;
    const stdio = [
      'ignore' as const,
      'ignore' as const,
      'pipe' as const,
      'pipe' as const,
      ...Array.from({ length: this.#leaseCount }, () => 'pipe' as const),
      ...(this.#calls?.sockets ?? []),
    ];
    try {
      this.#inmate = launchBehind(launcher, sandbox, [program.command, ...program.args], stdio);
    } catch (error) {
      // The backend process would keep the other ends.
      if (this.#calls !== undefined) backend?.release(this.#calls);
      throw error;
    }
    const { child, opened } = this.#inmate;
    this.#child = child;
    const starting = setTimeout(
      guarded(() => this.kill(`it did not start within ${START_WITHIN_MS} ms`)),
      START_WITHIN_MS,
    );
    starting.unref();
    this.#exited = new Promise(resolve => {
      child.once(
        'error',
        guarded(error => this.#over(error.message, resolve)),
      );
      child.once(
        'exit',
        guarded((code, signal) => {
          // A process that could not be made for want of descriptors says nothing about its sandbox.
          if (!this.#isUp && !this.#isClosing) this.#trial?.fail();
          const over = guarded((): void => this.#over(signal ?? `exit code ${code}`, resolve));
          guarded(() => this.#whenRead(over), over)();
        }),
      );
    });
    let onReady: () => void = () => {};
    let onFailed: (error: Error) => void = () => {};
    const isUp = new Promise<void>((resolve, reject) => {
      onReady = () => {
        clearTimeout(starting);
        resolve();
      };
      onFailed = reject;
    });
    const open = (): Promise<void> => this.#open(options, cgroups, onReady);
    this.ready = Promise.all([isUp, opened === undefined ? open() : opened.then(open)]).then(() => {});
    // A process that runs and could not be set up would wait for its settings until it is overdue.
    this.ready.catch((error: unknown) => this.kill(`it could not be set up: ${String(error)}`));
    detached(
      this.#exited.then(detail => {
        clearTimeout(starting);
        onFailed(new Error([detail, printable(this.#lastWords?.text ?? '')].filter(text => text !== '').join(': ')));
      }),
    );
  }

  /** Calls the listener when its standard error is read to the end, or has been read for long enough. */
  #whenRead(step: () => void): void {
    const listener = guarded(step);
    const { stderr } = this.#child;
    if (stderr === null || stderr.closed) {
      listener();
      return;
    }
    setTimeout(listener, LAST_WORDS_WITHIN_MS);
    stderr.once('close', listener);
    this.#lastWords?.readRest();
  }

  /** The process has its descriptors: it gets its settings, and a control group. */
  async #open(options: CellOptions, cgroups: CgroupParent | undefined, onReady: () => void): Promise<void> {
    const { pid, stderr } = this.#child;
    // Without free descriptors for its pipes there is no process and, against the types, no stdio either; 'error' follows.
    if (pid === undefined || this.#isFinished) return;
    this.#isOpen = true;
    if (stderr !== null) this.#lastWords = new CellLastWords(stderr);
    const transport = socketTransport(this.#socket(CONTROL_FD), true);
    this.#control = new Channel(transport, 'host', this.#controlOwner(onReady), {
      frames: CONTROL_BOUNDS,
      share: this.#share,
    });
    const { maxThreads, heapBytes, cellMemoryBytes, guestBundle, basePriority } = options;
    const settings: CellSettings = {
      maxThreads,
      heapBytes,
      cellMemoryBytes,
      execArgv: isolateFlags(),
      ...(guestBundle !== undefined && { guestBundle }),
      ...(basePriority !== undefined && { basePriority }),
    };
    this.#control.signal(0, Control.Settings, JSON.stringify(settings));
    await this.#enclose(cgroups, options);
  }

  #controlOwner(onReady: () => void): ChannelOwner {
    return {
      onOpen: exchange => exchange.fail('Not supported'),
      onSignal: (lease, kind, payload) => {
        switch (kind) {
          case Control.Ready:
            this.#isUp = true;
            this.#trial?.pass();
            onReady();
            return;
          case Control.Pong:
            this.#isPinged = false;
            return;
          case Control.Ended: {
            const { end, detail } = parseEnded(payload);
            this.#leases.delete(lease);
            this.#events.onLeaseEnd(lease, end, detail);
            return;
          }
          case Control.LongTurn:
            if (this.#leases.has(lease)) this.#events.onLongTurn(lease, parseFlag(payload));
            return;
          case Control.TerminationOverdue:
            if (parseFlag(payload)) this.kill('a thread did not end in time');
            else this.#events.onTerminationOverdue();
            return;
          default:
        }
      },
      onClose: error => {
        // A cell that is closing ends by itself, and is waited for.
        if (!this.#isClosing) this.kill(error && protocolDetail(error.message));
      },
    };
  }

  get mayStartElsewhere(): boolean {
    return !this.#isUp && this.#trial?.hasFailed === true;
  }

  get pid(): number | undefined {
    if (!this.#isUp) return this.#inmate.pid;
    this.#pid ??= this.#inmate.pid;
    return this.#pid;
  }

  /** Bytes read from its standard error. */
  get printedBytes(): number {
    return this.#lastWords?.bytes ?? 0;
  }

  get movedBytes(): number {
    let sum = 0;
    for (let index = 0; index < this.#nextSocket; index++) {
      const { bytesRead, bytesWritten } = this.#socket(FIRST_LEASE_FD + index);
      sum += bytesRead + bytesWritten;
    }
    return sum;
  }

  get leasesLeft(): number {
    return this.#isFinished ? 0 : this.#leaseCount - this.#nextSocket;
  }

  get descriptors(): number {
    if (this.#isFinished) return 0;
    const unused = this.#leaseCount - this.#nextSocket;
    return OWN_DESCRIPTORS + unused + this.#leases.size;
  }

  get tasks(): number {
    return this.#isFinished ? 0 : OWN_TASKS + this.#leases.size;
  }

  trim(kept: number): number {
    const count = Math.min(this.#leaseCount, this.#nextSocket + kept);
    const freed = this.#leaseCount - count;
    if (freed <= 0 || !this.#isOpen || this.#isFinished) return 0;
    for (let index = count; index < this.#leaseCount; index++) this.#socket(FIRST_LEASE_FD + index).destroy();
    if (this.#calls !== undefined)
      this.#backend?.release({ first: this.#calls.first + count, sockets: { length: freed } });
    this.#leaseCount = count;
    return freed;
  }

  start(): LeaseConnection {
    if (this.leasesLeft === 0) throw new Error('The cell has no lease left');
    const index = this.#nextSocket++;
    const lease = index + 1;
    const socket = this.#socket(FIRST_LEASE_FD + index);
    this.#leases.add(lease);
    const calls = this.#calls;
    const callsFd = calls === undefined ? undefined : this.#firstCallsFd + index;
    this.#control?.signal(lease, Control.Start, startPayload(FIRST_LEASE_FD + index, callsFd));
    return {
      lease,
      transport: socketTransport(socket, true),
      ...(calls !== undefined && { calls: calls.first + index }),
    };
  }

  end(lease: number): void {
    if (this.#leases.delete(lease)) this.#control?.signal(lease, Control.End, '');
  }

  ping(): boolean {
    if (this.#isPinged) return false;
    this.#isPinged = true;
    this.#control?.signal(0, Control.Ping, '');
    return true;
  }

  assign(share: HostShare): boolean {
    if (this.#control !== undefined && !this.#control.assign(share)) return false;
    // Its connection may not be open yet: it is counted to the account from the beginning then.
    this.#share = share;
    return true;
  }

  setPriority(priority: number): void {
    if (!this.#isFinished) this.#inmate.setPriority(priority);
  }

  reader(): CellReader | undefined {
    const { pid } = this;
    const root = this.#child.pid;
    if (pid === undefined || root === undefined) return undefined;
    try {
      const isInside = this.#cgroup?.processes.includes(pid) === true;
      return new KernelReader(root, pid, isInside ? this.#cgroup : undefined);
    } catch {
      return undefined;
    }
  }

  /** Kills all of its processes. */
  kill(reason = ''): void {
    if (this.#isFinished) return;
    this.#killReason ||= reason;
    this.#inmate.kill();
    // In a PID namespace all processes have ended before the wrapper exits, so its exit is enough. Otherwise only the kernel (cgroup.kill) can end
    // processes that keep forking.
    if (!this.#hasNamespace) this.#cgroup?.kill();
  }

  async close(): Promise<void> {
    if (!this.#isFinished) {
      this.#isClosing = true;
      this.#control?.close();
      const timer = setTimeout(() => this.kill('it did not close in time'), CLOSE_WITHIN_MS);
      await this.#exited;
      clearTimeout(timer);
    }
    await this.#isRemoved;
  }

  async #enclose(cgroups: CgroupParent | undefined, options: CellOptions): Promise<void> {
    const { pid } = this.#child;
    if (cgroups === undefined || pid === undefined) return;
    const cgroup = await enclose(pid, cgroups, options);
    if (this.#isFinished) this.#isRemoved = cgroup?.remove() ?? this.#isRemoved;
    else this.#cgroup = cgroup;
  }

  #socket(fd: number): Socket {
    const stream = this.#child.stdio?.[fd];
    if (!(stream instanceof Socket)) throw new Error(`The cell has no socket ${fd}`);
    return stream;
  }

  #over(how: string, resolve: (detail: string) => void): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    const cleaning = [
      () => {
        if (this.#calls !== undefined) this.#backend?.release(this.#calls);
      },
      () => {
        for (const stream of this.#child.stdio ?? []) if (stream instanceof Socket) stream.destroy();
      },
      () => {
        if (this.#cgroup?.isEndedByMemory === true) this.#killReason ||= 'out of memory: the kernel ended the cell';
        // The wrapper may have ended by itself; without a control group, processes that the cell has started may still run.
        if (this.#cgroup !== undefined) this.#isRemoved = this.#cgroup.remove();
      },
    ];
    // None of it keeps those waiting that are to hear of the end.
    guardedEach(cleaning, step => step());
    const why = this.#killReason || /^FATAL ERROR: .*$/m.exec(this.#lastWords?.text ?? '')?.[0];
    const detail = why === undefined ? how : `${how}, ${printable(why)}`;
    resolve(detail);
    this.#events.onExit(detail);
  }
}
