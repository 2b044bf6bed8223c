/** A process of the engine, from the host's side: its start, its messages, and how it ends. Its owner decides about its work. */
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants, getPriority } from 'node:os';
import { EdgeError } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import { descriptorLimit } from '../../../quotas/host/system-limits.js';
import type { ProcessHome, ProcessWalls, WalledProcess } from '../../../storage/process-walls.js';
import { frame, isReady, JobFrameReader } from '../engine/frames.js';

/** These bound the heap of JavaScript. SQLite's memory comes on top. */
export const ENGINE_FLAGS: readonly string[] = ['--no-warnings', '--max-old-space-size=192', '--max-semi-space-size=4'];
/** A process that was asked to end does so at once. */
const KILL_AFTER_MS = 500;
/** The length of the last message of a process, which says why it ended and at which job. */
const MAX_WORD_CHARACTERS = 200;

const STDIO = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] as const;

/** Where engines of an account run. */
export interface EnginePlace {
  readonly walls: ProcessWalls;
  readonly home: ProcessHome;
}

export class EngineProcess {
  /** Its exit report: JSON of a reason and a job; empty when it ended without a word. */
  lastWord = '';
  /** It has started: from here on its time is charged to its work. */
  isReady = false;
  /** It is about to end, or has ended. */
  isEnding = false;
  readonly ended: Promise<void>;
  readonly #walled: WalledProcess;
  readonly #child: ChildProcess;
  readonly #control: Socket;
  readonly #messages: Socket;
  #kill: NodeJS.Timeout | undefined;

  /**
   * @param main its program
   * @param home whose it is, and where its files are
   * @param onMessage a message that it has sent
   * @throws EdgeError EDGE_OVERLOADED when there are no descriptors for its pipes, and what `start()` of the walls throws
   */
  constructor(main: string, { walls, home }: EnginePlace, onMessage: (head: unknown, payload: Buffer) => void) {
    this.#walled = walls.start(ENGINE_FLAGS, main, STDIO, home);
    const { child } = this.#walled;
    // Without free descriptors for its pipes there is no process and, against the types, no stdio either.
    const stdio: ChildProcess['stdio'] | undefined = child.stdio;
    if (stdio === undefined) {
      child.once('error', () => {});
      const { name, limit, remedy } = descriptorLimit() ?? {};
      const why = limit === undefined ? '' : `: all ${limit} are in use (${name}). Raise the limit with ${remedy}`;
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot start a process of the SQL engine: there are no free descriptors${why}`,
      );
    }
    this.#child = child;
    this.#control = child.stdio[3] as Socket; // as stdio above says
    this.#messages = child.stdio[4] as Socket; // as stdio above says
    const reader = new JobFrameReader((head, payload) => {
      if (!this.isReady && isReady(head)) this.isReady = true;
      else onMessage(head, payload);
    });
    this.#messages.on(
      'data',
      guarded((chunk: Buffer) => {
        try {
          reader.push(chunk);
        } catch {
          this.end();
        }
      }),
    );
    this.#control.on(
      'data',
      guarded((chunk: Buffer) => {
        if (this.lastWord.length < MAX_WORD_CHARACTERS) this.lastWord += chunk.toString();
      }),
    );
    // The event 'close' reports its end; when the host is gone it ends itself.
    for (const stream of [this.#control, this.#messages]) stream.on('error', () => {});
    this.ended = new Promise<void>(resolve => {
      child.once('error', () => resolve());
      child.once('close', () => resolve());
    }).then(() => {
      clearTimeout(this.#kill);
      this.isEnding = true;
    });
    // Callers wait for the end of the process, and with them perhaps the application. Behind walls it may answer for a moment longer than its keeper lives.
    child.once(
      'exit',
      guarded(() => {
        this.isEnding = true;
        this.#ref();
        // A keeper that was killed while it built the walls leaves its engine behind, which ends itself when nobody holds the other end of this.
        this.#control.end();
      }),
    );
    this.unref();
  }

  send(head: object, payload: readonly Uint8Array[]): void {
    const parts = frame(head, payload);
    if (parts.length > 1) this.#messages.cork();
    for (const part of parts) this.#messages.write(part);
    if (parts.length > 1) this.#messages.uncork();
  }

  /** It runs something that the application waits for. */
  ref(): void {
    this.#child.ref();
  }

  /** It does not keep an application running that has nothing else to do, unless its end is waited for. */
  unref(): void {
    if (this.isEnding) return;
    this.#child.unref();
    this.#control.unref();
    this.#messages.unref();
  }

  /** Ends it in order, whatever it runs; its last word says what that was. */
  stop(): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.#ref();
    this.#control.write('x');
    this.#kill = setTimeout(
      guarded(() => this.end()),
      KILL_AFTER_MS,
    );
    this.#kill.unref();
  }

  end(): void {
    this.isEnding = true;
    this.#ref();
    this.#walled.kill();
  }

  /** It runs something long: short work goes first. */
  lower(): void {
    try {
      this.#walled.setPriority(constants.priority.PRIORITY_LOW);
    } catch {
      // It has ended, or the system does not allow it.
    }
  }

  /** Undoes {@link lower}. @returns false where the system does not allow it: then it stays slow */
  restore(): boolean {
    if (!this.#walled.canRaise || this.isEnding) return false;
    try {
      this.#walled.setPriority(getPriority());
      return true;
    } catch {
      // It has just ended.
      return false;
    }
  }

  #ref(): void {
    this.#child.ref();
    this.#control.ref();
    this.#messages.ref();
  }
}
