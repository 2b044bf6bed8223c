/*
 * Native code in the place of Node, behind the wall that a cell has: tries what an attacker would after a hole in the engine. Each attempt
 * prints one line, "name: ok" or "name: refused (errno)". Compiled and started by native.test.ts.
 *
 * Arguments: "word=value" each. read=PATH, write=PATH, unix=PATH, tcp=PORT, abstract=NAME, host=PID, other=PID,
 * folder=PATH. "wait=" waits until its socket is closed, and does nothing else;
 * "stay=" stays whatever is closed.
 * Descriptor 3 is a socket of the cell's: what comes is sent back in capitals.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Newer than the headers of some systems, with the same number on every machine. */
#define NR_PIDFD_OPEN 434
#define NR_IO_URING_SETUP 425
#define NR_OPEN_TREE 428
#define NR_FSOPEN 430
#define NR_CLONE3 435
#define NR_OPENAT2 437
#define NR_PIDFD_GETFD 438
#define NR_MEMFD_SECRET 447

static void tell(const char *name, int is_done) {
  if (is_done) printf("%s: ok\n", name);
  else printf("%s: refused (%s)\n", name, strerror(errno));
  fflush(stdout);
}

/* Of a call that answers -1 when it fails. */
#define TRY(name, call)          \
  do {                           \
    errno = 0;                   \
    tell(name, (long)(call) != -1); \
  } while (0)

static void tell_of(const char *what, const char *which, int is_done) {
  char name[512];
  int error = errno;
  snprintf(name, sizeof name, "%s %s", what, which);
  errno = error;
  tell(name, is_done);
}

static void *in_thread(void *argument) {
  *(int *)argument = 1;
  return NULL;
}

