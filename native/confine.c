/*
 * edgehost-confine: takes rights away from itself, then becomes another program.
 *
 *   edgehost-confine [option]... -- program [argument]...
 *
 * The sandbox of a cell starts each cell with it. It needs neither root nor namespaces, so it also holds in containers whose
 * profile allows no namespaces. It makes system calls directly and links to no library: the file is small, the same compiler
 * always makes the same bytes, and nothing of the machine is loaded before the restrictions are in force.
 *
 * Options, each at most once unless noted:
 *
 *   --keep=N            keep descriptors 0 to N-1 and that of --filter, and close all others
 *   --limit=R:V         resource limit R (its number in <bits/resource.h>) to at most V, soft and hard; may be repeated
 *   --raise=R:V         hard limit R to at least V where the system permits it; may be repeated. Not a restriction: a refusal is no error
 *   --drop              drop all capabilities, end with the parent, and never gain privileges; the options below need it
 *   --user=ID           become this user and group, without supplementary groups
 *   --read=PATH         Landlock: may read this file, or all files below this folder; may be repeated, as the next two
 *   --exec=PATH         Landlock: may read and execute this file
 *   --write=PATH        Landlock: may read and write files below this folder, and create and remove them
 *   --landlock          restrict to the paths above; fails where the kernel has no Landlock
 *   --abi=N             use no more of Landlock than its ABI N has
 *   --filter=FD         load the seccomp filter that can be read from this descriptor, then close it
 *   --own-pid=VALUE     in that filter, comparisons with VALUE become comparisons with the number of this process
 *   --landlock-abi      print the ABI of Landlock, 0 where there is none, and end
 *
 * Without --drop only descriptors and limits are changed, for a program that needs its privileges to make a sandbox of its own.
 * The order of the steps, and why:
 *
 *   1. Descriptors are closed first: nothing below may be reached through one that was left open by mistake.
 *   2. Resource limits: raising one needs a capability that step 4 drops.
 *   3. The user: the bounding set first, because dropping it needs CAP_SETPCAP, which another user does not have.
 *   4. All capabilities are dropped, whoever the user is.
 *   5. The parent-death signal: the kernel clears it when the user changes, so it comes after 3 and 4.
 *   6. no_new_privs: Landlock and the filter demand it of a process without capabilities.
 *   7. Landlock: its paths must be opened while everything can still be opened, and its calls are not in the filter.
 *   8. The filter: it allows nothing that the steps above need.
 *   9. execve, which the filter allows and Landlock restricts to the paths of --exec.
 *
 * A step that fails ends the program: one line on standard error says what failed, and the exit code says which step it was
 * (the constants EXIT_... below). The other program never starts with less than was asked for.
 *
 * What each ABI of Landlock lacks, and what closes it instead (docs/security.md, "The sandbox of a cell"):
 *
 *   1  (5.13) files may not be moved between folders; truncate() is not checked: the filter has no truncate(), and opening
 *             with O_TRUNC needs the right to write, which ABI 1 checks
 *   2  (5.19) moving between folders can be granted, which nothing here does
 *   3  (6.2)  truncation is checked
 *   4  (6.7)  TCP bind and connect are checked; before, and for all other sockets: the filter has no socket()
 *   5  (6.10) ioctl() on devices is checked; before: the filter allows five requests, which are about descriptors
 *   6  (6.12) abstract unix sockets and signals are checked; before: no socket(), and kill() and tgkill() take the own process alone
 *   7  (6.15) what is refused can be logged: the default is kept
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;

/* Exit codes. 0 to 63 are left to the program that is started, 126 and 127 are those of a shell. */
enum {
  EXIT_USAGE = 64,
  EXIT_DESCRIPTORS = 65,
  EXIT_LIMITS = 66,
  EXIT_USER = 67,
  EXIT_CAPABILITIES = 68,
  EXIT_PARENT = 69,
  EXIT_PRIVILEGES = 70,
  EXIT_LANDLOCK = 71,
  EXIT_FILTER = 72,
  EXIT_EXECUTE = 126,
};

/* ---- System calls ---- */

