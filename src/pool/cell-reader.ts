/** Reads a cell from the kernel: from its control group where it has one, else from each of its processes. */
import type { CellGlance, CellReader, CellSurvey } from './cell-watch.js';
import type { CellCgroup } from './cgroup.js';
import { figuresOf, heldFiles, OpenFile, parseStat, writtenBytes } from './process-reading.js';
import { descendantsOf } from './process-tree.js';

/** A cell has one process and a wrapper or two: with more it is ended, however many there are. */
const MOST_PROCESSES = 16;
/** Descriptors of one process beyond which they are only counted. */
const MOST_DESCRIPTORS = 4096;

export class KernelReader implements CellReader {
  readonly #root: number;
  readonly #pid: number;
  readonly #stat: OpenFile;
  readonly #cgroup: CellCgroup | undefined;

  /**
   * Throws where the system has no /proc, or the process is gone.
   *
   * @param root what was started: the cell, or what has started the cell
   * @param pid the cell
   */
  constructor(root: number, pid: number, cgroup: CellCgroup | undefined) {
    this.#root = root;
    this.#pid = pid;
    this.#stat = new OpenFile(`/proc/${pid}/stat`);
    this.#cgroup = cgroup;
  }

  get source(): CellReader['source'] {
    return this.#cgroup === undefined ? 'processes' : 'cgroup';
  }

  glance(): CellGlance | undefined {
    const text = this.#stat.read();
    const figures = text === undefined ? undefined : parseStat(text);
    if (figures === undefined) return undefined;
    const { cpuMs, residentBytes, threads } = figures;
    return { cpuMs: this.#cgroup?.cpuMs ?? cpuMs, residentBytes, threads };
  }

  survey(): CellSurvey | undefined {
    const pids = this.#cgroup?.processes ?? [this.#root, ...descendantsOf(this.#root, MOST_PROCESSES)];
    const memoryBytes = this.#cgroup?.memoryBytes;
    let threads = 0;
    let residentBytes = 0;
    let descriptors = 0;
    let fileBytes = 0;
    let written: number | undefined;
    const seen = new Set<string>();
    for (const pid of pids.slice(0, MOST_PROCESSES)) {
      const figures = figuresOf(pid);
      const files = heldFiles(pid, seen, MOST_DESCRIPTORS);
      const bytes = writtenBytes(pid);
      if (pid === this.#pid && (figures === undefined || files === undefined)) return undefined;
      threads += figures?.threads ?? 0;
      residentBytes += figures?.residentBytes ?? 0;
      descriptors += files?.descriptors ?? 0;
      fileBytes += files?.bytes ?? 0;
      if (bytes !== undefined) written = (written ?? 0) + bytes;
    }
    return {
      processes: pids.length,
      threads,
      residentBytes: memoryBytes ?? residentBytes,
      descriptors,
      fileBytes: memoryBytes === undefined ? fileBytes : undefined,
      writtenBytes: written,
    };
  }

  close(): void {
    this.#stat.close();
  }
}
