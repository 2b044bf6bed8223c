/**
 * The files, system calls and limits of a kind of process: the one description by which walls are made. Cells and the
 * engines of SQL each have one. A wall's parts, programs or calls of our own, are not its concern.
 */
import type { Library } from '../package-paths.js';
import type { SystemCall } from './filter/system-calls.js';

/** The number of the process itself, which is known when its filter is made, or only when it starts. */
export const OWN_PID = 'own pid';

/** Compares the low 32 bits of an argument, the only ones that the kernel reads of these: the bits of the mask must be `value`. */
export interface ArgumentCheck {
  readonly index: number;
  readonly mask?: number;
  readonly value: number | typeof OWN_PID;
}

export interface SystemCallRules {
  /** Allowed with any arguments. */
  readonly allowed: readonly SystemCall[];
  /** Allowed when every check of one of these lists holds. */
  readonly conditional: Readonly<Partial<Record<SystemCall, readonly (readonly ArgumentCheck[])[]>>>;
}

/** Resource limits of the system that a process can have, as `prlimit` names them, with their numbers in the kernel. */
export const RESOURCES = {
  fsize: 1,
  data: 2,
  core: 4,
  nproc: 6,
  nofile: 7,
  memlock: 8,
  msgqueue: 12,
  nice: 13,
} as const;

export type ResourceLimit = keyof typeof RESOURCES;

export interface ProcessRules {
  /** A word for messages: "cells". */
  readonly name: string;
  /** One of them, in a sentence: "the cell". */
  readonly process: string;
  /** Besides Node and this package, what it may read. Those that are not installed are left out. */
  readonly libraries: readonly Library[];
  /** Whether each process has a folder that it may write to. Its files have to stay readable for the application. */
  readonly hasFolder: boolean;
  /** Whether each process reads folders of the application's user, which it has then. @default false */
  readonly readsFolders?: boolean;
  readonly calls: SystemCallRules;
  /** At most as much of each; where the application itself has less, that is the limit. */
  readonly limits: Readonly<Partial<Record<ResourceLimit, number>>>;
  /** At least as much of each, where the system permits it: rights to do something later, not restrictions. */
  readonly raised: Readonly<Partial<Record<ResourceLimit, number>>>;
  /** The most threads of one user. */
  readonly threads: number;
  /** Arguments of Node for a program that shows that such a process starts; with a folder it is the last argument. */
  probe(): readonly string[];
}
