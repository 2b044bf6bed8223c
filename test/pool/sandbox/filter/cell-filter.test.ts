/** The filter of system calls: by running its bytes, for both machines that there is one for. */
import { existsSync, readFileSync } from 'node:fs';
import test from 'ava';
import { BpfProgram } from '../../../../src/pool/sandbox/filter/bpf.js';
import { ACTIONS, cellFilter } from '../../../../src/pool/sandbox/filter/cell-filter.js';
import {
  type Architecture,
  AUDIT_ARCHITECTURES,
  isSystemCall,
  numberOf,
  type SystemCall,
} from '../../../../src/pool/sandbox/filter/system-calls.js';
import { unlessMissing } from '../../../needs.js';
import { answerOf } from '../bpf-machine.js';

const MACHINES: readonly Architecture[] = ['x64', 'arm64'];

/** The numbers that Linux has given out, and some beyond. */
const NUMBERS = Array.from({ length: 600 }, (_, number) => number);

/** Every system call that is allowed; those at the end only with certain arguments. A change of this list is a change of the sandbox. */
const PINNED = [
  ...['access', 'arch_prctl', 'brk', 'capget', 'capset', 'clock_getres', 'clock_gettime', 'clock_nanosleep', 'close'],
  ...[
    'epoll_create1',
    'epoll_ctl',
    'epoll_pwait',
    'epoll_wait',
    'eventfd2',
    'execve',
    'exit',
    'exit_group',
    'faccessat',
  ],
  ...['fstat', 'futex', 'getcpu', 'getcwd', 'getegid', 'geteuid', 'getgid', 'getpid', 'getppid', 'getpriority'],
  ...[
    'getrandom',
    'getresgid',
    'getresuid',
    'getrusage',
    'getsockname',
    'getsockopt',
    'gettid',
    'gettimeofday',
    'getuid',
  ],
  ...['lseek', 'lstat', 'madvise', 'membarrier', 'mmap', 'mprotect', 'mremap', 'munmap', 'nanosleep', 'newfstatat'],
  ...[
    'pipe2',
    'pkey_alloc',
    'pkey_free',
    'pkey_mprotect',
    'poll',
    'ppoll',
    'pread64',
    'read',
    'readlink',
    'readlinkat',
  ],
  ...['readv', 'restart_syscall', 'rseq', 'rt_sigaction', 'rt_sigprocmask', 'rt_sigreturn', 'sched_getaffinity'],
  ...[
    'sched_getparam',
    'sched_getscheduler',
    'sched_yield',
    'set_robust_list',
    'set_tid_address',
    'setgroups',
    'setresgid',
  ],
  ...['setresuid', 'shutdown', 'sigaltstack', 'stat', 'statx', 'sysinfo', 'time', 'uname', 'wait4', 'write', 'writev'],
];
const PINNED_BY_ARGUMENTS = [
  'clone',
  'fcntl',
  'ioctl',
  'kill',
  'open',
  'openat',
  'prctl',
  'prlimit64',
  'setpriority',
  'tgkill',
];

function filterOf(machine: Architecture): Buffer {
  const program = cellFilter(machine);
  if (program === undefined) throw new Error(`There is no filter for ${machine}`);
  return program;
}

function answer(machine: Architecture, call: SystemCall, ...given: readonly (number | bigint)[]): number | undefined {
  const number = numberOf(call, machine);
  if (number === undefined) return undefined;
  return answerOf(filterOf(machine), { architecture: AUDIT_ARCHITECTURES[machine], number, arguments: given });
}

function numbersOf(names: readonly string[], machine: Architecture): number[] {
  return names.flatMap(name => (isSystemCall(name) ? (numberOf(name, machine) ?? []) : [-1]));
}

for (const machine of MACHINES) {
  test(`cellFilter() lets fcntl() duplicate descriptors and read and set their flags, and own no signals (${machine})`, t => {
    for (const command of [0, 1, 2, 3, 4, 1030])
      t.is(answer(machine, 'fcntl', 0, command), ACTIONS.allow, `${command}`);
    // F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_ADD_SEALS, and locks
    for (const command of [8, 10, 15, 1024, 1026, 1031, 1033, 6, 37])
      t.is(answer(machine, 'fcntl', 0, command), ACTIONS.refuse, `${command}`);
  });
}