#if defined(__x86_64__)
enum {
  NR_read = 0,
  NR_write = 1,
  NR_close = 3,
  NR_getpid = 39,
  NR_execve = 59,
  NR_exit = 60,
  NR_getppid = 110,
  NR_setgroups = 116,
  NR_setresuid = 117,
  NR_setresgid = 119,
  NR_capget = 125,
  NR_capset = 126,
  NR_prctl = 157,
  NR_openat = 257,
  NR_prlimit64 = 302,
};

static long call(long number, long a, long b, long c, long d, long e) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

/* The kernel starts a program with its arguments on the stack, and no return address. */
__asm__(".globl _start\n"
        "_start:\n"
        "  xor %ebp, %ebp\n"
        "  mov %rsp, %rdi\n"
        "  and $-16, %rsp\n"
        "  call begin\n");
#elif defined(__aarch64__)
enum {
  NR_read = 63,
  NR_write = 64,
  NR_close = 57,
  NR_getpid = 172,
  NR_execve = 221,
  NR_exit = 93,
  NR_getppid = 173,
  NR_setgroups = 159,
  NR_setresuid = 147,
  NR_setresgid = 149,
  NR_capget = 90,
  NR_capset = 91,
  NR_prctl = 167,
  NR_openat = 56,
  NR_prlimit64 = 261,
};

static long call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

__asm__(".globl _start\n"
        "_start:\n"
        "  mov x29, #0\n"
        "  mov x30, #0\n"
        "  mov x0, sp\n"
        "  bl begin\n");
#else
#error "Only x86-64 and arm64 have a table of system calls here"
#endif

/* The same on every machine. */
enum {
  NR_close_range = 436,
  NR_landlock_create_ruleset = 444,
  NR_landlock_add_rule = 445,
  NR_landlock_restrict_self = 446,
};

enum { EINTR = 4, EINVAL = 22 };

/* The compiler may call these for copies that are written as loops or assignments. */
void *memset(void *to, int byte, u64 length) {
  u8 *at = to;
  while (length-- > 0) *at++ = (u8)byte;
  return to;
}

void *memcpy(void *to, const void *from, u64 length) {
  u8 *at = to;
  const u8 *next = from;
  while (length-- > 0) *at++ = *next++;
  return to;
}

/* ---- Messages ---- */

static u64 length_of(const char *text) {
  u64 length = 0;
  while (text[length] != 0) length++;
  return length;
}

static void print(long descriptor, const char *text) {
  call(NR_write, descriptor, (long)text, (long)length_of(text), 0, 0);
}

static void print_number(long descriptor, u64 value) {
  char digits[24];
  u64 at = sizeof digits - 1;
  digits[at] = 0;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  print(descriptor, digits + at);
}

static void leave(int code) __attribute__((noreturn));
static void leave(int code) {
  for (;;) call(NR_exit, code, 0, 0, 0, 0);
}

/* `result` is what a system call answered: a negative error number, or 0 where there was none. */
static void fail(int code, const char *what, const char *which, long result) __attribute__((noreturn));
static void fail(int code, const char *what, const char *which, long result) {
  print(2, "edgehost-confine: ");
  print(2, what);
  if (which != 0) {
    print(2, " ");
    print(2, which);
  }
  if (result < 0) {
    print(2, " (error ");
    print_number(2, (u64)-result);
    print(2, ")");
  }
  print(2, "\n");
  leave(code);
}

/* ---- Options ---- */

enum { MAX_PATHS = 256, MAX_LIMITS = 16 };

enum access { READ, EXECUTE, WRITE };

struct path_rule {
  const char *path;
  enum access access;
};

struct limit {
  u64 resource;
  u64 value;
  int is_raised;
};

static struct {
  int has_keep;
  u64 keep;
  struct limit limits[MAX_LIMITS];
  u64 limit_count;
  int drops;
  int has_user;
  u64 user;
  struct path_rule paths[MAX_PATHS];
  u64 path_count;
  int has_landlock;
  u64 max_abi;
  int has_filter;
  u64 filter;
  int has_own_pid;
  u64 own_pid;
  int prints_abi;
  char **program;
} options = {.max_abi = ~0ul};

/* The text behind `name`; 0 when the word is another option. */
static const char *value_of(const char *word, const char *name) {
  while (*name != 0) {
    if (*word++ != *name++) return 0;
  }
  return word;
}

