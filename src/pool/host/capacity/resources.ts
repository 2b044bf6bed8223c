/** The resources that cells take of the machine and of the application's process, and estimates for a new cell until it is measured. */
import { FEW_LEASES } from '../cell.js';

export interface Resources {
  /** Memory. */
  readonly bytes: number;
  /** Descriptors of the application's process. */
  readonly descriptors: number;
  /** Processes and threads: the kernel counts both as tasks. */
  readonly tasks: number;
}

export type ResourceKind = keyof Resources;

const MEBIBYTE = 1024 * 1024;
/** A cell with its first isolate, until it is measured (Node 20.20: 34 of resident memory, of which other cells share 10). */
export const CELL_BYTES = 30 * MEBIBYTE;
/** One more isolate of a cell, until it is measured. */
export const ISOLATE_BYTES = 8 * MEBIBYTE;

export const NOTHING: Resources = { bytes: 0, descriptors: 0, tasks: 0 };

/** A cell with an isolate and a spare. It takes more descriptors where there are more. */
export const CELL: Resources = { bytes: CELL_BYTES, descriptors: FEW_LEASES + 4, tasks: 10 };

/** One more isolate of a cell, which has a descriptor for it already. */
export const ISOLATE: Resources = { bytes: ISOLATE_BYTES, descriptors: 0, tasks: 1 };

/** The first isolate of an account whose isolates are threads of the application, or one more (Node 20.20). */
export const THREAD: Resources = { bytes: ISOLATE_BYTES, descriptors: 5, tasks: 1 };

export function sum(all: Iterable<Resources>): Resources {
  let [bytes, descriptors, tasks] = [0, 0, 0];
  for (const each of all) {
    bytes += each.bytes;
    descriptors += each.descriptors;
    tasks += each.tasks;
  }
  return { bytes, descriptors, tasks };
}
