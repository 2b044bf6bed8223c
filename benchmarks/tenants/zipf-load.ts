/** Visitors of ten thousand accounts, of which few are asked for often: some are there, and some start for each request. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { totalmem } from 'node:os';
import type { EdgeFunction, EdgeHost } from '../../src/index.js';
import type { BenchmarkContext } from '../benchmark.js';
import { startHost } from '../subjects/host.js';
import { largeFunction } from '../subjects/sources.js';

export const ACCOUNTS = 10_000;
export const EXPONENT = 1;
const BUDGET_BYTES = 6e9;
/** Visitors that ask one request after the other. */
const VISITORS = 4;
/** Each thinks for a while in between: some 40 requests a second, on a machine that starts three processes a second. */
const THINK_MS = 100;
const MAX_SAMPLES = 1_000_000;
const PROGRESS_MS = 5000;

export class ZipfLoad {
  readonly host: EdgeHost;
  readonly memoryBytes = Math.min(BUDGET_BYTES, Math.floor(totalmem() / 2));
  /** Milliseconds of answers of accounts whose function has answered in the cell that they have, and of all others. */
  readonly warm: number[] = [];
  readonly cold: number[] = [];
  lost = 0;
  mostCells = 0;
  usedBytes = 0;
  /** Accounts with a process. */
  readonly withCell = new Set<string>();
  /** Those of them whose function has answered there. */
  readonly #answered = new Set<string>();
  readonly #functions = new Map<number, Promise<EdgeFunction>>();
  readonly #underWay = new Map<number, number>();
  readonly #context: BenchmarkContext;
  readonly #next = zipfNumbers(ACCOUNTS, EXPONENT);

  constructor(context: BenchmarkContext) {
    this.#context = context;
    const { memoryBytes } = this;
    this.host = startHost(context, { memoryBytes, maxIsolates: ACCOUNTS, spareIsolates: 0, warmCells: 2 });
    const onCell = (message: unknown): void => {
      const { account, state } = message as { account?: string; state: string }; // what the channel is documented to carry
      if (account === undefined) return;
      if (state === 'started') this.withCell.add(account);
      else {
        this.withCell.delete(account);
        this.#answered.delete(account);
      }
    };
    subscribe('edgehost:cell', onCell);
    context.defer(() => unsubscribe('edgehost:cell', onCell));
  }

  get answers(): number {
    return this.warm.length + this.cold.length;
  }

  /** Accounts that have been asked. */
  get asked(): number {
    return this.#functions.size;
  }

  /** An account that has been asked; `isQuiet` for one that no request is under way for. Undefined when the one that was drawn is not so. */
  draw(isQuiet: boolean): string | undefined {
    const known = [...this.#functions.keys()];
    const at = known[Math.floor(Math.random() * known.length)];
    return at === undefined || (isQuiet && (this.#underWay.get(at) ?? 0) > 0) ? undefined : accountOf(at);
  }

  /** Asks until the time of the benchmark is over. */
  async run(): Promise<void> {
    const { rounds, seconds, progress } = this.#context;
    const untilMs = performance.now() + seconds * rounds * 1000;
    const watch = setInterval(() => {
      this.usedBytes = Math.max(this.usedBytes, this.host.health().memory?.usedBytes ?? 0);
      this.mostCells = Math.max(this.mostCells, this.withCell.size);
      progress(`${this.answers} answers, ${this.cold.length} cold, ${this.lost} lost, ${this.withCell.size} cells`);
    }, PROGRESS_MS);
    const visit = async (): Promise<void> => {
      while (performance.now() < untilMs) {
        await this.#ask(this.#next());
        await new Promise(resolve => setTimeout(resolve, Math.random() * 2 * THINK_MS));
      }
    };
    await Promise.all(Array.from({ length: VISITORS }, visit));
    clearInterval(watch);
  }

  async #ask(at: number): Promise<void> {
    const id = accountOf(at);
    const times = this.#answered.has(id) ? this.warm : this.cold;
    this.#underWay.set(at, (this.#underWay.get(at) ?? 0) + 1);
    const beganMs = performance.now();
    try {
      const loading = this.#functions.get(at) ?? this.host.account(id).load(functionOf(id), { name: FUNCTION_NAME });
      this.#functions.set(at, loading);
      const response = await (await loading).fetch('https://example.com/');
      if ((await response.text()) === 'Hello from a function') {
        if (this.withCell.has(id)) this.#answered.add(id);
        if (times.length < MAX_SAMPLES) times.push(performance.now() - beganMs);
      } else this.#lose(id, `status ${response.status}`);
    } catch (error) {
      this.#lose(id, String(error));
    } finally {
      this.#underWay.set(at, (this.#underWay.get(at) ?? 1) - 1);
    }
  }

  #lose(id: string, why: string): void {
    this.lost++;
    this.#context.progress(`lost, of ${id}: ${why}`);
  }
}

/** The name of the function that each account has. */
export const FUNCTION_NAME = 'hello';

/** Its script. */
export function functionOf(account: string): string {
  return largeFunction(20, account);
}

function accountOf(at: number): string {
  return `account-${at}`;
}

/** Numbers from 0 on, of which the n-th is as likely as 1 / (n + 1) ** exponent. */
function zipfNumbers(count: number, exponent: number): () => number {
  const sums = new Float64Array(count);
  let sum = 0;
  for (let at = 0; at < count; at++) {
    sum += 1 / (at + 1) ** exponent;
    sums[at] = sum;
  }
  return () => {
    const wanted = Math.random() * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}
