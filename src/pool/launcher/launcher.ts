/**
 * Has cells started by a small process of our own. fork() copies the page tables of its caller and stops its main thread until the program runs. That takes 12
 * ms for an application with 200 MB, 32 ms for one with 800 (Node 20.20). One launcher for all hosts of a process, from the first few cells on; it ends when no
 * host is left, and with the application.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { detached, guarded, guardedEach } from '../../quotas/guarded.js';
import { wholeSpawn } from '../../quotas/host/whole-spawn.js';
import { ownFolder } from '../package-paths.js';
import { killTree } from './command.js';
import { LaunchedProcess } from './launched-process.js';
import type { Ending, LaunchedCommand, LaunchReport, LaunchRequest } from './messages.js';

const MAIN = fileURLToPath(new URL('./launch-main.bundle.cjs', import.meta.url));
/** It starts programs and holds nothing. */
const FLAGS = [
  '--no-warnings',
  '--max-old-space-size=32',
  '--max-semi-space-size=1',
  '--single-threaded',
  '--optimize-for-size',
];
/** Cells that an application starts itself before it has a launcher, which takes memory for as long as it lives. */
const FIRST_CELLS = 4;
/** It ends when it has had nothing to do for this long. */
const IDLE_MS = 60_000;
/** A launcher that has not started or ended a command by then, or has not ended itself, is stuck: it is ended with its cells. */
const ANSWERS_WITHIN_MS = 20_000;
/** The messages that it has sent while the application was busy are read first. */
const LOOK_AGAIN_MS = 1000;
/** A launcher that was lost is started again by the cell after next. */
const CELLS_AFTER_LOSS = 1;

export interface LaunchCommand extends LaunchedCommand {
  readonly filter: Buffer | undefined;
}

interface Entry {
  readonly launched: LaunchedProcess;
  readonly ending: Ending;
  /** The sockets that it will inherit, until it has them. */
  readonly inherited: readonly Socket[];
  /** The number of its descriptors that are sockets to the application. */
  readonly pipes: number;
  /** It is to end: however often that is asked for, the launcher has the time of the first. */
  isKilled: boolean;
  /** Runs while the launcher is to start or to end it. */
  overdue: NodeJS.Timeout;
}

export class Launcher {
  #child: ChildProcess | undefined;
  #isUp = false;
  #cellsLeft = FIRST_CELLS;
  #next = 0;
  readonly #entries = new Map<number, Entry>();
  #idle: NodeJS.Timeout | undefined;
  readonly #answersWithinMs: number;
  readonly #filters = new WeakMap<Buffer, string>();

  /** @param answersWithinMs how long it may take to start or end a command, or to end. @default 20000 */
  constructor(answersWithinMs = ANSWERS_WITHIN_MS) {
    this.#answersWithinMs = answersWithinMs;
  }

