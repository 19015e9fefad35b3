/*
 * Records what a process does below a folder, in order: what it writes, names and syncs, when a request
 * arrives, and when its answer leaves. Loaded with LD_PRELOAD. See record.ts for the format, and shim.ts for how it is compiled.
 *
 * BERTH_CUT_ROOT   the folder
 * BERTH_CUT_LOG    the file to append records to, outside the folder
 * BERTH_CUT_FAIL   the numbers of the syncs that fail with EIO, such as ",40,41,"
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, RENAME, UNLINK, LINK, SYNC, ANSWER, REQUEST };
enum { IS_FOLDER = 1, HAS_FAILED = 1 };
enum { OTHER, BELOW, SOCKET };

struct head {
  uint8_t kind, flag;
  uint16_t path_length;
  uint32_t data_length, process, unused;
  uint64_t inode, number;
};

#define MAX_FDS 65536
static unsigned char kinds[MAX_FDS];
static uint16_t ports[MAX_FDS];
static char root[PATH_MAX];
static size_t root_length;
static const char *failing;
static int log_fd = -1;
static long syncs;
/* Held while a file is changed, so that the order of the records is the order on the disk. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))find(#name))
static void *find(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void start(void) {
  const char *folder = getenv("BERTH_CUT_ROOT"), *log = getenv("BERTH_CUT_LOG");
  failing = getenv("BERTH_CUT_FAIL");
  if (folder == NULL || log == NULL || strlen(folder) >= sizeof root) return;
  strcpy(root, folder);
  root_length = strlen(root);
  log_fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static void record(struct head head, const char *path, const struct iovec *parts, int count, size_t length) {
  struct iovec all[66] = {{&head, sizeof head}, {(void *)path, head.path_length}};
  size_t rest = length;
  int used = 2;
  for (int i = 0; i < count && rest > 0 && used < 66; i++) {
    size_t part = parts[i].iov_len < rest ? parts[i].iov_len : rest;
    all[used++] = (struct iovec){parts[i].iov_base, part};
    rest -= part;
  }
  head.data_length = (uint32_t)(length - rest);
  head.process = (uint32_t)getpid();
  if (rest > 0 || REAL(writev)(log_fd, all, used) < 0) {
    fputs("powercut: a record could not be written\n", stderr);
    abort();
  }
}

/* The absolute path, if it is below the folder; the log beside it and SQLite's shared memory are not. */
static int is_below(int folder, const char *path, char *absolute) {
  if (log_fd < 0 || path == NULL) return 0;
  if (path[0] == '/') {
    if (strlen(path) >= PATH_MAX) return 0;
    strcpy(absolute, path);
  } else {
    char link[64], base[PATH_MAX];
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return 0;
    base[length] = 0;
    if (snprintf(absolute, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return 0;
  }
  size_t length = strlen(absolute);
  if (strncmp(absolute, root, root_length) != 0) return 0;
  if (absolute[root_length] != 0 && absolute[root_length] != '/') return 0;
  return length < 4 || strcmp(absolute + length - 4, "-shm") != 0;
}

static uint64_t inode_of(const char *path) {
  struct stat facts;
  return lstat(path, &facts) == 0 ? facts.st_ino : 0;
}

static int is_kind(int fd, int kind) { return fd >= 0 && fd < MAX_FDS && kinds[fd] == kind; }

static void name(int kind, int flag, uint64_t inode, const char *path) {
  record((struct head){.kind = kind, .flag = flag, .path_length = strlen(path), .inode = inode}, path, NULL, 0, 0);
}

static void name_two(int kind, uint64_t inode, const char *from, const char *to) {
  char both[2 * PATH_MAX];
  int length = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
  record((struct head){.kind = kind, .path_length = length, .inode = inode}, both, NULL, 0, 0);
}

static int open_below(int folder, const char *path, int flags, mode_t mode) {
  char absolute[PATH_MAX];
  if (!is_below(folder, path, absolute)) return REAL(openat)(folder, path, flags, mode);
  pthread_mutex_lock(&order);
  int is_new = (flags & O_CREAT) != 0 && inode_of(absolute) == 0;
  int fd = REAL(openat)(folder, path, flags, mode);
  int error = errno;
  struct stat facts;
  if (fd >= 0 && fd < MAX_FDS && fstat(fd, &facts) == 0) {
    kinds[fd] = BELOW;
    if (is_new) name(CREATE, 0, facts.st_ino, absolute);
    else if ((flags & O_TRUNC) != 0)
      record((struct head){.kind = TRUNCATE, .inode = facts.st_ino}, NULL, NULL, 0, 0);
  }
  pthread_mutex_unlock(&order);
  errno = error;
  return fd;
}

#define MODE(flags)                                        \
  mode_t mode = 0;                                         \
  if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                          \
    va_start(rest, flags);                                 \
    mode = va_arg(rest, mode_t);                           \
    va_end(rest);                                          \
  }

int open(const char *path, int flags, ...) { MODE(flags) return open_below(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_below(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return open_below(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags) return open_below(folder, path, flags, mode); }

int close(int fd) {
  if (fd >= 0 && fd < MAX_FDS) kinds[fd] = OTHER;
  return REAL(close)(fd);
}

/* The first bytes tell the start of a message from its rest. */
static void message(int kind, int fd, const struct iovec *parts, int count) {
  size_t length = 0;
  for (int i = 0; i < count; i++) length += parts[i].iov_len;
  uint64_t port = is_kind(fd, SOCKET) ? ports[fd] : 0;
  pthread_mutex_lock(&order);
  record((struct head){.kind = kind, .number = port}, NULL, parts, count, length < 16 ? length : 16);
  pthread_mutex_unlock(&order);
}

/* Recorded before it leaves. What a command prints is its answer. */
static void answer(int fd, const struct iovec *parts, int count) {
  if (log_fd >= 0 && (fd == STDOUT_FILENO || is_kind(fd, SOCKET))) message(ANSWER, fd, parts, count);
}

ssize_t read(int fd, void *data, size_t length) {
  ssize_t done = REAL(read)(fd, data, length);
  struct iovec part = {data, (size_t)done};
  if (done > 0 && log_fd >= 0 && is_kind(fd, SOCKET)) message(REQUEST, fd, &part, 1);
  return done;
}

/* A negative offset: where the file is, or its end. */
static off64_t place_of(int fd, off64_t offset, const struct stat *facts) {
  if (offset >= 0) return offset;
  return fcntl(fd, F_GETFL) & O_APPEND ? facts->st_size : lseek64(fd, 0, SEEK_CUR);
}

static ssize_t write_below(int fd, const struct iovec *parts, int count, off64_t offset) {
  pthread_mutex_lock(&order);
  struct stat facts;
  fstat(fd, &facts);
  uint64_t at = (uint64_t)place_of(fd, offset, &facts);
  ssize_t done = offset < 0 ? REAL(writev)(fd, parts, count) : REAL(pwritev)(fd, parts, count, offset);
  int error = errno;
  if (done > 0) record((struct head){.kind = WRITE, .inode = facts.st_ino, .number = at}, NULL, parts, count, done);
  pthread_mutex_unlock(&order);
  errno = error;
  return done;
}

ssize_t write(int fd, const void *data, size_t length) {
  struct iovec part = {(void *)data, length};
  if (is_kind(fd, BELOW)) return write_below(fd, &part, 1, -1);
  answer(fd, &part, 1);
  return REAL(write)(fd, data, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (is_kind(fd, BELOW)) return write_below(fd, parts, count, -1);
  answer(fd, parts, count);
  return REAL(writev)(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  struct iovec part = {(void *)data, length};
  return is_kind(fd, BELOW) ? write_below(fd, &part, 1, offset) : REAL(pwrite64)(fd, data, length, offset);
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return is_kind(fd, BELOW) ? write_below(fd, parts, count, offset) : REAL(pwritev64)(fd, parts, count, offset);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return is_kind(fd, BELOW) ? write_below(fd, parts, count, offset) : REAL(pwritev)(fd, parts, count, offset);
}

ssize_t send(int fd, const void *data, size_t length, int flags) {
  struct iovec part = {(void *)data, length};
  answer(fd, &part, 1);
  return REAL(send)(fd, data, length, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  answer(fd, message->msg_iov, (int)message->msg_iovlen);
  return REAL(sendmsg)(fd, message, flags);
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
  int client = REAL(accept4)(fd, address, length, flags);
  struct sockaddr_storage peer;
  socklen_t size = sizeof peer;
  if (client < 0 || client >= MAX_FDS || getpeername(client, (struct sockaddr *)&peer, &size) != 0) return client;
  if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) return client;
  kinds[client] = SOCKET;
  /* The port is at the same place in both. */
  ports[client] = ntohs(((struct sockaddr_in *)&peer)->sin_port);
  return client;
}
int accept(int fd, struct sockaddr *address, socklen_t *length) { return accept4(fd, address, length, 0); }

int ftruncate64(int fd, off64_t size) {
  if (!is_kind(fd, BELOW)) return REAL(ftruncate64)(fd, size);
  pthread_mutex_lock(&order);
  struct stat facts;
  fstat(fd, &facts);
  int result = REAL(ftruncate64)(fd, size);
  int error = errno;
  struct head head = {.kind = TRUNCATE, .inode = facts.st_ino, .number = (uint64_t)size};
  if (result == 0) record(head, NULL, NULL, 0, 0);
  pthread_mutex_unlock(&order);
  errno = error;
  return result;
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int must_fail(long number) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, ",%ld,", number);
  return failing != NULL && strstr(failing, wanted) != NULL;
}

static int sync_below(int fd, int (*real)(int)) {
  if (!is_kind(fd, BELOW)) return real(fd);
  pthread_mutex_lock(&order);
  struct stat facts;
  fstat(fd, &facts);
  int result = must_fail(++syncs) ? (errno = EIO, -1) : real(fd);
  int error = errno;
  struct head head = {.kind = SYNC, .flag = result == 0 ? 0 : HAS_FAILED, .inode = facts.st_ino};
  record(head, NULL, NULL, 0, 0);
  pthread_mutex_unlock(&order);
  errno = error;
  return result;
}
int fsync(int fd) { return sync_below(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_below(fd, REAL(fdatasync)); }

#define NAMING(absolute, folder, path, call, noted) \
  char absolute[PATH_MAX];                          \
  if (!is_below(folder, path, absolute)) return call; \
  pthread_mutex_lock(&order);                       \
  uint64_t inode = inode_of(absolute);              \
  int result = call;                                \
  int error = errno;                                \
  if (result == 0) noted;                           \
  pthread_mutex_unlock(&order);                     \
  errno = error;                                    \
  return result;

#define REMOVED name(UNLINK, 0, inode, absolute)
int unlink(const char *path) { NAMING(absolute, AT_FDCWD, path, REAL(unlink)(path), REMOVED) }
int rmdir(const char *path) { NAMING(absolute, AT_FDCWD, path, REAL(rmdir)(path), REMOVED) }
int remove(const char *path) { NAMING(absolute, AT_FDCWD, path, REAL(remove)(path), REMOVED) }
int unlinkat(int folder, const char *path, int flags) {
  NAMING(absolute, folder, path, REAL(unlinkat)(folder, path, flags), REMOVED)
}
int mkdir(const char *path, mode_t mode) {
  NAMING(absolute, AT_FDCWD, path, REAL(mkdir)(path, mode), (void)inode; name(CREATE, IS_FOLDER, inode_of(absolute), absolute))
}
int rename(const char *from, const char *to) {
  NAMING(absolute, AT_FDCWD, from, REAL(rename)(from, to), name_two(RENAME, inode, absolute, to))
}
int link(const char *from, const char *to) {
  NAMING(absolute, AT_FDCWD, from, REAL(link)(from, to), name_two(LINK, inode, absolute, to))
}