for (const machine of MACHINES) {
  test(`cellFilter() allows the calls that are pinned here, and no others (${machine})`, t => {
    const program = filterOf(machine);
    const architecture = AUDIT_ARCHITECTURES[machine];
    // Arguments that no condition holds for.
    const odd = [-2, -2, -2, -2, -2, -2];
    const allowed = NUMBERS.filter(
      number => answerOf(program, { architecture, number, arguments: odd }) === ACTIONS.allow,
    );
    t.deepEqual(
      allowed,
      numbersOf(PINNED, machine).sort((a, b) => a - b),
    );
  });

  test(`cellFilter() refuses everything else with an error, and ends nobody for it (${machine})`, t => {
    const program = filterOf(machine);
    const architecture = AUDIT_ARCHITECTURES[machine];
    const permitted = new Set(numbersOf([...PINNED, ...PINNED_BY_ARGUMENTS], machine));
    for (const number of NUMBERS.filter(candidate => !permitted.has(candidate))) {
      t.is(
        answerOf(program, { architecture, number }),
        number >= 424 ? ACTIONS.missing : ACTIONS.refuse,
        String(number),
      );
    }
    t.is(answerOf(program, { architecture, number: 0x3fffffff }), ACTIONS.missing);
  });

  test(`cellFilter() ends a process that runs code for another machine (${machine})`, t => {
    const program = filterOf(machine);
    // AUDIT_ARCH_I386, ARM, AARCH64 in big-endian, RISCV64, and the other one that there is a filter for.
    const others = [0x40000003, 0x40000028, 0x800000b7, 0xc00000f3, 0];
    for (const architecture of [...others, AUDIT_ARCHITECTURES[machine === 'x64' ? 'arm64' : 'x64']]) {
      for (const number of NUMBERS) t.is(answerOf(program, { architecture, number }), ACTIONS.kill);
    }
    const architecture = AUDIT_ARCHITECTURES[machine];
    for (const number of [0x40000000, 0x40000001, 0x40000208, 0x7fffffff, 0x80000000, 0xffffffff]) {
      t.is(answerOf(program, { architecture, number }), ACTIONS.kill, number.toString(16));
    }
  });

  test(`cellFilter() allows clone() for threads alone (${machine})`, t => {
    // What glibc and musl ask for.
    for (const flags of [0x3d0f00, 0x7d0f00]) t.is(answer(machine, 'clone', flags), ACTIONS.allow);
    const others = [
      0,
      17,
      0x4000 + 0x100 + 17,
      0x10000000,
      0x3d0f00 | 0x10000000,
      0x3d0f00 | 17,
      0x3d0f00 | 0x20000000,
    ];
    // Without the thread group, without memory, without files; a namespace of time, in the bits of the signal.
    const less = [0x3d0f00 & ~0x10000, 0x3d0f00 & ~0x100, 0x3d0f00 & ~0x400, 0x3d0f00 | 0x80];
    for (const flags of [...others, ...less]) t.is(answer(machine, 'clone', flags), ACTIONS.refuse, flags.toString(16));
    t.is(answer(machine, 'clone3', 0), ACTIONS.missing);
  });

  test(`cellFilter() lets files be opened to be read, and not in any other way (${machine})`, t => {
    const AT_FDCWD = -100;
    const CLOEXEC = 0o2000000;
    t.is(answer(machine, 'openat', AT_FDCWD, 4096, CLOEXEC), ACTIONS.allow);
    for (const flags of [1, 2, 3, 0o100, 0o1000, 0o20000000, CLOEXEC | 2, 0o20200002]) {
      t.is(answer(machine, 'openat', AT_FDCWD, 4096, flags), ACTIONS.refuse, flags.toString(8));
      if (machine === 'x64') t.is(answer(machine, 'open', 4096, flags), ACTIONS.refuse, flags.toString(8));
    }
    if (machine === 'x64') t.is(answer(machine, 'open', 4096, CLOEXEC), ACTIONS.allow);
  });

  test(`cellFilter() knows the arguments of what changes the process (${machine})`, t => {
    const cases: readonly (readonly [SystemCall, readonly (number | bigint)[], boolean])[] = [
      ['kill', [2, 9], true],
      ['kill', [1, 9], false],
      ['kill', [3, 9], false],
      ['kill', [0, 9], false],
      ['kill', [-1, 9], false],
      ['tgkill', [2, 7, 6], true],
      ['tgkill', [1, 7, 6], false],
      ['tgkill', [7, 7, 6], false],
      ['prlimit64', [0, 7, 0, 4096], true],
      ['prlimit64', [7, 7, 0, 4096], false],
      ['setpriority', [0, 7, 10], true],
      ['setpriority', [1, 0, 10], false],
      ['setpriority', [2, 0, 10], false],
      ['prctl', [1, 9], true],
      ['prctl', [1, 0], false],
      ['prctl', [1, 10], false],
      ['prctl', [15, 4096], true],
      ['prctl', [4, 1], false],
      ['prctl', [22, 2], false],
      ['prctl', [36, 1], false],
      ['prctl', [0x59616d61, -1], false],
      ['ioctl', [1, 0x5401, 4096], true],
      ['ioctl', [1, 0x5421, 4096], true],
      ['ioctl', [1, 0x5412, 4096], false],
      ['ioctl', [1, 0x541c, 4096], false],
      // The kernel reads 32 bits of these, so that what is above does not matter.
      ['kill', [0x1_0000_0002n, 9], true],
      ['ioctl', [1, 0x1_0000_5412n], false],
    ];
    for (const [call, given, isAllowed] of cases) {
      t.is(answer(machine, call, ...given), isAllowed ? ACTIONS.allow : ACTIONS.refuse, `${call} ${given.join()}`);
    }
  });
}

