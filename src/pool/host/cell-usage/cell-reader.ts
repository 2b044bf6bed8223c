/** Reads the usage of a cell from the kernel: from its control group if it has one, else from each of its processes. */

import {
  countDescriptors,
  heldFiles,
  lastStarted,
  OpenFile,
  parseStat,
  proportionalBytes,
  usageOf,
  writtenBytes,
} from '../../processes/process-reading.js';
import { descendantsOf } from '../../processes/process-tree.js';
import type { CellGlance, CellReader, CellSurvey, CellTally } from './cell-watch.js';
import type { CellCgroup } from './cgroup.js';

/** More processes are not read: a cell has one, and a wrapper or two, and is ended with more. */
const MAX_PROCESSES = 16;
/** Descriptors of one process beyond which they are only counted. */
const MAX_DESCRIPTORS = 4096;

export class KernelReader implements CellReader {
  readonly #root: number;
  readonly #pid: number;
  readonly #stat: OpenFile;
  readonly #cgroup: CellCgroup | undefined;
  /** Wrappers that only started the cell: no code of the cell can make them open a file. */
  readonly #wrappers: ReadonlySet<number>;
  #count = 0;
  #countedAt: string | undefined;

  /**
   * To be created when the cell is up, before function code runs in it. Throws if the system has no /proc, or the process is gone.
   *
   * @param root the process that was started: the cell, or its wrapper
   * @param pid the process of the cell
   */
  constructor(root: number, pid: number, cgroup: CellCgroup | undefined) {
    this.#root = root;
    this.#pid = pid;
    this.#stat = new OpenFile(`/proc/${pid}/stat`);
    this.#cgroup = cgroup;
    this.#wrappers = new Set(this.#pids().filter(other => other !== pid));
  }

  get source(): CellReader['source'] {
    return this.#cgroup === undefined ? 'processes' : 'cgroup';
  }

  glance(): CellGlance | undefined {
    const text = this.#stat.read();
    const usage = text === undefined ? undefined : parseStat(text);
    if (usage === undefined) return undefined;
    const { cpuMs, residentBytes, threads } = usage;
    return { cpuMs: this.#cgroup?.cpuMs ?? cpuMs, residentBytes, threads };
  }

  tally(): CellTally | undefined {
    const descriptors = countDescriptors(this.#pid);
    return descriptors === undefined ? undefined : { processes: this.#countProcesses(), descriptors };
  }

  /** The lists are read again only if a process was started on this machine since. */
  #countProcesses(): number {
    const started = lastStarted();
    if (started === undefined || started !== this.#countedAt) this.#count = this.#pids().length;
    this.#countedAt = started;
    return this.#count;
  }

  survey(): CellSurvey | undefined {
    const pids = this.#pids();
    const memoryBytes = this.#cgroup?.memoryBytes;
    let threads = 0;
    let residentBytes = 0;
    let descriptors = 0;
    let fileBytes = 0;
    const seen = new Set<string>();
    for (const pid of pids.slice(0, MAX_PROCESSES)) {
      const usage = usageOf(pid);
      threads += usage?.threads ?? 0;
      residentBytes += usage?.residentBytes ?? 0;
      if (this.#wrappers.has(pid)) continue;
      // Files in memory are part of the group's memory; without a group they are found only by the descriptors.
      const most = memoryBytes === undefined ? MAX_DESCRIPTORS : 0;
      const files = heldFiles(pid, seen, most);
      if (pid === this.#pid && (usage === undefined || files === undefined)) return undefined;
      descriptors += files?.descriptors ?? 0;
      fileBytes += files?.bytes ?? 0;
    }
    return {
      processes: pids.length,
      threads,
      residentBytes: memoryBytes ?? residentBytes,
      descriptors,
      fileBytes: memoryBytes === undefined ? fileBytes : undefined,
      writtenBytes: writtenBytes(this.#pid),
    };
  }

  async memory(): Promise<number | undefined> {
    const grouped = this.#cgroup?.memoryBytes;
    if (grouped !== undefined) return grouped;
    let sum = 0;
    for (const pid of this.#pids().slice(0, MAX_PROCESSES)) {
      const bytes = await proportionalBytes(pid);
      if (bytes === undefined && pid === this.#pid) return undefined;
      sum += bytes ?? 0;
    }
    return sum;
  }

  close(): void {
    this.#stat.close();
  }

  #pids(): number[] {
    return this.#cgroup?.processes ?? [this.#root, ...descendantsOf(this.#root, MAX_PROCESSES)];
  }
}
