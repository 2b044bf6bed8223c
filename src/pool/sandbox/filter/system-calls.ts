/**
 * Numbers of the system calls that a cell, an engine of SQL or a bundler may make, by machine: `asm/unistd_64.h` of x86-64, and
 * `asm-generic/unistd.h`, which arm64 uses.
 * Undefined where the machine has no such call.
 */

/** The machines that have a filter, by their names in `process.arch`. */
export type Architecture = 'x64' | 'arm64';

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of `linux/audit.h`. */
export const AUDIT_ARCHITECTURES: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Calls of the x32 ABI have this bit in their number, and the same architecture as x86-64. */
export const X32_BIT = 0x40000000;

/** From here on numbers are the same on all machines; libraries know that kernels older than the call answer ENOSYS. */
export const FIRST_COMMON_NUMBER = 424;

const NUMBERS = {
  // [x86-64, arm64]
  access: [21, undefined],
  arch_prctl: [158, undefined],
  brk: [12, 214],
  capget: [125, 90],
  capset: [126, 91],
  chdir: [80, 49],
  clock_getres: [229, 114],
  clock_gettime: [228, 113],
  clock_nanosleep: [230, 115],
  clone3: [435, 435],
  clone: [56, 220],
  close: [3, 57],
  dup2: [33, undefined],
  dup3: [292, 24],
  epoll_create1: [291, 20],
  epoll_ctl: [233, 21],
  epoll_pwait: [281, 22],
  epoll_wait: [232, undefined],
  eventfd2: [290, 19],
  execve: [59, 221],
  exit: [60, 93],
  exit_group: [231, 94],
  faccessat: [269, 48],
  fallocate: [285, 47],
  fchmod: [91, 52],
  fcntl: [72, 25],
  fdatasync: [75, 83],
  fstat: [5, 80],
  fsync: [74, 82],
  ftruncate: [77, 46],
  futex: [202, 98],
  getcpu: [309, 168],
  getcwd: [79, 17],
  getdents64: [217, 61],
  getegid: [108, 177],
  geteuid: [107, 175],
  getgid: [104, 176],
  getpid: [39, 172],
  getppid: [110, 173],
  getpriority: [140, 141],
  getrandom: [318, 278],
  getresgid: [120, 150],
  getresuid: [118, 148],
  getrusage: [98, 165],
  getsockname: [51, 204],
  getsockopt: [55, 209],
  gettid: [186, 178],
  gettimeofday: [96, 169],
  getuid: [102, 174],
  ioctl: [16, 29],
  kill: [62, 129],
  landlock_add_rule: [445, 445],
  landlock_create_ruleset: [444, 444],
  landlock_restrict_self: [446, 446],
  lseek: [8, 62],
  lstat: [6, undefined],
  madvise: [28, 233],
  membarrier: [324, 283],
  mmap: [9, 222],
  mprotect: [10, 226],
  mremap: [25, 216],
  munmap: [11, 215],
  nanosleep: [35, 101],
  newfstatat: [262, 79],
  open: [2, undefined],
  openat: [257, 56],
  pipe2: [293, 59],
  pkey_alloc: [330, 289],
  pkey_free: [331, 290],
  pkey_mprotect: [329, 288],
  poll: [7, undefined],
  ppoll: [271, 73],
  prctl: [157, 167],
  pread64: [17, 67],
  prlimit64: [302, 261],
  pwrite64: [18, 68],
  read: [0, 63],
  readlink: [89, undefined],
  readlinkat: [267, 78],
  readv: [19, 65],
  restart_syscall: [219, 128],
  rseq: [334, 293],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sched_getaffinity: [204, 123],
  sched_getparam: [143, 121],
  sched_getscheduler: [145, 120],
  sched_yield: [24, 124],
  set_robust_list: [273, 99],
  set_tid_address: [218, 96],
  setgroups: [116, 159],
  setpriority: [141, 140],
  setresgid: [119, 149],
  setresuid: [117, 147],
  shutdown: [48, 210],
  sigaltstack: [131, 132],
  socketpair: [53, 199],
  stat: [4, undefined],
  statx: [332, 291],
  sysinfo: [99, 179],
  tgkill: [234, 131],
  time: [201, undefined],
  uname: [63, 160],
  unlink: [87, undefined],
  unlinkat: [263, 35],
  wait4: [61, 260],
  write: [1, 64],
  writev: [20, 66],
} as const;

export type SystemCall = keyof typeof NUMBERS;

export function isSystemCall(name: string): name is SystemCall {
  return Object.hasOwn(NUMBERS, name);
}

/** The number of a call; undefined where this machine has no such call. */
export function numberOf(call: SystemCall, architecture: Architecture): number | undefined {
  return NUMBERS[call][architecture === 'x64' ? 0 : 1];
}
