/* Keeps what the processes of a test need in their environment, although the test clears or changes it.
 *
 * A test that starts its program by `env -i`, or with a GCOV_PREFIX of its own, would write its profile where nobody
 * looks for it. So programs that are started get the variables again that this process was started with. All but
 * GCOV_PREFIX, which the profiling runtime reads at the end, are taken out before such a program begins. To libraries
 * that a test loads first, and to options of AddressSanitizer, what is needed is added.
 */
#define _GNU_SOURCE
#include "recorded_calls.h"
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

static struct variable {
    const char *name;
    int joins;  /* whether a test may add to what stands in it */
    char *kept; /* as NAME=VALUE, the value what is needed of it; NULL for nothing */
} variables[] = {
    {"LD_PRELOAD", 1, NULL},     {"GCOV_PREFIX", 0, NULL},     {"SUSPECTRA_CALLS", 0, NULL},
    {"SUSPECTRA_TEST", 0, NULL}, {"SUSPECTRA_TESTS", 0, NULL}, {"ASAN_OPTIONS", 1, NULL},
};
#define VARIABLES (sizeof variables / sizeof *variables)
#define PREFIX (&variables[1])
#define ADDED "SUSPECTRA_ADDED="
static int recorded; /* whether this process is one of a test */

static const char *wanted(const struct variable *one) { return one->kept + strlen(one->name) + 1; }

static const char *value_in(char *const *environment, const char *name) {
    size_t length = strlen(name);
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

/* Whether a variable has what is needed of it. */
static int stands_in(char *const *environment, const struct variable *one) {
    const char *value = value_in(environment, one->name);
    if (!one->kept || !value)
        return !one->kept;
    return one->joins ? strstr(value, wanted(one)) != NULL : !strcmp(value, wanted(one));
}

/* Whether a program that is started with this environment would be recorded. */
static int is_whole(char *const *environment) {
    int whole = !recorded || !value_in(environment, "GCOV_PREFIX_STRIP");
    for (size_t i = 0; recorded && i < VARIABLES; i++)
        whole = whole && stands_in(environment, &variables[i]);
    return whole;
}

/* Whether an entry of an environment gives way to what is needed instead. */
static int gives_way(char *const *environment, const char *entry) {
    if (!strncmp(entry, "GCOV_PREFIX_STRIP=", strlen("GCOV_PREFIX_STRIP=")))
        return 1;
    for (size_t i = 0; i < VARIABLES; i++) {
        size_t length = strlen(variables[i].name);
        if (!strncmp(entry, variables[i].name, length) && entry[length] == '=')
            return !stands_in(environment, &variables[i]);
    }
    return 0;
}

static size_t entries_of(char *const *environment) {
    size_t count = VARIABLES + 2;
    while (environment && *environment++)
        count++;
    return count;
}

/* How many bytes make_whole() puts together at most. */
static size_t text_of(char *const *environment) {
    size_t size = sizeof ADDED;
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *value = value_in(environment, variables[i].name);
        if (variables[i].kept)
            size += 2 * (strlen(variables[i].kept) + 1) + 1 + (value ? strlen(value) : 0);
    }
    return size;
}

/* Fills in an environment with what is needed; `text` has room for what is put together. */
static void make_whole(char *const *environment, char **whole, char *text) {
    size_t count = 0;
    for (char *const *entry = environment; entry && *entry; entry++)
        if (!gives_way(environment, *entry))
            whole[count++] = *entry;
    for (size_t i = 0; i < VARIABLES; i++) {
        struct variable *one = &variables[i];
        const char *value = value_in(environment, one->name);
        if (stands_in(environment, one))
            continue;
        whole[count++] = one->joins && value ? text : one->kept;
        if (one->joins && value)
            text += 1 + sprintf(text, "%s=%s:%s", one->name, value, wanted(one));
    }
    whole[count++] = strcpy(text, ADDED);
    for (size_t i = 0; i < VARIABLES; i++)
        if (!stands_in(environment, &variables[i]))
            strcat(strcat(text, variables[i].name), ":");
    whole[count] = NULL;
}

