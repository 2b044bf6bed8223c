/** The recorded texts of one invocation: console output, exceptions, and the head of the request share one limit (specification: Limits, rule 12). */
import type { LimitWarnings } from '../../../quotas/limit-warnings.js';
import type { LogLevel } from '../../events.js';
import type { InvocationContext } from '../invocation-context.js';
import { LogBudget } from './log-budget.js';
import type { RecordedLog, TraceException, TraceLog } from './trace-item.js';

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'log', 'warn', 'error'];

/** The bytes of a line beside its text. */
const LINE_BYTES = 128;

export class InvocationLog {
  readonly #context: InvocationContext;
  readonly #id: string;
  readonly #budget: LogBudget;
  readonly #warnings: LimitWarnings;
  readonly #hasHead: boolean;
  #lines = 0;
  /** Kept when somebody watches. */
  #kept: TraceLog[] | undefined;
  #exceptions: TraceException[] | undefined;
  #keptBytes = 0;

  constructor(context: InvocationContext, id: string, requestHead: string, warnings: LimitWarnings) {
    this.#context = context;
    this.#id = id;
    this.#warnings = warnings;
    this.#budget = new LogBudget(context.limits.logBytes);
    this.#hasHead = this.#budget.admit(requestHead) === requestHead;
  }

  /** Lines that were handed on. */
  get lines(): number {
    return this.#lines;
  }

  /** The record for tails, which is no longer kept. */
  takeRecorded(): RecordedLog {
    const logs = this.#kept ?? [];
    const exceptions = this.#exceptions ?? [];
    this.#kept = undefined;
    this.#exceptions = undefined;
    this.#context.share.bytes.countHeap(-this.#keptBytes);
    this.#keptBytes = 0;
    return { logs, exceptions, isTruncated: this.#budget.isTruncated, hasHead: this.#hasHead };
  }

  /** Records a line and hands it on. */
  write(level: number, message: string): void {
    const wasTruncated = this.#budget.isTruncated;
    const recorded = this.#admit(message);
    if (recorded !== null) this.#emit(LEVELS[level] ?? 'log', recorded);
    // Behind the line that was cut.
    if (!wasTruncated) this.#noteTruncation();
  }

  /** The part of a text that is still within the limit; */
  record(text: string): string | null {
    const wasTruncated = this.#budget.isTruncated;
    const recorded = this.#admit(text);
    if (!wasTruncated) this.#noteTruncation();
    return recorded;
  }

  /** Keeps an exception for those who watch. */
  exception(name: string, text: string, trace: string): void {
    const message = this.record(text);
    if (message === null) return;
    const stack = this.record(trace) ?? '';
    this.#exceptions ??= [];
    this.#exceptions.push({ timestamp: Date.now(), name, message, ...(stack !== '' && { stack }) });
    this.#count(name.length + message.length + stack.length);
  }

  #admit(text: string): string | null {
    const recorded = this.#budget.admit(text);
    this.#warnings.note('logBytes', this.#budget.usedBytes, this.#context.limits.logBytes);
    return recorded;
  }

  #noteTruncation(): void {
    if (!this.#budget.isTruncated) return;
    const { logBytes } = this.#context.limits;
    this.#emit('warn', `Log truncated: limit logBytes is ${logBytes} (option limits.logBytes)`);
  }

  #emit(level: LogLevel, message: string): void {
    this.#lines++;
    const { account, function: name, tails } = this.#context;
    const time = Date.now();
    if (tails.isWatched) this.#keep({ timestamp: time, level, message: [message] }, message.length);
    this.#context.emitLog({ account, function: name, invocation: this.#id, level, message, time });
  }

  #keep(line: TraceLog, characters: number): void {
    this.#kept ??= [];
    this.#kept.push(line);
    this.#count(characters);
  }

  #count(characters: number): void {
    const bytes = LINE_BYTES + 2 * characters;
    this.#keptBytes += bytes;
    this.#context.share.bytes.countHeap(bytes);
  }
}
