/**
 * The system calls of a cell, as a seccomp filter. An allow list: the calls of Node, V8, libuv and libc while cells serve functions, recorded on Node 20, 24
 * and 26. It also has the calls that the C library uses instead on other machines and kernels, and the calls with which `setpriv` becomes the cell's user
 * behind the filter. Sockets are inherited and none is made; memory and threads are of this process alone.
 *
 * A call that is not allowed fails with EPERM, and does not end the process: a Node that makes a new call then behaves as on an older kernel, while ending
 * every cell of every account would be an outage. An attacker gains nothing by the difference. Calls that are newer than the common numbering fail with ENOSYS,
 * which libraries take for an older kernel: `clone3`, whose flags a filter cannot see, becomes `clone` in this way, and `io_uring` becomes `epoll`. Code for
 * another machine (32-bit calls, x32) is never Node's: it ends the process.
 */

import { type ArgumentCheck, OWN_PID, type SystemCallRules } from '../rules.js';
import { BpfProgram, SECCOMP_DATA } from './bpf.js';
import {
  type Architecture,
  AUDIT_ARCHITECTURES,
  FIRST_COMMON_NUMBER,
  numberOf,
  type SystemCall,
  X32_BIT,
} from './system-calls.js';

/** SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, and SECCOMP_RET_ERRNO with EPERM or ENOSYS. */
export const ACTIONS = { allow: 0x7fff0000, kill: 0x80000000, refuse: 0x00050001, missing: 0x00050026 } as const;

/** Allowed with any arguments. Descriptors, memory and identity of the own process; times; the own threads. */
export const ALLOWED: readonly SystemCall[] = [
  // Descriptors that are open
  'read',
  'write',
  'readv',
  'writev',
  'pread64',
  'lseek',
  'close',
  'fstat',
  'shutdown',
  'getsockname',
  'getsockopt',
  // Waiting
  'epoll_create1',
  'epoll_ctl',
  'epoll_wait',
  'epoll_pwait',
  'poll',
  'ppoll',
  'eventfd2',
  'pipe2',
  // Files by name: only the package's files exist, and no others may be opened
  'access',
  'faccessat',
  'stat',
  'lstat',
  'newfstatat',
  'statx',
  'readlink',
  'readlinkat',
  'getcwd',
  // Memory
  'brk',
  'mmap',
  'munmap',
  'mremap',
  'mprotect',
  'madvise',
  'pkey_alloc',
  'pkey_free',
  'pkey_mprotect',
  'membarrier',
  // Threads
  'futex',
  'set_robust_list',
  'set_tid_address',
  'rseq',
  'arch_prctl',
  'gettid',
  'sched_yield',
  'sched_getaffinity',
  'sched_getparam',
  'sched_getscheduler',
  'getcpu',
  'exit',
  'exit_group',
  'restart_syscall',
  'rt_sigaction',
  'rt_sigprocmask',
  'rt_sigreturn',
  'sigaltstack',
  // Times, which are system calls where the clock cannot be read without one
  'clock_gettime',
  'clock_getres',
  'clock_nanosleep',
  'nanosleep',
  'gettimeofday',
  'time',
  'getrusage',
  // information about the process and the machine
  'getpid',
  'getppid',
  'getuid',
  'geteuid',
  'getgid',
  'getegid',
  'getpriority',
  'uname',
  'sysinfo',
  'getrandom',
  // for bubblewrap's process inside, which waits for the cell behind the same filter
  'wait4',
  // setpriv's, and Node's own start; without capabilities they change nothing
  'execve',
  'capget',
  'capset',
  'setgroups',
  'getresuid',
  'getresgid',
  'setresuid',
  'setresgid',
];

/** CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID and CHILD_CLEARTID: pthread_create(), and nothing else. */
const THREAD_FLAGS = 0x3d0f00;
/** CLONE_DETACHED, which the kernel ignores and musl sets. */
const IGNORED_CLONE_FLAG = 0x400000;
/** O_ACCMODE, O_CREAT, O_TRUNC and __O_TMPFILE. */
const WRITE_FLAGS = 0o20001103;
const SIGKILL = 9;
/** In a namespace of bubblewrap a process is the second one, after bubblewrap's own. */
export const PID_IN_BWRAP = 2;
/** Stands in a filter for a number that is not known yet. The launcher puts its own in: no other operand has this value. */
export const PID_MARKER = 0x4f574e50;
/** By these a process gives up rights to files. A filter that is loaded before the launcher runs allows them. */
const LANDLOCK_CALLS: readonly SystemCall[] = [
  'landlock_create_ruleset',
  'landlock_add_rule',
  'landlock_restrict_self',
];

function prctl(...option: readonly number[]): readonly ArgumentCheck[] {
  return option.map((value, index) => ({ index, value }));
}

function fcntl(...commands: readonly number[]): readonly (readonly ArgumentCheck[])[] {
  return commands.map(value => [{ index: 1, value }]);
}