#define WHOLE(environment)                                                                                             \
    char **whole = (char **)(environment);                                                                             \
    if (!is_whole(environment)) {                                                                                      \
        whole = alloca(entries_of(environment) * sizeof *whole);                                                       \
        make_whole(environment, whole, alloca(text_of(environment)));                                                  \
    }
#define REAL(name) *(void **)&real = dlsym(RTLD_NEXT, name)

int execve(const char *path, char *const argv[], char *const environment[]) {
    int (*real)(const char *, char *const[], char *const[]);
    WHOLE(environment)
    REAL("execve");
    suspectra_replaced(1);
    int failed = real(path, argv, whole);
    suspectra_not_replaced();
    return failed;
}

int execvpe(const char *file, char *const argv[], char *const environment[]) {
    int (*real)(const char *, char *const[], char *const[]);
    WHOLE(environment)
    REAL("execvpe");
    suspectra_replaced(1);
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

int fexecve(int descriptor, char *const argv[], char *const environment[]) {
    int (*real)(int, char *const[], char *const[]);
    WHOLE(environment)
    REAL("fexecve");
    suspectra_replaced(0);
    int failed = real(descriptor, argv, whole);
    suspectra_not_replaced();
    return failed;
}

/* These two start a shell with the environment of this process. */
int system(const char *command) {
    int (*real)(const char *);
    char **own = environ;
    WHOLE(own)
    REAL("system");
    environ = whole;
    int status = real(command);
    environ = own;
    return status;
}

FILE *popen(const char *command, const char *mode) {
    FILE *(*real)(const char *, const char *);
    char **own = environ;
    WHOLE(own)
    REAL("popen");
    environ = whole;
    FILE *stream = real(command, mode);
    environ = own;
    return stream;
}

/* The program may have changed its own. */
__attribute__((visibility("hidden"))) void suspectra_prefix(void) {
    if (recorded) {
        setenv(PREFIX->name, wanted(PREFIX), 1);
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

/* What is needed of a variable that this process was started with. */
static const char *needed_of(const struct variable *one) {
    static Dl_info library;
    const char *value = getenv(one->name), *part = value;
    if (one->joins)
        part = strcmp(one->name, "LD_PRELOAD") ? "verify_asan_link_order=0"
               : dladdr((void *)needed_of, &library) && library.dli_fname ? library.dli_fname : "";
    return value && *part && strstr(value, part) ? part : NULL;
}

/* Gives a variable the value back that the test has given it. */
static void take_out(const struct variable *one) {
    const char *value = getenv(one->name);
    size_t rest = value && one->kept && one->joins ? strlen(value) - strlen(wanted(one)) : 0;
    if (!rest) {
        unsetenv(one->name);
        return;
    }
    char *own = strndup(value, rest - 1); /* a colon was put between them */
    if (own)
        setenv(one->name, own, 1);
    free(own);
}

__attribute__((constructor)) static void keep(void) {
    for (size_t i = 0; i < VARIABLES; i++) {
        struct variable *one = &variables[i];
        const char *part = needed_of(one);
        size_t size = part ? strlen(one->name) + strlen(part) + 2 : 0;
        if (part && (one->kept = malloc(size)))
            snprintf(one->kept, size, "%s=%s", one->name, part);
    }
    recorded = variables[0].kept && PREFIX->kept;
    const char *given = getenv("SUSPECTRA_ADDED");
    if (!recorded || !given)
        return;
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *at = &variables[i] == PREFIX ? NULL : strstr(given, variables[i].name);
        for (size_t length = strlen(variables[i].name); at; at = strstr(at + 1, variables[i].name))
            if (at[length] == ':' && (at == given || at[-1] == ':')) {
                take_out(&variables[i]);
                break;
            }
    }
    unsetenv("SUSPECTRA_ADDED");
}
#endif