test('cellFilter() is undefined for machines whose numbers are not known', t => {
  for (const machine of ['ia32', 'arm', 'riscv64', 'ppc64', 's390x', '']) t.is(cellFilter(machine), undefined);
});

const HEADERS: readonly (readonly [Architecture, string, RegExp])[] = [
  ['x64', '/usr/include/x86_64-linux-gnu/asm/unistd_64.h', /^#define __NR_(\w+) (\d+)$/gm],
  ['arm64', '/usr/include/asm-generic/unistd.h', /^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm],
];
for (const [machine, header, line] of HEADERS) {
  const check = unlessMissing(existsSync(header) ? undefined : `no ${header}, of package linux-libc-dev`);
  check(`numberOf() has the numbers of ${header} (${machine})`, t => {
    const defined = new Map(
      [...readFileSync(header, 'utf8').matchAll(line)].map(([, name = '', n]) => [name, Number(n)]),
    );
    // In the generic table by the name of the 32-bit call that it is one with.
    defined.set('newfstatat', defined.get('newfstatat') ?? defined.get('fstatat') ?? -1);
    for (const name of [...PINNED, ...PINNED_BY_ARGUMENTS, 'clone3']) {
      t.true(isSystemCall(name), name);
      if (isSystemCall(name)) t.is(numberOf(name, machine), defined.get(name), name);
    }
  });
}

test('assemble() refuses labels that are missing, behind or too far ahead', t => {
  const missing = new BpfProgram();
  missing.unlessEqual(1, 'nowhere');
  missing.return(0);
  t.throws(() => missing.assemble(), { instanceOf: RangeError, message: /label "nowhere"/ });

  const behind = new BpfProgram();
  behind.label('start');
  behind.unlessEqual(1, 'start');
  behind.return(0);
  t.throws(() => behind.assemble(), { instanceOf: RangeError, message: /label "start"/ });

  for (const [between, works] of [
    [255, true],
    [256, false],
  ] as const) {
    const far = new BpfProgram();
    far.unlessEqual(1, 'end');
    for (let index = 0; index < between; index++) far.load(0);
    far.label('end');
    far.return(0);
    if (works) t.is(far.assemble().length, (between + 2) * 8);
    else t.throws(() => far.assemble(), { instanceOf: RangeError, message: /too far ahead/ });
  }
});

test('assemble() refuses programs that the kernel does not take, and labels that are placed twice', t => {
  t.throws(() => new BpfProgram().assemble(), { instanceOf: RangeError, message: /0 instructions/ });
  const long = new BpfProgram();
  for (let index = 0; index < 4096; index++) long.return(0);
  t.is(long.assemble().length, 4096 * 8);
  long.return(0);
  t.throws(() => long.assemble(), { instanceOf: RangeError, message: /4097 instructions/ });
  long.label('x');
  t.throws(() => long.label('x'), { instanceOf: RangeError, message: /second time/ });
});
