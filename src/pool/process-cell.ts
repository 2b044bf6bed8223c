/** A cell as a supervised child process: inherited socket pairs, no environment, no files, nothing of the application. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Channel } from '../isolate/protocol/channel.js';
import { socketTransport } from '../isolate/protocol/transport.js';
import type { Cell, CellEvents, CellOptions, LeaseConnection } from './cell.js';
import { cellFlags, isolateFlags } from './cell-flags.js';
import { type CellSettings, Control, parseEnded, parseFlag } from './control.js';
import { OutputTail } from './output-tail.js';
import type { Sandbox } from './sandbox/sandbox.js';
import { type Inmate, spawnBehind } from './sandbox/spawn.js';

/** Socket pairs of one cell. Each serves one lease; a cell that runs out is replaced. */
const LEASE_SOCKETS = 32;
const CONTROL_FD = 3;
const FIRST_LEASE_FD = 4;
/** What is kept of what a cell prints to its standard error. */
const MAX_STDERR_BYTES = 16 * 1024;
/** Its last words may be read after the news of its end. */
const LAST_WORDS_WITHIN_MS = 200;
/** A cell that has not said by then that it is up never will: it took 0.1 s on an idle machine, and 2 s on one that was busy all over. */
const START_WITHIN_MS = 30_000;
/** A cell that is told to close and does not is killed. */
const CLOSE_WITHIN_MS = 2000;
const PAGE_BYTES = 4096;

export class ProcessCell implements Cell {
  readonly ready: Promise<void>;
  readonly #inmate: Inmate;
  /** The cell, or a program that waits for it. */
  readonly #child: ChildProcess;
  /** Kept when the cell is up: until then its wrapper may have helpers that are not the cell. */
  #pid: number | undefined;
  #isUp = false;
  /** Undefined when the process could not be started. */
  readonly #control: Channel | undefined;
  readonly #events: CellEvents;
  readonly #leases = new Set<number>();
  readonly #exited: Promise<string>;
  #nextSocket = 0;
  readonly #stderr = new OutputTail(MAX_STDERR_BYTES);
  #isClosing = false;
  #killReason = '';
  #isPinged = false;
  #isOver = false;

  constructor(options: CellOptions, events: CellEvents, sandbox: Sandbox) {
    this.#events = events;
    const main = fileURLToPath(new URL('./cell-main.js', import.meta.url));
    this.#inmate = spawnBehind(
      sandbox,
      [process.execPath, ...cellFlags(), main],
      ['ignore', 'ignore', 'pipe', 'pipe', ...Array.from({ length: LEASE_SOCKETS }, () => 'pipe' as const)],
    );
    const { child } = this.#inmate;
    this.#child = child;
    child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    const starting = setTimeout(() => this.kill(`it did not start within ${START_WITHIN_MS} ms`), START_WITHIN_MS);
    starting.unref();
    this.#exited = new Promise(resolve => {
      child.once('error', error => this.#over(error.message, resolve));
      child.once('exit', (code, signal) => {
        const over = (): void => this.#over(signal ?? `exit code ${code}`, resolve);
        if (child.stderr === null || child.stderr.closed) over();
        else {
          child.stderr.once('close', over);
          setTimeout(over, LAST_WORDS_WITHIN_MS);
        }
      });
    });
    let onReady: () => void = () => {};
    let onFailed: (error: Error) => void = () => {};
    this.ready = new Promise((resolve, reject) => {
      onReady = resolve;
      onFailed = reject;
    });
    this.ready.catch(() => {});
    void this.#exited.then(detail => {
      clearTimeout(starting);
      onFailed(new Error([detail, this.#stderr.text.trim()].filter(text => text !== '').join(': ')));
    });
    // Without descriptors for its pipes there is no process, and no stdio either, whatever the types say; 'error' follows.
    if (child.pid === undefined) return;
    this.#control = new Channel(socketTransport(this.#socket(CONTROL_FD), true), 'host', {
      onOpen: exchange => exchange.fail('Not supported'),
      onNote: (lease, kind, payload) => {
        switch (kind) {
          case Control.Ready:
            clearTimeout(starting);
            this.#isUp = true;
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
          case Control.Linger:
            if (parseFlag(payload)) this.kill('a thread did not end when it was told to');
            else this.#events.onLinger();
            return;
          default:
        }
      },
      onClose: error => {
        // A cell that is told to close ends by itself, and is waited for.
        if (!this.#isClosing) this.kill(error?.message);
      },
    });
    const settings: CellSettings = { ...options, execArgv: isolateFlags() };
    this.#control.note(0, Control.Settings, JSON.stringify(settings));
  }

  get pid(): number | undefined {
    if (!this.#isUp) return this.#inmate.pid;
    this.#pid ??= this.#inmate.pid;
    return this.#pid;
  }

  get leasesLeft(): number {
    return this.#isOver ? 0 : LEASE_SOCKETS - this.#nextSocket;
  }

  start(): LeaseConnection {
    const index = this.#nextSocket++;
    const lease = index + 1;
    const socket = this.#socket(FIRST_LEASE_FD + index);
    this.#leases.add(lease);
    const payload = Buffer.allocUnsafe(4);
    payload.writeUInt32LE(FIRST_LEASE_FD + index);
    this.#control?.note(lease, Control.Start, payload);
    return { lease, transport: socketTransport(socket, true) };
  }

  end(lease: number): void {
    if (this.#leases.delete(lease)) this.#control?.note(lease, Control.End, '');
  }

  /** Answers whether the last ping was answered. */
  ping(): boolean {
    if (this.#isPinged) return false;
    this.#isPinged = true;
    this.#control?.note(0, Control.Ping, '');
    return true;
  }

  residentBytes(): number | undefined {
    try {
      return Number(readFileSync(`/proc/${this.pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES;
    } catch {
      return undefined;
    }
  }

  kill(reason = ''): void {
    if (this.#isOver) return;
    this.#killReason ||= reason;
    this.#inmate.kill();
  }

  async close(): Promise<void> {
    if (!this.#isOver) {
      this.#isClosing = true;
      this.#control?.close();
      const timer = setTimeout(() => this.kill('it did not close when it was told to'), CLOSE_WITHIN_MS);
      await this.#exited;
      clearTimeout(timer);
    }
  }

  #socket(fd: number): Socket {
    const stream = this.#child.stdio[fd];
    if (!(stream instanceof Socket)) throw new Error(`The cell has no socket ${fd}`);
    return stream;
  }

  #over(how: string, resolve: (detail: string) => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#control !== undefined) for (const stream of this.#child.stdio) stream?.destroy();
    const why = this.#killReason || /^FATAL ERROR: .*$/m.exec(this.#stderr.text)?.[0];
    const detail = why === undefined ? how : `${how}, ${why}`;
    resolve(detail);
    this.#events.onExit(detail);
  }
}