/* A child that has come to be ends at once; it is the parent that tells. */
static void try_processes(void) {
  long pid;
#ifdef SYS_fork
  pid = syscall(SYS_fork);
  if (pid == 0) _exit(0);
  tell("fork", pid > 0);
  if (pid > 0) waitpid((pid_t)pid, NULL, 0);
#endif
  pid = vfork();
  if (pid == 0) _exit(0);
  tell("vfork", pid > 0);
  if (pid > 0) waitpid((pid_t)pid, NULL, 0);
  pid = syscall(SYS_clone, (unsigned long)SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  tell("clone a process", pid > 0);
  if (pid > 0) waitpid((pid_t)pid, NULL, 0);
  pid = syscall(SYS_clone, (unsigned long)(CLONE_NEWUSER | SIGCHLD), 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  tell("clone a user namespace", pid > 0);
  if (pid > 0) waitpid((pid_t)pid, NULL, 0);
  uint64_t arguments[11] = {0};
  arguments[4] = SIGCHLD;
  pid = syscall(NR_CLONE3, arguments, sizeof arguments);
  if (pid == 0) _exit(0);
  tell("clone3", pid > 0);
  if (pid > 0) waitpid((pid_t)pid, NULL, 0);
}

static void try_connect(const char *what, const char *which, int family, const void *address, socklen_t length) {
  errno = 0;
  int fd = socket(family, SOCK_STREAM, 0);
  int is_done = fd >= 0 && connect(fd, address, length) == 0;
  tell_of(what, which, is_done);
  if (fd >= 0) close(fd);
}

static void try_unix(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  try_connect("unix socket", path, AF_UNIX, &address, sizeof address);
}

static void try_abstract(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t size = strlen(name) < sizeof address.sun_path - 1 ? strlen(name) : sizeof address.sun_path - 1;
  memcpy(address.sun_path + 1, name, size);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
  try_connect("abstract socket", name, AF_UNIX, &address, length);
}

static void try_tcp(const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  try_connect("tcp to port", port, AF_INET, &address, sizeof address);
}

static void try_other(const char *what, pid_t pid) {
  char name[64];
  char bytes[8];
  struct iovec here = {bytes, sizeof bytes};
  /* Nothing is there: EFAULT says that the process was open to be read. */
  struct iovec there = {(void *)4096, sizeof bytes};
  snprintf(name, sizeof name, "%s: signal", what);
  TRY(name, kill(pid, 0));
  snprintf(name, sizeof name, "%s: tgkill", what);
  TRY(name, syscall(SYS_tgkill, pid, pid, 0));
  snprintf(name, sizeof name, "%s: attach", what);
  errno = 0;
  int is_attached = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0;
  tell(name, is_attached);
  snprintf(name, sizeof name, "%s: read memory", what);
  errno = 0;
  long got = process_vm_readv(pid, &here, 1, &there, 1, 0);
  tell(name, got > 0 || (got < 0 && errno == EFAULT));
  snprintf(name, sizeof name, "%s: write memory", what);
  errno = 0;
  got = process_vm_writev(pid, &here, 1, &there, 1, 0);
  tell(name, got > 0 || (got < 0 && errno == EFAULT));
  snprintf(name, sizeof name, "%s: take a descriptor", what);
  errno = 0;
  long handle = syscall(NR_PIDFD_OPEN, pid, 0);
  tell(name, handle >= 0 && syscall(NR_PIDFD_GETFD, handle, 0, 0) >= 0);
  if (handle >= 0) close((int)handle);
  snprintf(name, sizeof name, "/proc/%d/environ", (int)pid);
  int fd = open(name, O_RDONLY);
  snprintf(name, sizeof name, "%s: read environment", what);
  tell(name, fd >= 0);
  if (fd >= 0) close(fd);
}

static void try_kernel(void) {
  char buffer[4096] = {0};
  TRY("unshare user", unshare(CLONE_NEWUSER));
  TRY("unshare mount", unshare(CLONE_NEWNS));
  TRY("unshare net", unshare(CLONE_NEWNET));
  TRY("setns", setns(1, 0) == -1 && errno == EINVAL ? 0 : -1);
  TRY("mount", mount("tmpfs", "/", "tmpfs", 0, NULL));
  TRY("bind mount", mount("/proc", "/dev", NULL, MS_BIND, NULL));
  TRY("umount", umount2("/proc", MNT_DETACH));
  TRY("pivot_root", syscall(SYS_pivot_root, "/", "/"));
  TRY("chroot", chroot("/proc"));
  TRY("fsopen", syscall(NR_FSOPEN, "tmpfs", 0));
  TRY("open_tree", syscall(NR_OPEN_TREE, AT_FDCWD, "/", 1));
  TRY("io_uring_setup", syscall(NR_IO_URING_SETUP, 4, buffer));
  TRY("memfd_create", syscall(SYS_memfd_create, "x", 0));
  TRY("memfd_secret", syscall(NR_MEMFD_SECRET, 0));
  TRY("userfaultfd", syscall(SYS_userfaultfd, 1));
  TRY("keyctl", syscall(SYS_keyctl, 0, -4, 1));
  TRY("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -4));
  TRY("ptrace me", ptrace(PTRACE_TRACEME, 0, 0, 0));
  TRY("bpf", syscall(SYS_bpf, 0, buffer, 72));
  TRY("perf_event_open", syscall(SYS_perf_event_open, buffer, 0, -1, -1, 0));
  TRY("shmget", syscall(SYS_shmget, 0, 4096, 0600));
  TRY("msgget", syscall(SYS_msgget, 0, 0600));
  TRY("semget", syscall(SYS_semget, 0, 1, 0600));
  TRY("mq_open", syscall(SYS_mq_open, "x", O_CREAT | O_RDWR, 0600, NULL));
  TRY("mlock", mlock(buffer, sizeof buffer));
  TRY("mlockall", mlockall(MCL_CURRENT));
  TRY("personality", syscall(SYS_personality, 0x0040000));
  TRY("seccomp", syscall(SYS_seccomp, 1, 0, buffer) == -1 && errno == EINVAL ? 0 : -1);
  TRY("set no death signal", prctl(PR_SET_PDEATHSIG, 0));
  TRY("become a subreaper", prctl(PR_SET_CHILD_SUBREAPER, 1));
  TRY("fcntl(F_SETOWN)", fcntl(0, F_SETOWN, getppid()));
  TRY("fcntl(F_SETSIG)", fcntl(0, F_SETSIG, SIGKILL));
  TRY("inotify", syscall(SYS_inotify_init1, 0));
  TRY("fanotify", syscall(SYS_fanotify_init, 0, 0));
  TRY("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, "/", buffer, buffer + 2048, 0) == -1 && errno == EOVERFLOW ? 0 : -1);
  TRY("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int *)buffer));
  TRY("netlink socket", socket(AF_NETLINK, SOCK_RAW, 0));
  TRY("udp socket", socket(AF_INET, SOCK_DGRAM, 0));
  TRY("packet socket", socket(AF_PACKET, SOCK_RAW, 0));
  TRY("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
  TRY("sethostname", sethostname("x", 1));
  TRY("setuid root", setuid(0) == 0 ? 0 : -1);
  TRY("setresuid root", setresuid(0, 0, 0));
  TRY("sched_setaffinity", syscall(SYS_sched_setaffinity, 0, 0, buffer) == -1 && errno == EINVAL ? 0 : -1);
  TRY("setpriority of others", setpriority(PRIO_USER, 0, 19));
  struct rlimit limit = {4096, 4096};
  TRY("more descriptors", setrlimit(RLIMIT_NOFILE, &limit));
  limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
  TRY("core dumps", setrlimit(RLIMIT_CORE, &limit));
  TRY("files to write", setrlimit(RLIMIT_FSIZE, &limit));
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {{1u << CAP_SYS_ADMIN, 1u << CAP_SYS_ADMIN, 0}, {0, 0, 0}};
  TRY("capset", syscall(SYS_capset, &header, data));
  int fd = open("/", O_RDONLY | O_DIRECTORY);
  TRY("list the root", fd >= 0 ? syscall(SYS_getdents64, fd, buffer, sizeof buffer) : -1);
  if (fd >= 0) close(fd);
  TRY("openat2", syscall(NR_OPENAT2, AT_FDCWD, "/", buffer, 24));
}

static void try_files(const char *path) {
  char file[512];
  snprintf(file, sizeof file, "%s/intruder", path);
  int fd = open(file, O_WRONLY | O_CREAT, 0600);
  tell_of("create in", path, fd >= 0);
  if (fd >= 0) {
    char block[65536] = {0};
    tell_of("fill", path, write(fd, block, sizeof block) == sizeof block);
    close(fd);
    unlink(file);
  }
  errno = 0;
  tell_of("mkdir in", path, mkdir(file, 0700) == 0);
  rmdir(file);
  errno = 0;
  tell_of("symlink in", path, symlink("/etc", file) == 0);
  unlink(file);
  errno = 0;
  tell_of("fifo in", path, mkfifo(file, 0600) == 0);
  unlink(file);
}

/* What the cell needs: its inherited sockets, memory and threads. */
static void serve(void) {
  char bytes[256];
  ssize_t got = read(3, bytes, sizeof bytes);
  for (ssize_t at = 0; at < got; at++) bytes[at] = (char)toupper((unsigned char)bytes[at]);
  TRY("inherited socket", got > 0 && write(3, bytes, (size_t)got) == got ? 0 : -1);
  int has_run = 0;
  pthread_t thread;
  errno = pthread_create(&thread, NULL, in_thread, &has_run);
  if (errno == 0) pthread_join(thread, NULL);
  tell("thread", has_run);
  TRY("memory", mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

int main(int count, char **words) {
  signal(SIGXFSZ, SIG_IGN);
  serve();
  for (int at = 1; at < count; at++) {
    char *value = strchr(words[at], '=');
    if (value == NULL) continue;
    *value++ = '\0';
    const char *word = words[at];
    errno = 0;
    if (strcmp(word, "read") == 0) {
      int fd = open(value, O_RDONLY);
      tell_of("read", value, fd >= 0);
      if (fd >= 0) close(fd);
    } else if (strcmp(word, "write") == 0) {
      int fd = open(value, O_WRONLY);
      tell_of("write", value, fd >= 0);
      if (fd >= 0) close(fd);
    } else if (strcmp(word, "folder") == 0) try_files(value);
    else if (strcmp(word, "unix") == 0) try_unix(value);
    else if (strcmp(word, "abstract") == 0) try_abstract(value);
    else if (strcmp(word, "tcp") == 0) try_tcp(value);
    else if (strcmp(word, "host") == 0) try_other("host", atoi(value));
    else if (strcmp(word, "other") == 0) try_other("other", atoi(value));
    else if (strcmp(word, "stay") == 0) {
      printf("waiting\n");
      fflush(stdout);
      for (;;) poll(NULL, 0, -1);
    } else if (strcmp(word, "wait") == 0) {
      char byte;
      printf("waiting\n");
      fflush(stdout);
      return read(3, &byte, 1) == 0 ? 0 : 1;
    }
  }
  try_processes();
  try_kernel();
  printf("end\n");
  fflush(stdout);
  /* Last: when it succeeds nothing of this program is left, and the shell tells. */
  execl("/bin/sh", "sh", "-c", "echo 'run a shell: ok'", NULL);
  tell("run a shell", 0);
  return 0;
}
