/**
 * The calls of load() of one account, in turns by name. When many calls for one name are made at once, a few start. The latest of the others starts
 * next. A call from before a version that serves is not started: its version would never serve.
 */
import { errorCode } from '../../quotas/errors.js';
import type { EdgeFunction } from '../edge-function.js';
import { type FunctionRunner, unloadedError } from '../invocation/function-runner.js';

/** Calls for one name that start at once. */
const MAX_STARTING = 4;

export class LoadTurn {
  readonly order: number;
  /** Set when a version serves that was asked for later. */
  winner: EdgeFunction | undefined;
  name = '';
  runner: FunctionRunner | undefined;
  isStarting = false;
  /** Ends its waiting. */
  wake: () => void = () => {};

  constructor(order: number) {
    this.order = order;
  }
}

export class LoadTurns {
  readonly #byName = new Map<string, Set<LoadTurn>>();
  #last = 0;

  /** A call has come. Those that come later win. */
  next(): LoadTurn {
    return new LoadTurn(++this.#last);
  }

  /** Answers what `load` answers, or the function that has won. */
  async take(turn: LoadTurn, load: () => Promise<EdgeFunction>): Promise<EdgeFunction> {
    try {
      return await load();
    } catch (error) {
      if (turn.winner !== undefined && errorCode(error) === 'EDGE_FUNCTION_UNLOADED') return turn.winner;
      throw error;
    } finally {
      this.#end(turn);
    }
  }

  /** Resolves when the runner may load its function. Rejects with EDGE_FUNCTION_UNLOADED when its turn has a winner. */
  async begin(turn: LoadTurn, name: string, runner: FunctionRunner): Promise<void> {
    turn.name = name;
    turn.runner = runner;
    const turns = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, turns.add(turn));
    this.#serve(turns);
    if (!turn.isStarting && turn.winner === undefined) {
      await new Promise<void>(resolve => {
        turn.wake = resolve;
      });
    }
    if (turn.winner !== undefined) throw unloadedError(runner.context);
  }

  /** The version of this turn serves. */
  won(turn: LoadTurn, winner: EdgeFunction): void {
    for (const other of this.#byName.get(turn.name) ?? []) {
      if (other.order >= turn.order) continue;
      other.winner = winner;
      other.runner?.retire();
      other.wake();
    }
  }

  #end(turn: LoadTurn): void {
    const turns = this.#byName.get(turn.name);
    if (turns?.delete(turn) !== true) return;
    if (turns.size === 0) this.#byName.delete(turn.name);
    else this.#serve(turns);
  }

  /** The last one that was called starts, unless it is starting: those before it are of use only when it fails. */
  #serve(turns: ReadonlySet<LoadTurn>): void {
    let last: LoadTurn | undefined;
    let starting = 0;
    for (const turn of turns) {
      if (turn.winner !== undefined) continue;
      if (turn.isStarting) starting++;
      if (last === undefined || turn.order > last.order) last = turn;
    }
    if (last === undefined || last.isStarting || starting >= MAX_STARTING) return;
    last.isStarting = true;
    last.wake();
  }
}