/* A decimal number, up to `end` or to the end of the text; sets `text` behind it. */
static u64 number_in(const char **text, char end, const char *word, u64 max) {
  const char *at = *text;
  u64 value = 0;
  if (*at == 0 || *at == end) fail(EXIT_USAGE, "a number is missing in", word, 0);
  for (; *at != 0 && *at != end; at++) {
    u64 digit = (u64)(*at - '0');
    if (*at < '0' || *at > '9' || value > (max - digit) / 10) fail(EXIT_USAGE, "this is not a number, or is too large:", word, 0);
    value = value * 10 + digit;
  }
  *text = *at == 0 ? at : at + 1;
  return value;
}

static u64 number_of(const char *text, const char *word, u64 max) {
  return number_in(&text, 0, word, max);
}

static void add_limit(const char *text, const char *word, int is_raised) {
  if (options.limit_count == MAX_LIMITS) fail(EXIT_USAGE, "too many limits:", word, 0);
  struct limit *limit = &options.limits[options.limit_count++];
  limit->resource = number_in(&text, ':', word, 63);
  limit->value = number_of(text, word, ~0ul);
  limit->is_raised = is_raised;
}

static void add_path(const char *path, const char *word, enum access access) {
  if (options.path_count == MAX_PATHS) fail(EXIT_USAGE, "too many paths:", word, 0);
  if (*path != '/') fail(EXIT_USAGE, "not an absolute path:", word, 0);
  options.paths[options.path_count++] = (struct path_rule){path, access};
}

static void parse(char **words) {
  for (words++; *words != 0; words++) {
    const char *word = *words;
    const char *value;
    if ((value = value_of(word, "--")) != 0 && *value == 0) {
      options.program = words + 1;
      break;
    }
    if ((value = value_of(word, "--keep="))) {
      options.has_keep = 1;
      options.keep = number_of(value, word, 65536);
    } else if ((value = value_of(word, "--limit="))) add_limit(value, word, 0);
    else if ((value = value_of(word, "--raise="))) add_limit(value, word, 1);
    else if ((value = value_of(word, "--drop")) && *value == 0) options.drops = 1;
    else if ((value = value_of(word, "--user="))) {
      options.has_user = 1;
      options.user = number_of(value, word, 4294967294u);
    } else if ((value = value_of(word, "--read="))) add_path(value, word, READ);
    else if ((value = value_of(word, "--exec="))) add_path(value, word, EXECUTE);
    else if ((value = value_of(word, "--write="))) add_path(value, word, WRITE);
    else if ((value = value_of(word, "--landlock")) && *value == 0) options.has_landlock = 1;
    else if ((value = value_of(word, "--landlock-abi")) && *value == 0) options.prints_abi = 1;
    else if ((value = value_of(word, "--abi="))) options.max_abi = number_of(value, word, 1000);
    else if ((value = value_of(word, "--filter="))) {
      options.has_filter = 1;
      options.filter = number_of(value, word, 65536);
    } else if ((value = value_of(word, "--own-pid="))) {
      options.has_own_pid = 1;
      options.own_pid = number_of(value, word, 4294967295u);
    } else fail(EXIT_USAGE, "unknown option", word, 0);
  }
  if (options.prints_abi) return;
  if (options.program == 0 || options.program[0] == 0) fail(EXIT_USAGE, "no program is given: put -- and its path behind the options", 0, 0);
  if ((options.has_user || options.has_landlock || options.has_filter) && !options.drops)
    fail(EXIT_USAGE, "--user, --landlock and --filter need --drop", 0, 0);
  if (options.path_count > 0 && !options.has_landlock) fail(EXIT_USAGE, "paths are given without --landlock", 0, 0);
  if (options.has_own_pid && !options.has_filter) fail(EXIT_USAGE, "--own-pid is given without --filter", 0, 0);
}

/* ---- 1. Descriptors ---- */

struct rlimit64 {
  u64 soft;
  u64 hard;
};

enum { RLIMIT_NOFILE = 7 };
static const u64 UNLIMITED = ~0ul;

static void close_from_to(u64 first, u64 last) {
  if (first > last) return;
  long result = call(NR_close_range, (long)first, (long)last, 0, 0, 0);
  if (result == 0) return;
  /* Before Linux 5.9, and behind profiles that do not know the call. */
  struct rlimit64 limit;
  result = call(NR_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0);
  if (result < 0) fail(EXIT_DESCRIPTORS, "cannot read the limit of descriptors", 0, result);
  /* A descriptor that was opened before the limit was lowered is above it: the hard limit is no less a guess, but a wider one. */
  u64 end = limit.hard == UNLIMITED || limit.hard > 1048576 ? 1048576 : limit.hard;
  for (u64 at = first; at <= last && at < end; at++) call(NR_close, (long)at, 0, 0, 0, 0);
}

