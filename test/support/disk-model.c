/*
 * A model of a disk for one process on Linux, to be loaded with LD_PRELOAD: which bytes of some folders' files are durable,
 * and which lie in the page cache alone.
 *
 * The files themselves are the page cache: whatever the process reads is what it wrote. What is durable lies beside them,
 * in a file of the shadow folder for each:
 *
 *   write, ftruncate     change the page cache; the pages are dirty
 *   fsync, fdatasync     the dirty pages and the size become durable; of a folder: the names in it do
 *   either one, failed   EIO. A write changes nothing. An fsync leaves its pages as Linux does: clean, readable and not
 *                        durable, so that no later fsync writes them unless they are written to again
 *                        (https://wiki.postgresql.org/wiki/Fsync_Errors)
 *   a power cut          makes another folder of what is durable, and of what the kernel may have written by itself: none
 *                        of the dirty pages, all of them, or some. Of the names it has those of the last fsync of the
 *                        folder, or where pages are kept those of now. The process goes on: it may be cut off at many points.
 *
 * The index of a WAL (`-shm`) is memory that SQLite shares; it is no part of the model, and none is left after a cut. Nor
 * are files that Bun writes itself by system calls that pass libc by: they come out empty.
 *
 * Reads can fail for a while, with EIO, of any file of a disk but the index of a WAL: memory of SQLite's, too.
 *
 * A disk can also be halted at a call, as at a kill -9 or a power cut: that write is torn, and no later call changes
 * anything until it is resumed. It can have little space (ENOSPC), and in a simulation waits for locks take no time.
 *
 * Its functions are called from the process itself, by disk-model.ts. A disk counts its calls of write, ftruncate and
 * fsync from 1.
 *
 * A process that a test has started is told by a file instead, which it has in its memory: that reads of a folder's files
 * fail, and that locks do nothing, as on some network file systems. All else of its disk is as it is.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, DISKS = 256 };
enum keep { KEEP_NONE, KEEP_ALL, KEEP_SOME };

typedef struct file {
  struct file *next;
  ino_t ino;
  int gone; /* unlinked: its inode number may be another's */
  int shadow;
  unsigned char *dirty; /* a byte a page */
  size_t pages;
  off_t low; /* the smallest size since the last fsync: beyond it the durable bytes are void */
} file;

typedef struct name {
  struct name *next;
  char text[256];
  file *of;
} name;

typedef struct {
  int used;
  char folder[512], shadow[512];
  dev_t dev;
  ino_t ino;
  file *files;
  name *durable;
  long calls, fail_from, fail_to, failed, syncs;
  long reads, no_read_from, no_read_to;
  long halt_at; /* 0: at none */
  int halted;
  long capacity; /* bytes; 0: without limit */
  int shadows;
} disk;

