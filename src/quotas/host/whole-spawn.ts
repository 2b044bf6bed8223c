/** Starts a process, or fails without leaving anything behind. */
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import process from 'node:process';
import { errorCode } from '../errors.js';

/** Both ends of a pipe, until the process has its own. */
const PER_PIPE = 2;
/** The descriptors that spawn() needs itself, to learn whether the program has started. */
const OWN = 4;
const SHORTAGES: ReadonlySet<unknown> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM']);

/**
 * In Node 20 to 26, `spawn()` leaks pipes when it cannot start a process because the last descriptors are missing. They stay open, and nobody can reach them.
 * With too few descriptors, `start` finds none, so that it fails at its first pipe and leaves nothing.
 *
 * @param pipes how many of them the process gets, at most
 */
export function wholeSpawn(pipes: number, start: () => ChildProcess): ChildProcess {
  const held = process.platform === 'win32' ? [] : takeIfFewer(PER_PIPE * pipes + OWN);
  try {
    return start();
  } finally {
    for (const fd of held) closeSync(fd);
  }
}

/** Whether there was no process because the system had none left, or no descriptors or memory for one: that says nothing about the program. */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.has(errorCode(error));
}

/** The descriptors that are left, if they are fewer than the number. */
function takeIfFewer(count: number): readonly number[] {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(openSync(devNull, 'r'));
  } catch {
    return taken;
  }
  for (const fd of taken) closeSync(fd);
  return [];
}