  /** It takes commands. Otherwise they are started by the application itself. */
  get isUp(): boolean {
    return this.#isUp;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** A cell is started without it. After some of them it is worth its memory. */
  isWanted(): void {
    if (this.#child !== undefined || process.platform === 'win32') return;
    if (this.#cellsLeft-- > 0) return;
    this.#start();
  }

  /** The sockets are those that the command inherits behind its other descriptors, over which nothing has come yet; they are not the caller's any more. */
  launch({ filter, ...command }: LaunchCommand, inherited: readonly Socket[]): LaunchedProcess {
    const id = ++this.#next;
    const launched = new LaunchedProcess({
      kill: () => this.#kill(id),
      setPriority: priority => this.#send({ op: 'priority', id, priority }),
    });
    const { isWrapped, isCustom } = command;
    const pipes = command.stdio.filter(each => each === 'pipe').length;
    const overdue = this.#watch(() => launched.pid === undefined && !launched.hasEnded);
    this.#entries.set(id, { launched, ending: { isWrapped, isCustom }, inherited, pipes, isKilled: false, overdue });
    clearTimeout(this.#idle);
    // A child of the application itself would keep it running, too. Not its channel alone, which ends before it.
    this.#child?.ref();
    for (const socket of inherited) this.#send({ op: 'socket', id }, socket);
    this.#send({ op: 'launch', id, filter: this.#text(filter), ...command });
    return launched;
  }

  /** Ends it; its cells have ended before. Resolves when it is gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    clearTimeout(this.#idle);
    this.#isUp = false;
    child.ref();
    const ended = once(child, 'exit');
    const overdue = this.#watch(() => true);
    if (child.connected) child.disconnect();
    await ended;
    clearTimeout(overdue);
  }

  #start(): void {
    let child: ChildProcess;
    try {
      child = wholeSpawn(1, () =>
        fork(MAIN, [], {
          execArgv: FLAGS,
          env: {},
          cwd: ownFolder(),
          stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
          // As cells: Ctrl-C in a terminal does not go to it.
          detached: true,
        }),
      );
    } catch {
      this.#cellsLeft = FIRST_CELLS;
      return;
    }
    this.#child = child;
    child.unref();
    child.channel?.unref();
    child.on(
      'message',
      guarded((message, socket) => {
        const report = message as LaunchReport; // of our own program
        guarded(
          () => this.#receive(report, socket),
          () => {
            if ('id' in report) this.#kill(report.id);
          },
        )();
      }),
    );
    // 'exit' follows, if it was started.
    child.on(
      'error',
      guarded(() => {
        if (child.pid === undefined) this.#lost(child);
      }),
    );
    child.once(
      'exit',
      guarded(() => this.#lost(child)),
    );
  }

  #receive(report: LaunchReport, socket: unknown): void {
    if (report.op === 'up') {
      this.#isUp = this.#child?.connected === true;
      this.#rest();
      return;
    }
    const entry = this.#entries.get(report.id);
    if (entry === undefined) {
      if (socket instanceof Socket) socket.destroy();
      return;
    }
    const { launched } = entry;
    switch (report.op) {
      case 'started':
        if (!entry.isKilled) clearTimeout(entry.overdue);
        launched.pid = report.pid;
        return;
      case 'socket':
        launched.stdio[report.fd] = socket instanceof Socket ? socket : null;
        return;
      case 'open':
        // Without free descriptors some have not arrived.
        if (launched.stdio.filter(each => each !== null).length < entry.pipes) this.#kill(report.id);
        else launched.open();
        return;
      case 'failed':
        this.#remove(report.id, entry);
        launched.failed(report.message);
        return;
      case 'exit':
        this.#remove(report.id, entry);
        launched.ended(report.code, report.signal);
        return;
      default:
    }
  }

  #remove(id: number, { inherited, overdue }: Entry): void {
    clearTimeout(overdue);
    this.#entries.delete(id);
    if (this.#entries.size === 0) this.#rest();
    // The sockets that the command has not inherited.
    for (const socket of inherited) socket.destroy();
  }

  /** It has nothing to do. */
  #rest(): void {
    this.#child?.unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(
      guarded(() => detached(this.close())),
      IDLE_MS,
    ).unref();
  }

  #kill(id: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    if (!entry.isKilled) {
      entry.isKilled = true;
      clearTimeout(entry.overdue);
      entry.overdue = this.#watch(() => this.#entries.has(id));
    }
    this.#send({ op: 'kill', id });
  }

  /** Ends a launcher of which something is still waited for in the end. */
  #watch(isWaitedFor: () => boolean): NodeJS.Timeout {
    const child = this.#child;
    const lookAgain = guarded((): void => {
      if (isWaitedFor() && this.#child === child) child?.kill('SIGKILL');
    });
    return setTimeout(() => setTimeout(lookAgain, LOOK_AGAIN_MS).unref(), this.#answersWithinMs).unref();
  }

  #send(request: LaunchRequest, socket?: Socket): void {
    // A failure shows as the end of the launcher.
    if (this.#child?.connected === true) this.#child.send(request, socket, { keepOpen: false }, () => {});
  }

  #text(filter: Buffer | undefined): string | undefined {
    if (filter === undefined) return undefined;
    const text = this.#filters.get(filter) ?? filter.toString('base64');
    this.#filters.set(filter, text);
    return text;
  }

  /** Wrapped cells have ended with it. Cells without a wrapper would continue. */
  #lost(child: ChildProcess): void {
    if (this.#child !== child) return;
    clearTimeout(this.#idle);
    this.#child = undefined;
    this.#isUp = false;
    this.#cellsLeft = child.exitCode === 0 ? FIRST_CELLS : CELLS_AFTER_LOSS;
    guardedEach([...this.#entries], ([id, entry]) => {
      this.#remove(id, entry);
      const { launched, ending } = entry;
      if (launched.pid === undefined) launched.failed('The process that starts cells has ended');
      else {
        guarded(() => killTree(launched, ending))();
        launched.ended(null, 'SIGKILL');
      }
    });
  }
}

const shared = new Launcher();
let users = 0;

/** The launcher of this process, until `release` was called as often. */
export function useLauncher(): Launcher {
  users++;
  return shared;
}

/** The cells of one host have ended. Resolves, for the last one, when the launcher has ended. */
export async function releaseLauncher(): Promise<void> {
  users--;
  if (users === 0) await shared.close();
}