static disk disks[DISKS];
static int disk_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(f) ((__typeof__(&f))real(#f))
static void *real(const char *symbol) { return dlsym(RTLD_NEXT, symbol); }

static __attribute__((noreturn)) void broken(const char *what) {
  fprintf(stderr, "disk-model: %s: %s\n", what, strerror(errno));
  abort();
}

static int is_index(const char *path) {
  size_t n = strlen(path);
  return n >= 4 && strcmp(path + n - 4, "-shm") == 0;
}

static file *new_file(disk *d, ino_t ino) {
  file *f = calloc(1, sizeof *f);
  char path[600];
  snprintf(path, sizeof path, "%s/%d", d->shadow, d->shadows++);
  if ((f->shadow = REAL(open64)(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0) broken(path);
  f->ino = ino;
  f->next = d->files;
  return d->files = f;
}

static file *file_of(disk *d, ino_t ino) {
  for (file *f = d->files; f; f = f->next)
    if (f->ino == ino && !f->gone) return f;
  return new_file(d, ino);
}

/* The disk and the file of a descriptor; without a file: of the folder itself. */
static disk *disk_of(int fd, file **f) {
  struct stat s;
  if (disk_count == 0 || fstat(fd, &s) != 0) return NULL;
  if (S_ISDIR(s.st_mode)) {
    *f = NULL;
    for (int i = 0; i < disk_count; i++)
      if (disks[i].used && disks[i].ino == s.st_ino && disks[i].dev == s.st_dev) return &disks[i];
    return NULL;
  }
  if (!S_ISREG(s.st_mode) || s.st_nlink == 0) return NULL;
  char link[64], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return NULL;
  path[n] = 0;
  char *slash = strrchr(path, '/');
  if (!slash || is_index(path)) return NULL;
  *slash = 0;
  for (int i = 0; i < disk_count; i++)
    if (disks[i].used && strcmp(disks[i].folder, path) == 0) {
      *f = file_of(&disks[i], s.st_ino);
      return &disks[i];
    }
  return NULL;
}

static void touch(file *f, off_t from, off_t to) {
  size_t need = (to + PAGE - 1) / PAGE;
  if (need > f->pages) {
    f->dirty = realloc(f->dirty, need);
    memset(f->dirty + f->pages, 0, need - f->pages);
    f->pages = need;
  }
  if (to > from) memset(f->dirty + from / PAGE, 1, need - from / PAGE);
}

/* Copies pages of a file to another one: those that are dirty, or a part of them. */
static void copy_pages(int from, int to, file *f, enum keep keep, unsigned *seed) {
  char page[PAGE];
  for (size_t i = 0; i < f->pages; i++) {
    if (!f->dirty[i] || (keep == KEEP_SOME && rand_r(seed) % 2)) continue;
    ssize_t n = REAL(pread64)(from, page, PAGE, (off_t)i * PAGE);
    if (n > 0 && REAL(pwrite64)(to, page, n, (off_t)i * PAGE) != n) broken("pwrite");
  }
}

static off_t size_of(int fd) {
  struct stat s;
  if (fstat(fd, &s) != 0) broken("fstat");
  return s.st_size;
}

static void truncate_to(int fd, off_t size) {
  if (REAL(ftruncate64)(fd, size) != 0) broken("ftruncate");
}

static void make_durable(int fd, file *f) {
  if (f->low < size_of(f->shadow)) truncate_to(f->shadow, f->low);
  copy_pages(fd, f->shadow, f, KEEP_ALL, NULL);
  f->low = size_of(fd);
  truncate_to(f->shadow, f->low);
  if (f->pages) memset(f->dirty, 0, f->pages);
}

static name *names_now(disk *d) {
  name *all = NULL;
  DIR *open = opendir(d->folder);
  if (!open) return NULL;
  for (struct dirent *e; (e = readdir(open));) {
    if (e->d_type != DT_REG || is_index(e->d_name)) continue;
    name *n = calloc(1, sizeof *n);
    snprintf(n->text, sizeof n->text, "%s", e->d_name);
    n->of = file_of(d, e->d_ino);
    n->next = all;
    all = n;
  }
  closedir(open);
  return all;
}

static void forget(name *all) {
  for (name *next; all; all = next) {
    next = all->next;
    free(all);
  }
}

static void copy_after_cut(disk *d, const char *target, enum keep keep, unsigned seed) {
  name *now = names_now(d);
  for (name *n = keep == KEEP_NONE ? d->durable : now; n; n = n->next) {
    char path[800], source[800];
    snprintf(path, sizeof path, "%s/%s", target, n->text);
    int to = REAL(open64)(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0) broken(path);
    char bytes[65536];
    off_t at = 0;
    for (ssize_t got; (got = REAL(pread64)(n->of->shadow, bytes, sizeof bytes, at)) > 0; at += got)
      if (REAL(pwrite64)(to, bytes, got, at) != got) broken(path);
    snprintf(source, sizeof source, "%s/%s", d->folder, n->text);
    int from = keep == KEEP_NONE || n->of->gone ? -1 : REAL(open64)(source, O_RDONLY | O_CLOEXEC);
    if (from >= 0) {
      /* The size is in the file system's journal, apart from the pages: it may be there without them. */
      if (keep == KEEP_ALL || rand_r(&seed) % 2) {
        if (n->of->low < at) truncate_to(to, n->of->low);
        copy_pages(from, to, n->of, keep, &seed);
        truncate_to(to, size_of(from));
      }
      REAL(close)(from);
    }
    REAL(close)(to);
  }
  forget(now);
}

/* Counts a call. Returns whether it fails. */
static int fails(disk *d) {
  d->calls++;
  if (d->halt_at && d->calls >= d->halt_at) d->halted = 1;
  if (d->halted) {
    errno = EIO;
    return 1;
  }
  if (d->calls < d->fail_from || d->calls >= d->fail_to) return 0;
  d->failed++;
  errno = EIO;
  return 1;
}

/* Does a call on a modelled file, or as it is. `call` gives `result`; `then` runs when it succeeded. */
#define MODELLED(result_type, fd, call, then)        \
  file *f = NULL;                                    \
  pthread_mutex_lock(&lock);                         \
  disk *d = disk_of(fd, &f);                         \
  if (d == NULL) {                                   \
    pthread_mutex_unlock(&lock);                     \
    return call;                                     \
  }                                                  \
  result_type result = -1;                           \
  int failed = fails(d);                             \
  if (!failed) {                                     \
    result = call;                                   \
    if (result >= 0) then;                           \
  }                                                  \
  int error = errno;                                 \
  pthread_mutex_unlock(&lock);                       \
  errno = error;                                     \
  return result

/* What a started process is told: a byte each. */
enum { READS_FAIL, LOCKS_DO_NOTHING, ORDERS };
static const volatile char *orders;
static const char *ordered_folder;

static __attribute__((constructor)) void take_orders(void) {
  const char *path = getenv("DISK_MODEL_ORDERS");
  if (!path) return;
  ordered_folder = getenv("DISK_MODEL_FOLDER");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  orders = fd < 0 ? MAP_FAILED : mmap(NULL, ORDERS, PROT_READ, MAP_SHARED, fd, 0);
  if (orders == MAP_FAILED) broken(path);
  close(fd);
}

static int is_in_ordered_folder(int fd) {
  char link[64], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  size_t length = strlen(ordered_folder);
  return strncmp(path, ordered_folder, length) == 0 && path[length] == '/' && !is_index(path);
}

/* Disks whose reads fail, or will. */
static volatile int unreadable_disks;

/* Counts a read. Returns whether it fails. */
static int read_fails(int fd) {
  if (orders && orders[READS_FAIL] && is_in_ordered_folder(fd)) {
    errno = EIO;
    return 1;
  }
  if (unreadable_disks == 0) return 0;
  file *f = NULL;
  pthread_mutex_lock(&lock);
  disk *d = disk_of(fd, &f);
  int failed = d != NULL && ++d->reads >= d->no_read_from && d->reads < d->no_read_to;
  pthread_mutex_unlock(&lock);
  if (failed) errno = EIO;
  return failed;
}

ssize_t pread64(int fd, void *to, size_t n, off64_t at) { return read_fails(fd) ? -1 : REAL(pread64)(fd, to, n, at); }
ssize_t pread(int fd, void *to, size_t n, off_t at) { return read_fails(fd) ? -1 : REAL(pread)(fd, to, n, at); }

static int is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

static int modelled_fcntl(int (*call)(int, int, ...), int fd, int command, void *argument) {
  if (!orders || !orders[LOCKS_DO_NOTHING] || !is_in_ordered_folder(fd)) return call(fd, command, argument);
  if (is_lock(command)) return 0;
  if (command == F_GETLK || command == F_OFD_GETLK) {
    ((struct flock *)argument)->l_type = F_UNLCK;
    return 0;
  }
  return call(fd, command, argument);
}

#define FCNTL(name)                                                  \
  int name(int fd, int command, ...) {                               \
    va_list list;                                                    \
    va_start(list, command);                                         \
    void *argument = va_arg(list, void *);                           \
    va_end(list);                                                    \
    return modelled_fcntl(REAL(name), fd, command, argument);        \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

enum { SECTOR = 512 };

/* The write at which a disk halts: a part of it is done. */
static void tear(disk *d, file *f, int fd, const void *bytes, size_t n, off_t at) {
  if (!d->halted || d->calls != d->halt_at) return;
  size_t part = (n / SECTOR / 2) * SECTOR;
  if (part > 0 && REAL(pwrite64)(fd, bytes, part, at) == (ssize_t)part) touch(f, at, at + part);
}

/* Bytes that files other than the WAL's index take. */
static long used(disk *d) {
  long bytes = 0;
  DIR *open = opendir(d->folder);
  if (!open) return 0;
  for (struct dirent *e; (e = readdir(open));) {
    struct stat s;
    if (!is_index(e->d_name) && fstatat(dirfd(open), e->d_name, &s, 0) == 0 && S_ISREG(s.st_mode)) bytes += s.st_size;
  }
  closedir(open);
  return bytes;
}

static ssize_t write_at(disk *d, int fd, const void *bytes, size_t n, off_t at) {
  long growth = at + (long)n - size_of(fd);
  if (d->capacity > 0 && growth > 0 && used(d) + growth > d->capacity) {
    errno = ENOSPC;
    return -1;
  }
  return REAL(pwrite64)(fd, bytes, n, at);
}

static ssize_t modelled_pwrite(int fd, const void *bytes, size_t n, off_t at) {
  file *f = NULL;
  pthread_mutex_lock(&lock);
  disk *d = disk_of(fd, &f);
  if (d == NULL) {
    pthread_mutex_unlock(&lock);
    return REAL(pwrite64)(fd, bytes, n, at);
  }
  ssize_t result = -1;
  if (fails(d)) tear(d, f, fd, bytes, n, at);
  else if ((result = write_at(d, fd, bytes, n, at)) >= 0) touch(f, at, at + result);
  int error = result < 0 && d->halted ? EIO : errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) { return modelled_pwrite(fd, bytes, n, at); }
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) { return modelled_pwrite(fd, bytes, n, at); }

ssize_t write(int fd, const void *bytes, size_t n) {
  MODELLED(ssize_t, fd, REAL(write)(fd, bytes, n), {
    off_t end = lseek(fd, 0, SEEK_CUR);
    touch(f, end - result, end);
  });
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
  MODELLED(ssize_t, fd, REAL(writev)(fd, parts, n), {
    off_t end = lseek(fd, 0, SEEK_CUR);
    touch(f, end - result, end);
  });
}

static long modelled_pwritev(long (*call)(long, ...), int fd, const struct iovec *parts, int n, off_t at) {
  MODELLED(long, fd, call(SYS_pwritev, fd, parts, n, at, 0L), touch(f, at, at + result));
}

/* Bun's `readvSync` and `writevSync` at a position come here. */
long syscall(long number, ...) {
  va_list list;
  long a[6];
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  static long (*call)(long, ...);
  if (!call) call = (long (*)(long, ...))real("syscall");
  if (number == SYS_preadv && read_fails(a[0])) return -1;
  if (number == SYS_pwritev && disk_count > 0)
    return modelled_pwritev(call, a[0], (const struct iovec *)a[1], a[2], a[3]);
  return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void shrink(int fd, file *f) {
  off_t size = size_of(fd);
  if (size < f->low) f->low = size;
}

int ftruncate64(int fd, off64_t size) { MODELLED(int, fd, REAL(ftruncate64)(fd, size), shrink(fd, f)); }
int ftruncate(int fd, off_t size) { MODELLED(int, fd, REAL(ftruncate)(fd, size), shrink(fd, f)); }

/* Nothing else that the process writes has to outlive the test: no fsync reaches a real disk. */
static int modelled_sync(int fd, int (*sync)(int)) {
  pthread_mutex_lock(&lock);
  file *f = NULL;
  disk *d = disk_of(fd, &f);
  if (d == NULL) {
    pthread_mutex_unlock(&lock);
    return disk_count == 0 ? sync(fd) : 0;
  }
  int failed = fails(d);
  d->syncs++;
  if (failed) {
    if (f && f->pages && !d->halted) memset(f->dirty, 0, f->pages);
  } else if (f) {
    make_durable(fd, f);
  } else {
    forget(d->durable);
    d->durable = names_now(d);
  }
  pthread_mutex_unlock(&lock);
  if (failed) errno = EIO;
  return failed ? -1 : 0;
}

int fsync(int fd) { return modelled_sync(fd, REAL(fsync)); }
int fdatasync(int fd) { return modelled_sync(fd, REAL(fdatasync)); }

/* Under the lock: its inode number may be another file's as soon as it is gone. */
int unlink(const char *path) {
  struct stat s;
  if (disk_count == 0 || lstat(path, &s) != 0 || !S_ISREG(s.st_mode)) return REAL(unlink)(path);
  pthread_mutex_lock(&lock);
  char folder[1024];
  snprintf(folder, sizeof folder, "%s", path);
  char *slash = strrchr(folder, '/');
  if (slash) *slash = 0;
  for (int i = 0; i < disk_count; i++)
    if (disks[i].used && disks[i].halted && strcmp(disks[i].folder, folder) == 0) {
      pthread_mutex_unlock(&lock);
      errno = EIO;
      return -1;
    }
  int result = REAL(unlink)(path), error = errno;
  for (int i = 0; result == 0 && i < disk_count; i++)
    for (file *f = disks[i].used && disks[i].dev == s.st_dev ? disks[i].files : NULL; f; f = f->next)
      if (f->ino == s.st_ino) f->gone = 1;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

/* The space that is left, where it is limited. */
static int modelled_statfs(int (*call)(const char *, struct statfs *), const char *path, struct statfs *to) {
  int result = call(path, to);
  pthread_mutex_lock(&lock);
  for (int i = 0; result == 0 && i < disk_count; i++) {
    disk *d = &disks[i];
    if (!d->used || d->capacity == 0 || strcmp(d->folder, path) != 0) continue;
    long left = d->capacity - used(d);
    to->f_bavail = to->f_bfree = left > 0 ? left / to->f_bsize : 0;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

int statfs(const char *path, struct statfs *to) { return modelled_statfs(REAL(statfs), path, to); }
int statfs64(const char *path, struct statfs64 *to) {
  return modelled_statfs((int (*)(const char *, struct statfs *))REAL(statfs64), path, (struct statfs *)to);
}

/* How SQLite waits for locks. In a simulation, by the thread that asked for it, that takes no time and is counted. */
static _Thread_local int simulates_sleep;
static _Thread_local long slept_us;

static int simulated(const struct timespec *time) {
  slept_us += time->tv_sec * 1000000 + time->tv_nsec / 1000;
  return 0;
}

int usleep(useconds_t us) {
  if (!simulates_sleep) return REAL(usleep)(us);
  slept_us += us;
  return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left) {
  return simulates_sleep ? simulated(time) : REAL(nanosleep)(time, left);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
  return simulates_sleep && flags == 0 ? simulated(time) : REAL(clock_nanosleep)(clock, flags, time, left);
}

void disk_simulate_sleep(int on) { simulates_sleep = on; }

/* Milliseconds that were not slept since the last call. */
int disk_slept_ms(void) {
  int ms = slept_us / 1000;
  slept_us = 0;
  return ms;
}

/* Models a folder, which is empty, from now on; both end without a slash. Returns its number. */
int disk_add(const char *folder, const char *shadow) {
  struct stat s;
  if (stat(folder, &s) != 0) broken(folder);
  pthread_mutex_lock(&lock);
  int id = 0;
  while (id < disk_count && disks[id].used) id++;
  if (id == DISKS) broken("too many disks");
  disk *d = &disks[id];
  memset(d, 0, sizeof *d);
  snprintf(d->folder, sizeof d->folder, "%s", folder);
  snprintf(d->shadow, sizeof d->shadow, "%s", shadow);
  d->dev = s.st_dev;
  d->ino = s.st_ino;
  d->used = 1;
  if (id == disk_count) disk_count++;
  pthread_mutex_unlock(&lock);
  return id;
}

/* Has `calls` calls fail, from the n-th one that comes now. */
void disk_fail(int id, int n, int calls) {
  pthread_mutex_lock(&lock);
  disks[id].fail_from = disks[id].calls + n;
  disks[id].fail_to = disks[id].fail_from + calls;
  pthread_mutex_unlock(&lock);
}

/* Has `count` reads fail, from the n-th one that comes now. */
void disk_fail_reads(int id, int n, int count) {
  pthread_mutex_lock(&lock);
  disk *d = &disks[id];
  unreadable_disks -= d->no_read_to > 0;
  d->no_read_from = d->reads + n;
  d->no_read_to = count > 0 ? d->no_read_from + count : 0;
  unreadable_disks += d->no_read_to > 0;
  pthread_mutex_unlock(&lock);
}

/* Halts at the n-th call that comes now; 0: at once. */
void disk_halt(int id, int n) {
  pthread_mutex_lock(&lock);
  if (n == 0) disks[id].halted = 1;
  disks[id].halt_at = n == 0 ? 0 : disks[id].calls + n;
  pthread_mutex_unlock(&lock);
}

/* Takes a halt back, or goes on after it. Returns whether the disk was halted. */
int disk_resume(int id) {
  pthread_mutex_lock(&lock);
  int halted = disks[id].halted;
  disks[id].halted = 0;
  disks[id].halt_at = 0;
  pthread_mutex_unlock(&lock);
  return halted;
}

int disk_is_halted(int id) { return disks[id].halted; }

/* The most bytes that its files take together; 0: without limit. */
void disk_limit(int id, int bytes) { disks[id].capacity = bytes; }

int disk_calls(int id) { return disks[id].calls; }
int disk_syncs(int id) { return disks[id].syncs; }

/* All files, which may have been put there past the model, are durable now. */
void disk_settle(int id) {
  pthread_mutex_lock(&lock);
  disk *d = &disks[id];
  forget(d->durable);
  d->durable = names_now(d);
  for (name *n = d->durable; n; n = n->next) {
    char path[800];
    snprintf(path, sizeof path, "%s/%s", d->folder, n->text);
    int fd = REAL(open64)(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) broken(path);
    touch(n->of, 0, size_of(fd));
    make_durable(fd, n->of);
    REAL(close)(fd);
  }
  pthread_mutex_unlock(&lock);
}

/* How many of them have failed. */
int disk_failed(int id) {
  pthread_mutex_lock(&lock);
  int failed = disks[id].failed;
  pthread_mutex_unlock(&lock);
  return failed;
}

/* Makes of a folder, which is there and empty, what a power cut leaves now. */
void disk_copy(int id, const char *target, int keep, int seed) {
  pthread_mutex_lock(&lock);
  copy_after_cut(&disks[id], target, keep, seed);
  pthread_mutex_unlock(&lock);
}

/* Ends the model of a folder. */
void disk_remove(int id) {
  pthread_mutex_lock(&lock);
  disk *d = &disks[id];
  d->used = 0;
  unreadable_disks -= d->no_read_to > 0;
  forget(d->durable);
  for (file *f = d->files, *next; f; f = next) {
    next = f->next;
    REAL(close)(f->shadow);
    free(f->dirty);
    free(f);
  }
  d->files = NULL;
  pthread_mutex_unlock(&lock);
}
