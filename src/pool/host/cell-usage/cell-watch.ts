/**
 * A cell seen from outside: its usage as the kernel reports it, compared with what its invocations may use. A compromised cell can answer every ping and report
 * anything; of its reports only the ends of invocations count here, and those only up to their limits.
 */
import { type CellBounds, CPU, SURVEY } from './cell-bounds.js';

/** Values that are read in a few microseconds. */
export interface CellGlance {
  readonly cpuMs: number;
  readonly residentBytes: number;
  readonly threads: number;
}

/** Resources that a cell can take in great numbers with hardly any CPU time. */
export interface CellTally {
  readonly processes: number;
  readonly descriptors: number;
}

/** Values that take longer to read: of all processes of the cell, and of the files that they hold open. */
export interface CellSurvey extends CellTally {
  readonly threads: number;
  readonly residentBytes: number;
  /** Files that are held open, in memory and on disk. Undefined where the kernel counts them with the memory. */
  readonly fileBytes: number | undefined;
  /** Undefined if the system does not report it. */
  readonly writtenBytes: number | undefined;
}

export interface CellReader {
  readonly source: 'cgroup' | 'processes';
  /** Undefined when the cell is gone. */
  glance(): CellGlance | undefined;
  /** The part of a survey that is cheap to read, for idle cells. Undefined like a survey. */
  tally(): CellTally | undefined;
  /** Undefined when the cell is gone, or the system refuses. */
  survey(): CellSurvey | undefined;
  /** Memory that the end of the cell would free. Undefined like a survey. The kernel may take long: it waits for what the cell's threads hold. */
  memory(): Promise<number | undefined>;
  close(): void;
}

/** The CPU time that the invocations of a cell account for. */
export interface CellClaims {
  /** The CPU time that the open ones may use; Infinity if one has no limit. */
  readonly openMs: number;
  /** The CPU time that finished ones and moved bytes account for. It only grows. */
  readonly earnedMs: number;
  /** Isolates that have started; starting ones are part of `openMs`. */
  readonly isolates: number;
}

/** The reason to end a cell. */
export interface CellFinding {
  readonly kind: 'cpu' | 'memory' | 'cell';
  readonly detail: string;
  /** CPU time that nothing accounts for. */
  readonly unaccountedMs: number;
}

export class CellWatch {
  readonly #reader: CellReader;
  readonly #bounds: CellBounds;
  /** The number of processes when the cell came up. No function code had run, so they are its own and its wrappers. */
  readonly #processes: number;
  readonly #isReadable: boolean;
  /** How much slower this machine is than the one that the bounds were measured on. */
  readonly #slowness: number;
  #glance: CellGlance | undefined;
  #cpuMs: number;
  #earnedMs = 0;
  #atMs: number;
  /** Used CPU time that nothing accounts for. */
  #debtMs = 0;
  #pastCpuPolls = 0;
  #surveyedCpuMs: number;
  /** Processes at the last count. */
  #counted: number | undefined;
  /** The bytes that files and all processes but the main one held at the last survey. */
  #besideBytes = 0;
  #pollsSinceSurvey = 0;
  #refused = 0;

  /** To be created when the cell is up, before function code runs in it. */
  constructor(reader: CellReader, bounds: CellBounds, nowMs: number) {
    this.#reader = reader;
    this.#bounds = bounds;
    this.#glance = reader.glance();
    const survey = this.#survey(this.#glance);
    this.#isReadable = survey !== undefined;
    this.#processes = survey?.processes ?? Number.POSITIVE_INFINITY;
    this.#cpuMs = this.#glance?.cpuMs ?? 0;
    this.#slowness = Math.min(CPU.slowest, Math.max(1, this.#cpuMs / CPU.upMs));
    this.#surveyedCpuMs = this.#cpuMs;
    this.#atMs = nowMs;
  }

  /** Resident memory of the cell's main process at the last poll. */
  get residentBytes(): number | undefined {
    return this.#glance?.residentBytes;
  }

  /** Memory that the end of the cell would free, if the system reports it. */
  memory(): Promise<number | undefined> {
    return this.#reader.memory();
  }

  get source(): CellReader['source'] {
    return this.#reader.source;
  }

