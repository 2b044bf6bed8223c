/** The rules of cells: the files that one may read, its system calls and its limits. */

import { CELL_LIBRARIES } from '../package-paths.js';
import { cellFlags } from './cell-flags.js';
import { CELL_CALLS } from './filter/cell-filter.js';
import type { ProcessRules } from './rules.js';

const MAX_DESCRIPTORS = 512;
/** The threads of a cell: 32 leases, the engine's and libuv's threads, and the isolates that are ending. */
const MAX_THREADS = 256;
/** In the units of RLIMIT_NICE 20 is a nice value of 0. */
const NORMAL_PRIORITY = 20;

export const CELL_RULES: ProcessRules = {
  name: 'cells',
  process: 'the cell',
  libraries: CELL_LIBRARIES,
  hasFolder: false,
  calls: CELL_CALLS,
  limits: { core: 0, fsize: 0, memlock: 0, msgqueue: 0, nofile: MAX_DESCRIPTORS },
  // While it still may: what the cell lowers of its threads' priority, it can raise again (thread-priority.ts).
  raised: { nice: NORMAL_PRIORITY },
  threads: MAX_THREADS,
  probe: () => [
    ...cellFlags(),
    '--input-type=module',
    '--eval',
    `import 'piscina'; import './isolate/parser.bundle.cjs'`,
  ],
};
