/* Preloaded into the server: notes each path that it touches, and whether a link at its end is followed.

   FILE_ACCESS names the file of notes. Only the process that loads it is noted, not those it starts. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *notes;
static pid_t self;

__attribute__((constructor)) static void begin(void) {
    notes = getenv("FILE_ACCESS");
    self = getpid();
    unsetenv("LD_PRELOAD");
}

static void note(const char *what, int folder, const char *path, int follows) {
    if (!path || !*path || getpid() != self)
        return;
    char above[4096] = "", link[64];
    if (*path != '/') {
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, above, sizeof above - 2);
        if (length < 0)
            abort();
        strcpy(above + length, "/");
    }
    char line[9000];
    int length = snprintf(line, sizeof line, "%s %s %s%s\n", follows ? "follows" : "itself", what, above, path);
    int file = syscall(SYS_openat, AT_FDCWD, notes, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (write(file, line, length) < 0)
        abort();
    close(file);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define NOTED(result, name, folder, path, follows, parameters, arguments) \
    result name parameters { note(#name, folder, path, follows); return REAL(name) arguments; }

NOTED(int, stat, AT_FDCWD, p, 1, (const char *p, struct stat *s), (p, s))
NOTED(int, stat64, AT_FDCWD, p, 1, (const char *p, struct stat64 *s), (p, s))
NOTED(int, lstat, AT_FDCWD, p, 0, (const char *p, struct stat *s), (p, s))
NOTED(int, lstat64, AT_FDCWD, p, 0, (const char *p, struct stat64 *s), (p, s))
NOTED(int, fstatat, d, p, !(f & AT_SYMLINK_NOFOLLOW), (int d, const char *p, struct stat *s, int f), (d, p, s, f))
NOTED(int, fstatat64, d, p, !(f & AT_SYMLINK_NOFOLLOW), (int d, const char *p, struct stat64 *s, int f), (d, p, s, f))
NOTED(int, statx, d, p, !(f & AT_SYMLINK_NOFOLLOW), (int d, const char *restrict p, int f, unsigned m,
      struct statx *restrict s), (d, p, f, m, s))
NOTED(int, access, AT_FDCWD, p, 1, (const char *p, int m), (p, m))
NOTED(int, faccessat, d, p, !(f & AT_SYMLINK_NOFOLLOW), (int d, const char *p, int m, int f), (d, p, m, f))
NOTED(ssize_t, readlink, AT_FDCWD, p, 0, (const char *restrict p, char *restrict b, size_t n), (p, b, n))
NOTED(ssize_t, readlinkat, d, p, 0, (int d, const char *restrict p, char *restrict b, size_t n), (d, p, b, n))
NOTED(DIR *, opendir, AT_FDCWD, p, 1, (const char *p), (p))
NOTED(int, inotify_add_watch, AT_FDCWD, p, !(m & IN_DONT_FOLLOW), (int d, const char *p, uint32_t m), (d, p, m))
NOTED(int, chdir, AT_FDCWD, p, 1, (const char *p), (p))

#define OPEN(name) \
    int name(const char *p, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        note(#name, AT_FDCWD, p, !(flags & O_NOFOLLOW)); return REAL(name)(p, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int d, const char *p, int flags, ...) { \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        note(#name, d, p, !(flags & O_NOFOLLOW)); return REAL(name)(d, p, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)
