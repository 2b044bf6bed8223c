/** The name of a backend process in lists of processes. */
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Its beginning fits into the 15 characters that some lists show. */
export function titleOf(storage: string): string {
  return `edgehost-store ${storage}`;
}

/**
 * Ends the process of this id with SIGKILL, if it is the backend process of the directory. Ids are used again, and one that another process has told may be
 * of another namespace. False when it is not, or the system does not show it.
 */
export function killBackendProcess(pid: number, storage: string): boolean {
  try {
    const [title] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return title === titleOf(storage) && process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
