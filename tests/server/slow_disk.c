/* Preloaded into the server: makes looking at files below a folder slow, and notes which thread does it.

   SLOW_DISK names the folder, SLOW_DISK_SECONDS how long each look takes, SLOW_DISK_LOG the file of notes. Only the
   process that loads it is slowed, not those it starts. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *folder, *notes;
static double seconds;
static pid_t self;

__attribute__((constructor)) static void begin(void) {
    folder = getenv("SLOW_DISK");
    notes = getenv("SLOW_DISK_LOG");
    seconds = atof(getenv("SLOW_DISK_SECONDS"));
    self = getpid();
    unsetenv("LD_PRELOAD");
}

static void look(const char *what, const char *path) {
    if (!path || getpid() != self || strncmp(path, folder, strlen(folder)))
        return;
    int file = syscall(SYS_openat, AT_FDCWD, notes, O_WRONLY | O_APPEND | O_CREAT, 0600);
    const char *thread = syscall(SYS_gettid) == self ? "loop" : "worker";
    char line[4200];
    int length = snprintf(line, sizeof line, "%s %s %s\n", thread, what, path);
    if (write(file, line, length) < 0)
        abort();
    close(file);
    struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define LOOK_AT(result, name, path, parameters, arguments) \
    result name parameters { look(#name, path); return REAL(name) arguments; }

LOOK_AT(int, stat, p, (const char *p, struct stat *s), (p, s))
LOOK_AT(int, lstat, p, (const char *p, struct stat *s), (p, s))
LOOK_AT(int, fstatat, p, (int d, const char *p, struct stat *s, int f), (d, p, s, f))
LOOK_AT(int, stat64, p, (const char *p, struct stat64 *s), (p, s))
LOOK_AT(int, lstat64, p, (const char *p, struct stat64 *s), (p, s))
LOOK_AT(int, fstatat64, p, (int d, const char *p, struct stat64 *s, int f), (d, p, s, f))
LOOK_AT(int, access, p, (const char *p, int m), (p, m))
LOOK_AT(ssize_t, readlink, p, (const char *p, char *b, size_t n), (p, b, n))
LOOK_AT(DIR *, opendir, p, (const char *p), (p))
LOOK_AT(int, rename, p, (const char *p, const char *n), (p, n))
LOOK_AT(int, unlink, p, (const char *p), (p))
LOOK_AT(int, mkdir, p, (const char *p, mode_t m), (p, m))

#define OPEN(name) \
    int name(const char *p, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        look(#name, p); return REAL(name)(p, flags, mode); \
    }
OPEN(open)
OPEN(open64)