static void close_descriptors(void) {
  const u64 LAST = 4294967295u;
  if (options.has_filter && options.filter >= options.keep) {
    if (options.filter > 0) close_from_to(options.keep, options.filter - 1);
    close_from_to(options.filter + 1, LAST);
  } else close_from_to(options.keep, LAST);
}

/* ---- 2. Resource limits ---- */

static void set_limits(void) {
  for (u64 at = 0; at < options.limit_count; at++) {
    const struct limit *wanted = &options.limits[at];
    struct rlimit64 limit;
    long result = call(NR_prlimit64, 0, (long)wanted->resource, 0, (long)&limit, 0);
    if (result < 0) fail(EXIT_LIMITS, "cannot read a resource limit", 0, result);
    if (wanted->is_raised) {
      if (limit.hard >= wanted->value) continue;
      limit.hard = wanted->value;
      call(NR_prlimit64, 0, (long)wanted->resource, (long)&limit, 0, 0);
      continue;
    }
    if (limit.soft > wanted->value) limit.soft = wanted->value;
    if (limit.hard > wanted->value) limit.hard = wanted->value;
    result = call(NR_prlimit64, 0, (long)wanted->resource, (long)&limit, 0, 0);
    if (result < 0) fail(EXIT_LIMITS, "cannot set a resource limit", 0, result);
  }
}

/* ---- 3. and 4. User and capabilities ---- */

enum {
  PR_SET_PDEATHSIG = 1,
  PR_CAPBSET_READ = 23,
  PR_CAPBSET_DROP = 24,
  PR_SET_SECCOMP = 22,
  PR_SET_NO_NEW_PRIVS = 38,
  PR_CAP_AMBIENT = 47,
  PR_CAP_AMBIENT_CLEAR_ALL = 4,
  SECCOMP_MODE_FILTER = 2,
  SIGKILL = 9,
  CAP_SETPCAP = 8,
};

struct capability_header {
  u32 version;
  int process;
};

struct capability_data {
  u32 effective;
  u32 permitted;
  u32 inheritable;
};

static const u32 CAPABILITY_VERSION_3 = 0x20080522;

static void become_user(void) {
  struct capability_header header = {CAPABILITY_VERSION_3, 0};
  struct capability_data data[2] = {{0, 0, 0}, {0, 0, 0}};
  long result = call(NR_capget, (long)&header, (long)data, 0, 0, 0);
  if (result < 0) fail(EXIT_CAPABILITIES, "cannot read the own capabilities", 0, result);
  /* A process without CAP_SETPCAP cannot drop the bounding set, and no_new_privs keeps it from gaining anything by it. */
  if ((data[0].effective >> CAP_SETPCAP) & 1) {
    for (long capability = 0;; capability++) {
      result = call(NR_prctl, PR_CAPBSET_READ, capability, 0, 0, 0);
      /* Behind the last one that the kernel knows. A profile that refuses the question has another error. */
      if (result == -EINVAL && capability > 0) break;
      if (result < 0) fail(EXIT_CAPABILITIES, "cannot read the bounding set", 0, result);
      result = call(NR_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);
      if (result < 0) fail(EXIT_CAPABILITIES, "cannot drop a capability of the bounding set", 0, result);
    }
  }
  if (!options.has_user) return;
  const long id = (long)options.user;
  if ((result = call(NR_setgroups, 0, 0, 0, 0, 0)) < 0) fail(EXIT_USER, "cannot give up the supplementary groups", 0, result);
  if ((result = call(NR_setresgid, id, id, id, 0, 0)) < 0) fail(EXIT_USER, "cannot change the group", 0, result);
  if ((result = call(NR_setresuid, id, id, id, 0, 0)) < 0) fail(EXIT_USER, "cannot change the user", 0, result);
}

