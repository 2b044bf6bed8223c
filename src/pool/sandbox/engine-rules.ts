/** The rules of engines of SQL: the rules of cells, and the files of one folder. */
import { fileURLToPath } from 'node:url';
import { SQLITE_PACKAGE } from '../../sqlite/engine/sqlite.js';
import { hasPackage } from '../../sqlite/library.js';
import { ENGINE_FLAGS } from '../../sqlite/pool/sqlite-process.js';
import { ALLOWED, CONDITIONAL, LOCK_COMMANDS } from './filter/cell-filter.js';
import type { ProcessRules } from './rules.js';

const PROBE = fileURLToPath(new URL('../../sqlite/engine/probe.js', import.meta.url));
/** The files of 16 open databases, twice, and what Node has. */
const MAX_DESCRIPTORS = 256;
/** Each engine has about 12 threads, and all of an account count together. */
const MAX_THREADS = 256;
/**
 * Memory that can be written to, reserved or not: V8 reserves far more addresses than it ever uses, so that RLIMIT_AS cannot bound it. The engine itself ends
 * at 320 MiB that are in use. Since Node 24 the 512 MiB that V8 keeps for code count too.
 */
const MAX_DATA_BYTES = 1280 * 1024 * 1024;
/** Files that Node's start opens to be read, and files of databases. */
const { open: _open, openat: _openat, ...CONDITIONAL_OF_ENGINES } = CONDITIONAL;

export const ENGINE_RULES: ProcessRules = {
  name: 'engines of SQL',
  process: 'an engine of SQL',
  libraries: [
    { name: 'lru-cache' },
    { name: SQLITE_PACKAGE },
    // It finds the addon of the package, in whose folders it looks for it.
    { name: 'node-gyp-build', importedBy: SQLITE_PACKAGE },
  ],
  hasFolder: true,
  calls: {
    allowed: [
      ...ALLOWED,
      // In what can be written to by name, which is the folder alone
      'open',
      'openat',
      'unlink',
      'unlinkat',
      'getdents64',
      // Descriptors that are open
      'pwrite64',
      'fsync',
      'fdatasync',
      'ftruncate',
      'fallocate',
      'fchmod',
    ],
    conditional: { ...CONDITIONAL_OF_ENGINES, fcntl: [...(CONDITIONAL.fcntl ?? []), ...LOCK_COMMANDS] },
  },
  limits: { core: 0, memlock: 0, msgqueue: 0, data: MAX_DATA_BYTES, nofile: MAX_DESCRIPTORS },
  raised: {},
  threads: MAX_THREADS,
  probe: () => [...ENGINE_FLAGS, PROBE, hasPackage() ? 'installed' : 'missing'],
};
