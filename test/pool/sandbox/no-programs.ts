import type { Programs } from '../../../src/pool/sandbox/programs.js';

/** A machine on which no program of a sandbox is installed. */
export const NO_PROGRAMS: Programs = {
  bwrap: undefined,
  unshare: undefined,
  setpriv: undefined,
  prlimit: undefined,
  newuidmap: undefined,
  cat: undefined,
};