static void drop_capabilities(void) {
  struct capability_header header = {CAPABILITY_VERSION_3, 0};
  struct capability_data data[2] = {{0, 0, 0}, {0, 0, 0}};
  /* Before Linux 4.3 there are no ambient capabilities. */
  long result = call(NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (result < 0 && result != -EINVAL) fail(EXIT_CAPABILITIES, "cannot clear the ambient capabilities", 0, result);
  result = call(NR_capset, (long)&header, (long)data, 0, 0, 0);
  if (result < 0) fail(EXIT_CAPABILITIES, "cannot drop the capabilities", 0, result);
}

/* ---- 5. and 6. Parent-death signal and no_new_privs ---- */

static void end_with_parent(long parent) {
  long result = call(NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (result < 0) fail(EXIT_PARENT, "cannot set the parent-death signal", 0, result);
  /* A parent that ended before the call sends no signal. */
  if (call(NR_getppid, 0, 0, 0, 0, 0) != parent) fail(EXIT_PARENT, "the process that started this one has ended", 0, 0);
}

static void refuse_new_privileges(void) {
  long result = call(NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (result < 0) fail(EXIT_PRIVILEGES, "cannot set no_new_privs", 0, result);
}

/* ---- 7. Landlock ---- */

enum {
  ACCESS_EXECUTE = 1 << 0,
  ACCESS_WRITE_FILE = 1 << 1,
  ACCESS_READ_FILE = 1 << 2,
  ACCESS_READ_DIR = 1 << 3,
  ACCESS_REMOVE_FILE = 1 << 5,
  ACCESS_MAKE_REG = 1 << 8,
  ACCESS_TRUNCATE = 1 << 14,
  ACCESS_OF_ABI_1 = (1 << 13) - 1,
  ACCESS_OF_ABI_2 = (1 << 14) - 1,
  ACCESS_OF_ABI_3 = (1 << 15) - 1,
  ACCESS_OF_ABI_5 = (1 << 16) - 1,
  /* Bind and connect. */
  NETWORK_OF_ABI_4 = 3,
  /* Abstract unix sockets and signals. */
  SCOPE_OF_ABI_6 = 3,
  CREATE_RULESET_VERSION = 1,
  RULE_PATH_BENEATH = 1,
};

/* A rule about a file that is no folder may name these alone. */
static const u64 ACCESS_OF_FILES = ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_TRUNCATE;

struct ruleset {
  u64 files;
  u64 network;
  u64 scope;
};

struct path_beneath {
  u64 allowed;
  int parent;
} __attribute__((packed));

enum { O_PATH = 010000000, O_CLOEXEC = 02000000, AT_FDCWD = -100 };

/* 0 where the kernel was built or started without it. */
static u64 landlock_abi(void) {
  long abi = call(NR_landlock_create_ruleset, 0, 0, CREATE_RULESET_VERSION, 0, 0);
  if (abi <= 0) return 0;
  return (u64)abi < options.max_abi ? (u64)abi : options.max_abi;
}

static u64 rights_of(enum access access) {
  switch (access) {
    case READ:
      return ACCESS_READ_FILE | ACCESS_READ_DIR;
    case EXECUTE:
      return ACCESS_READ_FILE | ACCESS_EXECUTE;
    case WRITE:
      return ACCESS_READ_FILE | ACCESS_READ_DIR | ACCESS_WRITE_FILE | ACCESS_REMOVE_FILE | ACCESS_MAKE_REG | ACCESS_TRUNCATE;
  }
  return 0;
}

static void add_rule(long ruleset, const struct path_rule *rule, u64 handled) {
  long file = call(NR_openat, AT_FDCWD, (long)rule->path, O_PATH | O_CLOEXEC, 0, 0);
  if (file < 0) fail(EXIT_LANDLOCK, "cannot open", rule->path, file);
  struct path_beneath beneath = {rights_of(rule->access) & handled, (int)file};
  long result = call(NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, (long)&beneath, 0, 0);
  if (result == -EINVAL) {
    /* Not a folder: the kernel refuses rights that are about what is in one. */
    beneath.allowed &= ACCESS_OF_FILES;
    result = call(NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, (long)&beneath, 0, 0);
  }
  if (result < 0) fail(EXIT_LANDLOCK, "cannot add a Landlock rule for", rule->path, result);
  call(NR_close, file, 0, 0, 0, 0);
}

static void restrict_paths(void) {
  const u64 abi = landlock_abi();
  if (abi == 0) fail(EXIT_LANDLOCK, "this kernel has no Landlock, or it is switched off", 0, 0);
  struct ruleset rules = {ACCESS_OF_ABI_1, 0, 0};
  u64 size = sizeof rules.files;
  if (abi >= 2) rules.files = ACCESS_OF_ABI_2;
  if (abi >= 3) rules.files = ACCESS_OF_ABI_3;
  if (abi >= 4) {
    rules.network = NETWORK_OF_ABI_4;
    size = sizeof rules.files + sizeof rules.network;
  }
  if (abi >= 5) rules.files = ACCESS_OF_ABI_5;
  if (abi >= 6) {
    rules.scope = SCOPE_OF_ABI_6;
    size = sizeof rules;
  }
  const long ruleset = call(NR_landlock_create_ruleset, (long)&rules, (long)size, 0, 0, 0);
  if (ruleset < 0) fail(EXIT_LANDLOCK, "cannot create a Landlock ruleset", 0, ruleset);
  for (u64 at = 0; at < options.path_count; at++) add_rule(ruleset, &options.paths[at], rules.files);
  const long result = call(NR_landlock_restrict_self, ruleset, 0, 0, 0, 0);
  if (result < 0) fail(EXIT_LANDLOCK, "cannot restrict itself by Landlock", 0, result);
  call(NR_close, ruleset, 0, 0, 0, 0);
}

/* ---- 8. The filter of system calls ---- */

struct instruction {
  u16 code;
  u8 when_true;
  u8 when_false;
  u32 operand;
};

enum { MAX_INSTRUCTIONS = 4096, JUMP_IF_EQUAL = 0x15 };

static struct instruction filter[MAX_INSTRUCTIONS];

struct filter_program {
  u16 length;
  const struct instruction *instructions;
};

/* Bytes of the filter, all of them. They are read before anything is restricted, so that a writer that has ended ends this program. */
static u64 read_filter(void) {
  u64 length = 0;
  while (length < sizeof filter) {
    const long got = call(NR_read, (long)options.filter, (long)((u8 *)filter + length), (long)(sizeof filter - length), 0, 0);
    if (got == -EINTR) continue;
    if (got < 0) fail(EXIT_FILTER, "cannot read the filter", 0, got);
    if (got == 0) break;
    length += (u64)got;
  }
  if (length == 0 || length % sizeof filter[0] != 0) fail(EXIT_FILTER, "the filter is empty or incomplete", 0, 0);
  u8 more;
  if (length == sizeof filter && call(NR_read, (long)options.filter, (long)&more, 1, 0, 0) != 0) fail(EXIT_FILTER, "the filter is too long", 0, 0);
  call(NR_close, (long)options.filter, 0, 0, 0, 0);
  return length / sizeof filter[0];
}

static void load_filter(u64 count) {
  const u32 own = (u32)call(NR_getpid, 0, 0, 0, 0, 0);
  for (u64 at = 0; options.has_own_pid && at < count; at++) {
    if (filter[at].code == JUMP_IF_EQUAL && filter[at].operand == (u32)options.own_pid) filter[at].operand = own;
  }
  const struct filter_program program = {(u16)count, filter};
  const long result = call(NR_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program, 0, 0);
  if (result < 0) fail(EXIT_FILTER, "cannot load the filter of system calls", 0, result);
}

/* `stack`: the number of arguments, the arguments, a zero, the environment, a zero. */
void begin(long *stack) __attribute__((noreturn, used));
void begin(long *stack) {
  const long count = stack[0];
  char **words = (char **)(stack + 1);
  char **environment = words + count + 1;
  const long parent = call(NR_getppid, 0, 0, 0, 0, 0);
  if (count == 0) leave(EXIT_USAGE);
  parse(words);
  if (options.prints_abi) {
    print_number(1, landlock_abi());
    print(1, "\n");
    leave(0);
  }
  if (options.has_keep) close_descriptors();
  const u64 instructions = options.has_filter ? read_filter() : 0;
  set_limits();
  if (options.drops) {
    become_user();
    drop_capabilities();
    end_with_parent(parent);
    refuse_new_privileges();
  }
  if (options.has_landlock) restrict_paths();
  if (options.has_filter) load_filter(instructions);
  const long result = call(NR_execve, (long)options.program[0], (long)options.program, (long)environment, 0, 0);
  fail(EXIT_EXECUTE, "cannot execute", options.program[0], result);
}
