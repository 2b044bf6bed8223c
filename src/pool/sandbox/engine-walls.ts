/**
 * The walls around engines of SQL: the walls of cells, with a folder that they may write to. Where the application is root, each account has a user for its
 * engines while it has any: its folder is given to that user, and taken back when the last of them has ended.
 */
import { lchownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { PRIVATE_DIRECTORY_MODE } from '../../storage/files/private-directory.js';
import type { ProcessHome, ProcessWalls, WalledProcess } from '../../storage/process-walls.js';
import { NODE_PATH } from '../node-path.js';
import { canRaisePriority } from '../processes/tree-priority.js';
import { ENGINE_RULES } from './engine-rules.js';
import { type Sandbox, type SandboxOption, sandboxFor } from './sandbox.js';
import { spawnBehind } from './spawn.js';
import { type SandboxState, sandboxWarning } from './state.js';

/** The user of an account's engines. */
interface User {
  readonly id: number | undefined;
  readonly folders: Set<string>;
  processes: number;
}

export class EngineWalls implements ProcessWalls {
  #option: SandboxOption | undefined;
  readonly #warn: (error: EdgeError) => void;
  readonly #onState: (state: SandboxState) => void;
  #sandbox: Sandbox | undefined;
  #elsewhere: SandboxState | undefined;
  #isTold = false;
  readonly #users = new Map<string, User>();

  /**
   * @param warn gets once that layers are missing
   * @param onState gets the layers before engines are started
   */
  constructor(
    option: SandboxOption | undefined,
    warn: (error: EdgeError) => void,
    onState: (state: SandboxState) => void = () => {},
  ) {
    this.#option = option;
    this.#warn = warn;
    this.#onState = onState;
  }

  /** Undefined before the first engine. */
  get state(): SandboxState | undefined {
    return this.#elsewhere ?? this.#sandbox?.state;
  }

  /** The backend process starts the engines: these are its layers; undefined when it has ended. */
  areElsewhere(state: SandboxState | undefined): void {
    this.#elsewhere = state;
    if (state !== undefined) this.#warnOf(state);
  }

  /** One more application uses the storage: the strictest of their options holds. */
  use(option: SandboxOption): void {
    if (this.#option === undefined || rankOf(option) > rankOf(this.#option)) this.#option = option;
  }

  async prepare(): Promise<void> {
    const option = this.#option ?? 'auto';
    // A command of the owner's own is for cells: it knows no folder.
    this.#sandbox = await sandboxFor(typeof option === 'object' ? 'auto' : option, ENGINE_RULES);
    const { state } = this.#sandbox;
    this.#onState(state);
    this.#warnOf(state);
  }

  #warnOf(state: SandboxState): void {
    const text = sandboxWarning(state, ENGINE_RULES.name);
    if (this.#isTold || text === undefined) return;
    this.#isTold = true;
    this.#warn(new EdgeError('EDGE_SANDBOX', text));
  }

  start(
    flags: readonly string[],
    program: string,
    stdio: readonly ('ignore' | 'pipe')[],
    home: ProcessHome,
  ): WalledProcess {
    const sandbox = this.#sandbox;
    if (sandbox === undefined) throw new EdgeError('EDGE_INTERNAL', 'An engine of SQL is started before its sandbox');
    const user = this.#enter(sandbox, home);
    try {
      mkdirSync(home.folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
      give(home.folder, user.id);
      const command = [NODE_PATH, ...flags, program];
      const inmate = spawnBehind(sandbox, command, stdio, { id: user.id, folder: home.folder });
      const { child } = inmate;
      let isCounted = true;
      const leave = guarded((): void => {
        if (isCounted) this.#leave(sandbox, home);
        isCounted = false;
      });
      // Its pipes close when nothing of it runs any more: the process that keeps the walls may be killed before the processes behind them.
      child.once('close', leave);
      child.once(
        'error',
        guarded(() => {
          if (child.pid === undefined) leave();
        }),
      );
      return {
        child,
        canRaise: canRaisePriority(),
        setPriority: priority => inmate.setPriority(priority),
        kill: () => inmate.kill(),
      };
    } catch (error) {
      this.#leave(sandbox, home);
      throw error;
    }
  }

  handOver({ account }: ProcessHome, path: string): void {
    const id = this.#users.get(account)?.id;
    if (id !== undefined) lchownSync(path, id, id);
  }

  #enter({ ids }: Sandbox, { account, folder }: ProcessHome): User {
    let user = this.#users.get(account);
    if (user === undefined) {
      user = { id: ids?.take(), folders: new Set(), processes: 0 };
      this.#users.set(account, user);
    }
    user.processes++;
    user.folders.add(folder);
    return user;
  }

  #leave({ ids }: Sandbox, { account }: ProcessHome): void {
    const user = this.#users.get(account);
    if (user === undefined || --user.processes > 0) return;
    this.#users.delete(account);
    if (user.id === undefined) return;
    // Another account may have the number next.
    for (const folder of user.folders) takeBack(folder);
    ids?.give(user.id);
  }
}

/** Off, unless one of them says otherwise. */
function rankOf(option: SandboxOption): number {
  return option === 'strict' ? 2 : option === 'off' ? 0 : 1;
}

/** Without a user of its own an engine has the application's user, which may have given the folder away when it was started with other layers. */
function give(folder: string, id: number | undefined): void {
  if (id !== undefined) own(folder, id, id);
  else if (process.geteuid?.() === 0) takeBack(folder);
}

function takeBack(folder: string): void {
  try {
    own(folder, process.geteuid?.() ?? 0, process.getegid?.() ?? 0);
  } catch {
    // It is removed, or is being removed.
  }
}

/** The files themselves, and never what a link leads to. There are no folders in it. */
function own(folder: string, user: number, group: number): void {
  lchownSync(folder, user, group);
  for (const name of readdirSync(folder)) {
    try {
      lchownSync(join(folder, name), user, group);
    } catch (error) {
      // SQLite may have removed it meanwhile.
      if (!isGone(error)) throw error;
    }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
