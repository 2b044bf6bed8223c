/** Limits the descriptors of this process to EDGEHOST_TEST_DESCRIPTORS. Not before the program has been read, which takes many at once. */
import { execFileSync } from 'node:child_process';
import process from 'node:process';

export function limitDescriptors(): void {
  const { EDGEHOST_TEST_DESCRIPTORS: count } = process.env;
  if (count !== undefined) execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${count}:${count}`]);
}
