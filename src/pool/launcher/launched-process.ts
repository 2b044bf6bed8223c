/** A process that the launcher has started, or is about to start, from the application's side: what ChildProcess is for one of its own. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';

/** How its owner reaches it. */
export interface LaunchedControl {
  kill(): void;
  setPriority(priority: number): void;
}

/** Emits 'error' when it could not be started, 'exit' with code and signal when it has ended, each at most once. */
export class LaunchedProcess extends EventEmitter {
  /** Resolves when it has all of its descriptors; never when it could not be started. */
  readonly opened: Promise<void>;
  readonly stdio: (Socket | null)[] = [];
  pid: number | undefined;
  exitCode: number | null = null;
  signalCode: NodeJS.Signals | null = null;
  readonly #control: LaunchedControl;
  #hasFailed = false;
  #onOpen: () => void = () => {};

  constructor(control: LaunchedControl) {
    super();
    this.#control = control;
    this.opened = new Promise(resolve => {
      this.#onOpen = resolve;
    });
  }

  get stderr(): Readable | null {
    const stream = this.stdio[2];
    return stream instanceof Readable ? stream : null;
  }

  get hasEnded(): boolean {
    return this.#hasFailed || this.exitCode !== null || this.signalCode !== null;
  }

  kill(): void {
    if (!this.hasEnded) this.#control.kill();
  }

  setPriority(priority: number): void {
    if (!this.hasEnded) this.#control.setPriority(priority);
  }

  /** All of its descriptors are there. */
  open(): void {
    this.#onOpen();
  }

  failed(message: string): void {
    this.#hasFailed = true;
    this.emit('error', new Error(message));
  }

  ended(code: number | null, signal: NodeJS.Signals | null): void {
    this.exitCode = code;
    this.signalCode = signal;
    this.emit('exit', code, signal);
  }
}
