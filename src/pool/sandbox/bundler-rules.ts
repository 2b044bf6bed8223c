/**
 * The rules of bundlers: Node with esbuild, a program of its own, over files that a customer may have uploaded. They read the folders that they are given and
 * write nothing. Those folders are the application's, so a bundler has its user.
 */
import { ALLOWED, CONDITIONAL } from './filter/cell-filter.js';
import type { ProcessRules } from './rules.js';

/** CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID and NET: a process or a thread is made without any of them. */
const NAMESPACE_FLAGS = 0x7e020000;
const AF_UNIX = 1;
const MAX_DESCRIPTORS = 512;
const MAX_THREADS = 256;
/** Memory that can be written to, of Node and of esbuild each. Since Node 24 the 512 MiB that V8 keeps for code count too. */
const MAX_DATA_BYTES = 1280 * 1024 * 1024;

export const BUNDLER_RULES: ProcessRules = {
  name: 'bundlers',
  process: 'the bundler',
  libraries: [],
  hasFolder: false,
  readsFolders: true,
  calls: {
    // esbuild is started by Node, with pipes to it, and lists folders.
    allowed: [...ALLOWED, 'getdents64', 'chdir', 'dup2', 'dup3'],
    conditional: {
      ...CONDITIONAL,
      clone: [[{ index: 0, mask: NAMESPACE_FLAGS, value: 0 }]],
      socketpair: [[{ index: 0, value: AF_UNIX }]],
    },
  },
  limits: { core: 0, fsize: 0, memlock: 0, msgqueue: 0, data: MAX_DATA_BYTES, nofile: MAX_DESCRIPTORS },
  raised: {},
  threads: MAX_THREADS,
  probe: () => [
    '--eval',
    `process.exit(require('node:child_process').spawnSync(process.execPath, ['--version']).status ?? 1)`,
  ],
};
