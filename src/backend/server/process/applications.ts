/** The applications that a backend process has: each is there for as long as its watch is open. */
import type { Socket } from 'node:net';
import { guarded } from '../../../quotas/guarded.js';
import { Beat } from '../../socket/hello.js';

interface Application {
  readonly watch: Socket;
  control: Socket | undefined;
}

export class Applications {
  readonly #all = new Map<string, Application>();
  readonly #onNone: (isAtOnce: boolean) => void;

  /** @param onNone the last one has gone; `isAtOnce` when it said so, and its watch is still open then */
  constructor(onNone: (isAtOnce: boolean) => void) {
    this.#onNone = onNone;
  }

  get size(): number {
    return this.#all.size;
  }

  has(name: string): boolean {
    return this.#all.has(name);
  }

  /** False when there is one of this name. */
  add(name: string, watch: Socket): boolean {
    if (this.#all.has(name)) return false;
    this.#all.set(name, { watch, control: undefined });
    watch.on(
      'data',
      guarded((beats: Buffer) => {
        if (beats.includes(Beat.Leave)) this.#leave(name);
        else if (beats.includes(Beat.Ping)) watch.write(Buffer.of(Beat.Pong));
      }),
    );
    watch.on(
      'close',
      guarded(() => {
        if (this.#remove(name) && this.#all.size === 0) this.#onNone(false);
      }),
    );
    if (watch.destroyed) this.#remove(name);
    return true;
  }

  /** False when there is no such application, or it has one already. */
  setControl(name: string, control: Socket): boolean {
    const application = this.#all.get(name);
    if (application === undefined || application.control !== undefined) return false;
    application.control = control;
    return true;
  }

  #leave(name: string): void {
    const application = this.#all.get(name);
    if (application === undefined) return;
    this.#remove(name);
    // The last one waits for the end of the process, and with it of the watch.
    if (this.#all.size === 0) this.#onNone(true);
    else application.watch.destroy();
  }

  #remove(name: string): boolean {
    const application = this.#all.get(name);
    application?.control?.destroy();
    return this.#all.delete(name);
  }
}
