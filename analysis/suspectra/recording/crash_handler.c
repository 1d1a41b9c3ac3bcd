/* Keeps the coverage of a program that crashes.
 *
 * A program built with --coverage writes its profile when it exits; one that a signal ends writes nothing. This file
 * installs handlers that write the profile first and then let the signal end the program as before.
 *
 * As a shared object for LD_PRELOAD it needs the program to export __gcov_dump:
 *     link the program with  -rdynamic -Wl,-u,__gcov_dump
 * To link it into a program instead, add this file to its sources with -DSUSPECTRA_LINKED.
 *
 * After SIGSEGV the counters are those of the arcs that were taken; what stands after the crash in the same block of
 * straight code can't be told from what stands before it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#ifdef SUSPECTRA_LINKED
extern void __gcov_dump(void);
#endif

static void (*dump)(void);
static char own_stack[1 << 17]; /* a stack overflow leaves no room on the program's own */

static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGTRAP, SIGSYS};

static void write_profile(int number) {
    static volatile sig_atomic_t begun;
    signal(number, SIG_DFL);
    if (!begun) {
        begun = 1;
        signal(SIGALRM, SIG_DFL);
        alarm(5); /* a crash inside malloc may hold a lock that the dump needs */
        dump();
        alarm(0);
    }
    raise(number);
}

__attribute__((constructor)) static void install(void) {
#ifdef SUSPECTRA_LINKED
    dump = __gcov_dump;
#else
    *(void **)&dump = dlsym(RTLD_DEFAULT, "__gcov_dump");
#endif
    if (!dump)
        return; /* not a program that was built with --coverage, or it does not export the function */
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = own_stack;
    stack.ss_size = sizeof own_stack;
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction present, handler;
        memset(&handler, 0, sizeof handler);
        handler.sa_handler = write_profile;
        handler.sa_flags = SA_ONSTACK;
        sigemptyset(&handler.sa_mask);
        if (sigaction(deadly[i], NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            sigaction(deadly[i], &handler, NULL);
    }
}