/** F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC. Not F_SETOWN, by which the kernel sends signals to other processes. */
const DESCRIPTOR_COMMANDS = fcntl(0, 1, 2, 3, 4, 1030);
/** F_GETLK, F_SETLK, F_SETLKW, and the same for locks of open files. */
export const LOCK_COMMANDS = fcntl(5, 6, 7, 36, 37, 38);

/** Allowed when every check of one of these lists holds. */
export const CONDITIONAL: Readonly<Partial<Record<SystemCall, readonly (readonly ArgumentCheck[])[]>>> = {
  clone: [[{ index: 0, mask: ~IGNORED_CLONE_FLAG, value: THREAD_FLAGS }]],
  open: [[{ index: 1, mask: WRITE_FLAGS, value: 0 }]],
  openat: [[{ index: 2, mask: WRITE_FLAGS, value: 0 }]],
  fcntl: DESCRIPTOR_COMMANDS,
  // TCGETS, by which isatty() asks; FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
  ioctl: [0x5401, 0x541b, 0x5421, 0x5450, 0x5451].map(value => [{ index: 1, value }]),
  // Its own limits: process 0 is the calling one
  prlimit64: [[{ index: 0, value: 0 }]],
  // PRIO_PROCESS: threads by their number
  setpriority: [[{ index: 0, value: 0 }]],
  kill: [[{ index: 0, value: OWN_PID }]],
  tgkill: [[{ index: 0, value: OWN_PID }]],
  prctl: [
    prctl(1, SIGKILL), // PR_SET_PDEATHSIG, and no other signal, or none
    prctl(8), // PR_SET_KEEPCAPS
    prctl(15), // PR_SET_NAME
    prctl(16), // PR_GET_NAME
    prctl(23), // PR_CAPBSET_READ
    prctl(24), // PR_CAPBSET_DROP
    prctl(27), // PR_GET_SECUREBITS
    prctl(38), // PR_SET_NO_NEW_PRIVS
    prctl(39), // PR_GET_NO_NEW_PRIVS
    prctl(47), // PR_CAP_AMBIENT
    prctl(0x53564d41), // PR_SET_VMA: names of memory ranges
  ],
};

export const CELL_CALLS: SystemCallRules = { allowed: ALLOWED, conditional: CONDITIONAL };

/**
 * The filter as bytes; undefined where there is no table of the machine's system calls.
 *
 * @param pid the number of the process, or {@link PID_MARKER}
 * @param allowsLandlock whether the process restricts itself by Landlock behind the filter
 */
export function cellFilter(
  architecture: string,
  { allowed, conditional }: SystemCallRules = CELL_CALLS,
  pid: number = PID_IN_BWRAP,
  allowsLandlock = false,
): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  const program = new BpfProgram();
  program.load(SECCOMP_DATA.architecture);
  program.unlessEqual(AUDIT_ARCHITECTURES[architecture], 'foreign');
  program.load(SECCOMP_DATA.number);
  // No machine has numbers as large as the ones of x32.
  program.unlessAtLeast(X32_BIT, 'native');
  program.label('foreign');
  program.return(ACTIONS.kill);
  program.label('native');
  const all = allowsLandlock ? [...allowed, ...LANDLOCK_CALLS] : allowed;
  for (const call of all) allow(program, call, architecture, [[]], pid);
  for (const [call, alternatives] of entriesOf(conditional)) allow(program, call, architecture, alternatives, pid);
  program.unlessAtLeast(FIRST_COMMON_NUMBER, 'known');
  program.return(ACTIONS.missing);
  program.label('known');
  program.return(ACTIONS.refuse);
  return program.assemble();
}

function entriesOf(table: SystemCallRules['conditional']): [SystemCall, readonly (readonly ArgumentCheck[])[]][] {
  // The keys are names of system calls, which TypeScript takes for any strings.
  return Object.entries(table) as [SystemCall, readonly (readonly ArgumentCheck[])[]][];
}

function allow(
  program: BpfProgram,
  call: SystemCall,
  architecture: Architecture,
  alternatives: readonly (readonly ArgumentCheck[])[],
  pid: number,
): void {
  const number = numberOf(call, architecture);
  if (number === undefined) return;
  program.unlessEqual(number, `after ${call}`);
  alternatives.forEach((checks, index) => {
    for (const check of checks) {
      program.load(SECCOMP_DATA.arguments + check.index * SECCOMP_DATA.argumentBytes);
      if (check.mask !== undefined) program.and(check.mask);
      program.unlessEqual(check.value === OWN_PID ? pid : check.value, `${call} not ${index}`);
    }
    program.return(ACTIONS.allow);
    program.label(`${call} not ${index}`);
  });
  // The accumulator holds an argument by now.
  if (alternatives.some(checks => checks.length > 0)) program.return(ACTIONS.refuse);
  program.label(`after ${call}`);
}
