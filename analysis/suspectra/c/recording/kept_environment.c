/* Keeps what the processes of a test need in their environment, although the test clears or changes it.
 *
 * A test that starts its program by `env -i`, or with a GCOV_PREFIX of its own, would write its profile where nobody
 * looks for it. So programs that are started get the variables again that this process was started with. All but
 * GCOV_PREFIX, which the profiling runtime reads at the end, are taken out before such a program begins.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
extern char **environ;
void suspectra_replaced(void), suspectra_not_replaced(void);

static const char *const names[] = {
    "LD_PRELOAD", "GCOV_PREFIX", "SUSPECTRA_CALLS", "SUSPECTRA_TEST", "SUSPECTRA_TESTS", "ASAN_OPTIONS",
};
#define NAMES (sizeof names / sizeof *names)
#define ADDED "SUSPECTRA_ADDED="
static char *kept[NAMES]; /* as NAME=VALUE; NULL for none */

static const char *value_in(char *const *environment, const char *name) {
    size_t length = strlen(name);
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static size_t count_of(char *const *environment) {
    size_t count = 0;
    while (environment && environment[count])
        count++;
    return count;
}

/* Whether a program that is started with this environment would be recorded. */
static int is_whole(char *const *environment) {
    const char *prefix = value_in(environment, "GCOV_PREFIX"), *preload = value_in(environment, "LD_PRELOAD");
    return !kept[1] || (prefix && !strcmp(prefix, kept[1] + sizeof "GCOV_PREFIX") && preload &&
                        strstr(preload, kept[0] + sizeof "LD_PRELOAD") && !value_in(environment, "GCOV_PREFIX_STRIP"));
}

/* Fills in an environment with room for what is added; `added` has room for the names. */
static void make_whole(char *const *environment, char **whole, char *added) {
    size_t count = 0;
    strcpy(added, ADDED);
    for (; environment && *environment; environment++)
        if (strncmp(*environment, "GCOV_PREFIX", strlen("GCOV_PREFIX")))
            whole[count++] = *environment;
    for (size_t i = 0; i < NAMES; i++) {
        if (!kept[i] || value_in(environment, names[i]))
            continue;
        strcat(strcat(added, names[i]), ":");
        whole[count++] = kept[i];
    }
    if (value_in(environment, "GCOV_PREFIX"))
        whole[count++] = kept[1];
    whole[count++] = added;
    whole[count] = NULL;
}

#define WHOLE(environment)                                                                                             \
    char added[256], **whole = (char **)(environment);                                                                 \
    if (!is_whole(environment)) {                                                                                      \
        whole = alloca((count_of(environment) + NAMES + 2) * sizeof *whole);                                           \
        make_whole(environment, whole, added);                                                                         \
    }
#define REAL(name) *(void **)&real = dlsym(RTLD_NEXT, name)

int execve(const char *path, char *const argv[], char *const environment[]) {
    int (*real)(const char *, char *const[], char *const[]);
    WHOLE(environment)
    REAL("execve");
    suspectra_replaced();
    int failed = real(path, argv, whole);
    suspectra_not_replaced();
    return failed;
}

int execvpe(const char *file, char *const argv[], char *const environment[]) {
    int (*real)(const char *, char *const[], char *const[]);
    WHOLE(environment)
    REAL("execvpe");
    suspectra_replaced();
    int failed = real(file, argv, whole);
    suspectra_not_replaced();
    return failed;
}

int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }
int execvp(const char *file, char *const argv[]) { return execvpe(file, argv, environ); }

#define ARGUMENTS(argv, first)                                                                                         \
    va_list list, again;                                                                                               \
    size_t count = 1;                                                                                                  \
    va_start(list, first);                                                                                             \
    va_copy(again, list);                                                                                              \
    while (va_arg(again, char *))                                                                                      \
        count++;                                                                                                       \
    va_end(again);                                                                                                     \
    char **argv = alloca((count + 1) * sizeof *argv);                                                                  \
    argv[0] = (char *)first;                                                                                           \
    for (size_t i = 1; i <= count; i++)                                                                                \
        argv[i] = va_arg(list, char *);

int execl(const char *path, const char *first, ...) {
    ARGUMENTS(argv, first)
    va_end(list);
    return execve(path, argv, environ);
}

int execlp(const char *file, const char *first, ...) {
    ARGUMENTS(argv, first)
    va_end(list);
    return execvpe(file, argv, environ);
}

int execle(const char *path, const char *first, ...) {
    ARGUMENTS(argv, first)
    char **environment = va_arg(list, char **);
    va_end(list);
    return execve(path, argv, environment);
}

typedef int (*Spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                     char *const[], char *const[]);

int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]) {
    Spawn real;
    WHOLE(environment)
    REAL("posix_spawn");
    return real(process, path, actions, attributes, argv, whole);
}

int posix_spawnp(pid_t *process, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]) {
    Spawn real;
    WHOLE(environment)
    REAL("posix_spawnp");
    return real(process, file, actions, attributes, argv, whole);
}

/* The program may have changed its own. */
__attribute__((visibility("hidden"))) void suspectra_prefix(void) {
    if (kept[1]) {
        setenv("GCOV_PREFIX", kept[1] + sizeof "GCOV_PREFIX", 1);
        unsetenv("GCOV_PREFIX_STRIP");
    }
}

int clearenv(void) {
    int (*real)(void);
    REAL("clearenv");
    int failed = real();
    suspectra_prefix();
    return failed;
}

__attribute__((constructor)) static void keep(void) {
    char *given = getenv("SUSPECTRA_ADDED");
    for (size_t i = 0; i < NAMES; i++) {
        const char *value = getenv(names[i]);
        if (!value)
            continue;
        size_t size = strlen(names[i]) + strlen(value) + 2;
        if ((kept[i] = malloc(size)))
            snprintf(kept[i], size, "%s=%s", names[i], value);
    }
    if (!kept[0] || !kept[1]) {
        kept[1] = NULL; /* not a test that is recorded */
        return;
    }
    if (given) {
        char *all = strdup(given), *rest = all;
        for (char *name; all && (name = strsep(&rest, ":"));)
            if (*name && strcmp(name, "GCOV_PREFIX"))
                unsetenv(name);
        free(all);
        unsetenv("SUSPECTRA_ADDED");
    }
}
#endif