  /**
   * The usage of its main process, read now, and of all others as they were at the last survey. A survey takes milliseconds: health checks of hundreds
   * of cells would stop the application for a second.
   */
  usage(): { readonly processes: number; readonly cpuMs: number; readonly residentBytes: number } | undefined {
    const glance = this.#reader.glance();
    if (glance === undefined || this.#counted === undefined) return undefined;
    const { cpuMs, residentBytes } = glance;
    return { processes: this.#counted, cpuMs, residentBytes: residentBytes + this.#besideBytes };
  }

  #survey(glance: CellGlance | undefined): CellSurvey | undefined {
    const survey = this.#reader.survey();
    if (survey === undefined) return undefined;
    this.#counted = survey.processes;
    this.#besideBytes = survey.residentBytes + (survey.fileBytes ?? 0) - (glance?.residentBytes ?? 0);
    return survey;
  }

  close(): void {
    this.#reader.close();
  }

  /** Reads the usage of the cell; returns why it is to be ended, if it is. Called every POLL_MS. */
  poll(claims: CellClaims, nowMs: number): CellFinding | undefined {
    const glance = this.#reader.glance();
    // The end of a process is reported elsewhere.
    if (glance === undefined) return undefined;
    this.#glance = glance;
    return this.#checkCpu(glance, claims, nowMs) ?? this.#checkGlance(glance) ?? this.#surveyIfDue(glance);
  }

  /**
   * CPU time that nothing accounts for adds up, less the idle share of each cell; unused share is not saved. The sum may reach what the open invocations
   * may use, plus a slack; what those really used is accounted for when they end.
   */
  #checkCpu(glance: CellGlance, claims: CellClaims, nowMs: number): CellFinding | undefined {
    const usedMs = glance.cpuMs - this.#cpuMs;
    const earnedMs = claims.earnedMs - this.#earnedMs + (nowMs - this.#atMs) * CPU.idleShare;
    this.#cpuMs = glance.cpuMs;
    this.#earnedMs = claims.earnedMs;
    this.#atMs = nowMs;
    this.#debtMs = claims.openMs === Number.POSITIVE_INFINITY ? 0 : Math.max(0, this.#debtMs + usedMs - earnedMs);
    const allowedMs = this.#slowness * (CPU.slackMs + claims.isolates * CPU.isolateSlackMs + claims.openMs);
    this.#pastCpuPolls = this.#debtMs > allowedMs ? this.#pastCpuPolls + 1 : 0;
    if (this.#pastCpuPolls < CPU.persistentPolls) return undefined;
    const what = `it used ${ms(this.#debtMs)} of CPU time that its invocations do not account for`;
    return this.#found('cpu', `${what}, at most ${ms(allowedMs)} are allowed`);
  }

  #checkGlance({ residentBytes, threads }: CellGlance): CellFinding | undefined {
    return this.#checkMemory(residentBytes, 0) ?? this.#checkCount('threads', threads, this.#bounds.threads);
  }

  /** Filling a page takes CPU time, so of a cell that used none since the last survey only the cheap part is read. */
  #surveyIfDue(glance: CellGlance): CellFinding | undefined {
    this.#pollsSinceSurvey++;
    const isActive = glance.cpuMs > this.#surveyedCpuMs;
    if (this.#pollsSinceSurvey < (isActive ? SURVEY.activePolls : SURVEY.idlePolls)) return undefined;
    this.#pollsSinceSurvey = 0;
    if (!isActive) {
      const tally = this.#reader.tally();
      return tally === undefined ? this.#refusal() : this.#checkTally(tally);
    }
    this.#surveyedCpuMs = glance.cpuMs;
    const survey = this.#survey(glance);
    if (survey === undefined) return this.#refusal();
    const { fileBytes, residentBytes, threads, writtenBytes } = survey;
    const bounds = this.#bounds;
    return (
      this.#checkTally(survey) ??
      this.#checkCount('threads', threads, bounds.threads) ??
      this.#checkMemory(residentBytes, fileBytes ?? 0) ??
      this.#checkCount('bytes written to disk', writtenBytes ?? 0, bounds.writtenBytes)
    );
  }

  #checkTally({ processes, descriptors }: CellTally): CellFinding | undefined {
    this.#refused = 0;
    this.#counted = processes;
    return (
      this.#checkCount('processes', processes, this.#processes) ??
      this.#checkCount('open descriptors', descriptors, this.#bounds.descriptors)
    );
  }

  /** A cell that was readable before has made itself unreadable, or is about to end. */
  #refusal(): CellFinding | undefined {
    if (!this.#isReadable || ++this.#refused < SURVEY.refusedInARow) return undefined;
    return this.#found('cell', 'it hides what it holds open from the host');
  }

  #checkMemory(residentBytes: number, fileBytes: number): CellFinding | undefined {
    const bytes = residentBytes + fileBytes;
    if (bytes <= this.#bounds.memoryBytes) return undefined;
    const files = fileBytes === 0 ? '' : `, ${mebibytes(fileBytes)} of it in files that it holds open`;
    const what = `the cell holds ${mebibytes(bytes)}${files}, at most ${mebibytes(this.#bounds.memoryBytes)} are allowed`;
    // host/cell.ts recognises an end by memory by this text.
    return this.#found('memory', `out of memory: ${what}`);
  }

  #checkCount(what: string, count: number, allowed: number): CellFinding | undefined {
    if (count <= allowed) return undefined;
    return this.#found('cell', `it has ${count} ${what}, at most ${allowed} are allowed`);
  }

  #found(kind: CellFinding['kind'], detail: string): CellFinding {
    return { kind, detail, unaccountedMs: this.#debtMs };
  }
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / (1024 * 1024))} MiB`;
}
