/* Processes that begin without fork(), which alone tells libraries of them, and programs that begin or end by a system
 * call of their own.
 *
 * A child of vfork() has the memory, and so the counters and the stack, of its parent. How it ends is no end of its own:
 * the calls that it was in are left, and the parent goes on behind vfork().
 */
#define _GNU_SOURCE
#include "recorded_calls.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__linux__) && defined(__GLIBC__)
static pid_t own_process;
static volatile char *shared; /* 1 in the process that wrote it, and in those that share its memory; else 0 */
static volatile struct {
    uintptr_t frame, at; /* where the parent goes on */
    int open, noted;     /* whether its child has not said how it ended, and whether it left calls */
} forking;
static volatile int lost; /* whether it is not known how one ended */

/* What has the memory of another process is not told from it by more than its number. */
void suspectra_begin_process(void) {
    own_process = getpid();
    if (!shared) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED && !madvise(page, 4096, MADV_WIPEONFORK))
            shared = page;
    }
    if (shared)
        *shared = 1;
    forking.open = lost = 0;
}

int suspectra_own_process(void) {
    if (getpid() == own_process)
        return 1;
    if (!own_process || !shared || *shared)
        return 0;
    suspectra_begin_process();
    suspectra_note_process();
    return 1;
}

void suspectra_end_child(enum child_end end) {
    if (getpid() == own_process)
        return;
    if (!forking.open) {
        lost |= end == BY_SIGNAL || suspectra_by_clang(); /* it has a stack of its own */
        return;
    }
    forking.open = 0;
    forking.noted = end != BY_EXIT || suspectra_by_clang(); /* gcc knows that _exit() does not return */
    if (forking.noted)
        suspectra_note_left(forking.frame, forking.at, 1);
}

void suspectra_not_ended_child(void) {
    if (getpid() == own_process || forking.open)
        return;
    forking.open = 1;
    if (forking.noted)
        suspectra_note_left(forking.frame, forking.at, -1);
}

int suspectra_lost_child(void) { return lost || forking.open; }

/* Before vfork(), which is returned, since only what returns to the caller at once can call it. */
__attribute__((visibility("hidden"), used)) void *suspectra_vfork(uintptr_t at, uintptr_t frame) {
    if (suspectra_records_calls()) {
        lost |= forking.open;
        forking.frame = frame, forking.at = at, forking.open = 1;
    }
    return dlsym(RTLD_NEXT, "vfork");
}

#if defined(__x86_64__) && !defined(__ILP32__)
__asm__(".text\n.globl vfork\n.type vfork, @function\nvfork:\n\t"
        "movq (%rsp), %rdi\n\tleaq 8(%rsp), %rsi\n\tsubq $8, %rsp\n\t"
        "call suspectra_vfork\n\taddq $8, %rsp\n\tjmp *%rax\n.size vfork, . - vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl vfork\n.type vfork, %function\nvfork:\n\t"
        "stp x29, x30, [sp, -16]!\n\tmov x0, x30\n\tadd x1, sp, 16\n\t"
        "bl suspectra_vfork\n\tmov x16, x0\n\tldp x29, x30, [sp], 16\n\tbr x16\n.size vfork, . - vfork\n");
#endif

struct start {
    int (*work)(void *);
    void *given;
};

/* The system's own way out of such a process writes nothing. */
static int begin_clone(void *pointer) {
    struct start start = *(struct start *)pointer;
    if (suspectra_own_process())
        _exit(start.work(start.given));
    return start.work(start.given);
}

int clone(int (*work)(void *), void *stack, int flags, void *given, ...) {
    int (*real)(int (*)(void *), void *, int, void *, ...);
    struct start start = {work, given};
    va_list rest;
    va_start(rest, given);
    void *parent = va_arg(rest, void *), *local = va_arg(rest, void *), *child = va_arg(rest, void *);
    va_end(rest);
    *(void **)&real = dlsym(RTLD_NEXT, "clone");
    if (!work || flags & CLONE_VM || !suspectra_records_calls())
        return real(work, stack, flags, given, parent, local, child);
    return real(begin_clone, stack, flags, &start, parent, local, child);
}

pid_t _Fork(void) {
    pid_t (*real)(void);
    *(void **)&real = dlsym(RTLD_NEXT, "_Fork");
    pid_t process = real();
    if (process == 0)
        suspectra_own_process();
    return process;
}

static int begins_process(long number) {
#ifdef SYS_fork
    if (number == SYS_fork)
        return 1;
#endif
#ifdef SYS_clone3
    if (number == SYS_clone3)
        return 1;
#endif
    return number == SYS_clone;
}

static int begins_program(long number) { return number == SYS_execve || number == SYS_execveat; }

static long (*really(void))(long, ...) {
    static long (*real)(long, ...);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real;
}

void suspectra_end(int status) {
    for (;;)
        really()(SYS_exit_group, status);
}

long syscall(long number, ...) {
    long all[6];
    va_list rest;
    va_start(rest, number);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_exit_group)
        _exit((int)all[0]);
    if (number == SYS_exit)
        suspectra_note_end_of_thread();
    if (begins_program(number))
        suspectra_replaced(0);
    if (number == SYS_execve) /* which lets the program be recorded, too */
        return execve((const char *)all[0], (char *const *)all[1], (char *const *)all[2]);
    long result = really()(number, all[0], all[1], all[2], all[3], all[4], all[5]);
    if (begins_program(number))
        suspectra_not_replaced();
    else if (result == 0 && begins_process(number))
        suspectra_own_process();
    return result;
}
#else
static pid_t own_process;

void suspectra_begin_process(void) { own_process = getpid(); }
int suspectra_own_process(void) { return getpid() == own_process; }
void suspectra_end_child(enum child_end end) { (void)end; }
void suspectra_not_ended_child(void) {}

void suspectra_end(int status) {
    for (;;)
        syscall(SYS_exit, status);
}
#endif
