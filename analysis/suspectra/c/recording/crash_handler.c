/* Keeps the coverage of a program that crashes.
 *
 * A program built with --coverage writes its profile when it exits; one that a signal or _exit() ends writes nothing.
 * This file installs handlers that write the profile first and then let the signal end the program as before, and an
 * _exit() that does so, too: frameworks that run each test in a process of its own end it in this way.
 *
 * As a shared object for LD_PRELOAD it takes __gcov_dump where the program exports it. Where it does not, the symbol
 * tables of the program and of its libraries are read for __gcov_exit, which every object of gcc calls at its end, or for
 * __gcov_dump, which those of clang have; only stripped programs hide that. For those, add this file to their sources
 * with -DSUSPECTRA_LINKED.
 *
 * Where SUSPECTRA_CALLS names a file, the addresses of the calls that are under way go into one with this name and the
 * number of the process, and what is mapped where. Nothing is looked up in the crashing program: the program that reads
 * the file finds the lines. For a program of clang the same goes for exit(), with "-exit" behind the name: gcc knows
 * which calls may not return, and counts accordingly. It does not know that of exec(). A file with
 * "-open" behind the name is there as long as a process has written no profile, and one with "-measured" names the program
 * and its libraries that have profiles.
 */
#define _GNU_SOURCE
#include "recorded_calls.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__linux__) && defined(__GLIBC__)
#include <ucontext.h>
#include <unwind.h>
#define KNOWS_CALLS
#endif

#ifdef SUSPECTRA_LINKED
extern void __gcov_dump(void);
void suspectra_end(int status) {
#ifdef SYS_exit_group
    syscall(SYS_exit_group, status);
#endif
    for (;;)
        syscall(SYS_exit, status);
}
#define suspectra_write_left() ((void)0)
#define suspectra_forget_left() ((void)0)
#define suspectra_stop_threads() ((void)0)
#define suspectra_release_threads() ((void)0)
#define suspectra_note_threads(moved) ((void)0)
#define suspectra_switched() 0
#define suspectra_end_child(end) ((void)0)
#define suspectra_not_ended_child() ((void)0)
#define suspectra_begin_process() ((void)(own_process = getpid()))
#define suspectra_own_process() (getpid() == own_process)
static pid_t own_process;
#endif
#ifdef __linux__
#include <link.h>
#endif
#if !defined(SUSPECTRA_LINKED) && defined(__linux__)
#include <elf.h>
#include <sys/stat.h>
#endif

#define MAX_DUMPS 64
#define ROOM (1 << 21) /* bytes; the profiling runtime needs less */
#define MAX_CALLS (1 << 18) /* a stack of 8 MiB has no more */
#define FULL_CALLS 100      /* those further out are counted by address */
#define MAX_COUNTED 512

static int armed, opened; /* whether handlers are installed, and libraries may have been loaded since */
static struct sigaction reporting[NSIG]; /* what sanitizers do at a signal */
static int sanitized;
static struct {
    void (*write)(void);
    void (*between)(void), (*reset)(void); /* to go on counting after it was written; NULL where the program has none */
    int by_clang; /* whether several libraries can have one list of counters, which is written each time */
    const char *path; /* of the library; empty for the program itself, NULL if it is not known */
} dumps[MAX_DUMPS]; /* each program and shared library has a copy of libgcov of its own */
static size_t found;
static int by_clang; /* whether clang built any of them */
static int own_unwinder; /* whether one of those follows exceptions by itself */
static char own_stack[1 << 17]; /* a stack overflow leaves no room on the program's own */

#define FAULTS 4 /* of these, what the program itself causes */
static const int deadly[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL, SIGABRT, SIGTERM,   SIGTRAP, SIGSYS,  SIGALRM, SIGPIPE,
                             SIGXCPU, SIGXFSZ, SIGHUP, SIGINT, SIGQUIT, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2,
#ifdef __linux__
                             SIGIO,   SIGPWR,  SIGSTKFLT,
#endif
};

static void *room; /* kept for a program that has used up its memory */

static volatile sig_atomic_t begun, ending_by;

#ifdef KNOWS_CALLS
struct trace {
    struct call *calls;
    int count, most;
    uintptr_t outermost; /* the last frame that is wanted; 0 for all */
};

static char calls_file[4096]; /* the beginning of its name; empty for none */
static size_t calls_length;
static struct call calls[MAX_CALLS], forked_in[MAX_CALLS]; /* those under way now, and when this process was forked */
static int call_count, before_fork, went_on;
static volatile sig_atomic_t unwinding, damaged;
static void *unwound[5]; /* where to go on if the stack is damaged */
static _Unwind_Reason_Code (*unwind)(_Unwind_Trace_Fn, void *);
static uintptr_t (*address_of)(struct _Unwind_Context *, int *), (*frame_of)(struct _Unwind_Context *);

static void put(int descriptor, const char *text, size_t size) {
    while (size > 0) {
        ssize_t written = write(descriptor, text, size);
        if (written <= 0)
            return;
        text += written;
        size -= (size_t)written;
    }
}

void suspectra_put(int descriptor, const char *text) { put(descriptor, text, strlen(text)); }

static void put_number(int descriptor, uintptr_t number) {
    char text[2 * sizeof number];
    for (size_t i = sizeof text; i-- > 0; number >>= 4)
        text[i] = "0123456789abcdef"[number & 15];
    put(descriptor, text, sizeof text);
}

void suspectra_put_call(int descriptor, struct call call, uintptr_t times) {
    if (call.interrupted)
        put(descriptor, "!", 1);
    put_number(descriptor, call.at);
    if (times > 1) {
        put(descriptor, " ", 1);
        put_number(descriptor, times);
    }
    put(descriptor, "\n", 1);
}

static _Unwind_Reason_Code add_call(struct _Unwind_Context *context, void *all) {
    struct trace *trace = all;
    int interrupted = 0;
    uintptr_t at = address_of(context, &interrupted);
    struct call call = {at, frame_of(context), interrupted};
    trace->calls[trace->count++] = call;
    return trace->count == trace->most || call.frame == trace->outermost ? _URC_END_OF_STACK : _URC_NO_REASON;
}

int suspectra_unwind(struct call *found_calls, int most) { return suspectra_unwind_to(0, found_calls, most); }

int suspectra_unwind_to(uintptr_t frame, struct call *found_calls, int most) {
    struct trace trace = {found_calls, 0, most, frame};
    if (unwind && address_of && frame_of)
        unwind(add_call, &trace);
    return trace.count;
}

/* The same for a stack that may be damaged. */
static void unwind_crash(void) {
    static struct trace trace = {calls, 0, MAX_CALLS, 0};
    sigset_t faults, before;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    sigprocmask(SIG_UNBLOCK, &faults, &before);
    unwinding = 1;
    if (__builtin_setjmp(unwound) == 0) {
        if (unwind && address_of && frame_of)
            unwind(add_call, &trace);
        damaged = !suspectra_switched() && trace.count < MAX_CALLS && trace.count > 0 && calls[trace.count - 1].at != 0;
    } else {
        damaged = 1;
    }
    unwinding = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    call_count = trace.count;
}

/* Where a signal came. */
static uintptr_t interrupted_at(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* Who called what can't be executed: where a bad pointer to a function leads, there is no frame. */
static void add_callers(const ucontext_t *context) {
    uintptr_t at = 0, *frame = NULL;
#if defined(__x86_64__)
    at = *(uintptr_t *)context->uc_mcontext.gregs[REG_RSP];
    frame = (uintptr_t *)context->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
    at = (uintptr_t)context->uc_mcontext.regs[30];
    frame = (uintptr_t *)context->uc_mcontext.regs[29];
#else
    (void)context;
#endif
    while (at && call_count < MAX_CALLS) {
        struct call call = {at, 0, 0};
        calls[call_count++] = call;
        if (!frame || (uintptr_t)frame % sizeof *frame)
            return;
        at = frame[1];
        frame = frame[0] > (uintptr_t)frame ? (uintptr_t *)frame[0] : NULL;
    }
}

/* Puts a name together: the beginning of all, a kind, and a number. */
static const char *calls_name(const char *kind, unsigned long number) {
    static char name[sizeof calls_file + 64];
    char digits[3 * sizeof(long)];
    size_t count = 0, length = calls_length + strlen(kind);
    memcpy(name, calls_file, calls_length);
    memcpy(name + calls_length, kind, strlen(kind));
    for (; number; number /= 10)
        digits[count++] = (char)('0' + number % 10);
    for (size_t i = 0; i < count; i++)
        name[length + i] = digits[count - 1 - i];
    name[length + count] = 0;
    return name;
}

static unsigned long own_number(void) { return (unsigned long)getpid(); }

int suspectra_open_calls(const char *kind, unsigned long number) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    return *calls_file ? open(calls_name(kind, number), flags, 0600) : -1;
}

void suspectra_remove_calls(const char *kind, unsigned long number) {
    if (*calls_file)
        unlink(calls_name(kind, number));
}

void suspectra_close_calls(int descriptor) {
    put(descriptor, "\n", 1);
    int maps = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC); /* that of a main thread that has ended is empty */
    if (maps >= 0) {
        char part[4096];
        for (ssize_t size; (size = read(maps, part, sizeof part)) > 0;)
            put(descriptor, part, (size_t)size);
        close(maps);
    }
    close(descriptor);
}

static void find_dumps(void);
int suspectra_records_calls(void) {
    if (armed && opened)
        find_dumps();
    return found && !begun && *calls_file && suspectra_own_process();
}
int suspectra_by_clang(void) { return by_clang; }
int suspectra_own_unwinder(void) { return own_unwinder; }

static void put_calls(int descriptor, const char *mark, const struct call *all, int from, int to) {
    static struct call counted[MAX_COUNTED];
    static uintptr_t times[MAX_COUNTED];
    int some = 0;
    for (int i = from; i < to; i++) {
        if (i < from + FULL_CALLS) {
            suspectra_put(descriptor, mark);
            suspectra_put_call(descriptor, all[i], 1);
            continue;
        }
        int known = 0;
        while (known < some && counted[known].at != all[i].at)
            known++;
        if (known < MAX_COUNTED) {
            times[known] = known < some ? times[known] + 1 : 1;
            counted[known] = all[i];
            some += known == some;
        }
    }
    for (int i = 0; i < some; i++) {
        suspectra_put(descriptor, mark);
        suspectra_put_call(descriptor, counted[i], times[i]);
    }
}

static uintptr_t exit_frame; /* the call of exit() that is under way, with the calls further out written */
static long exit_thread;

/* The calls further out end there, if this is not 0. */
uintptr_t suspectra_exit_frame(long thread) { return thread == exit_thread ? exit_frame : 0; }

/* The calls of a stretch of the stack, the innermost first; an empty line, and the mappings. */
static void write_calls(const char *kind, int from, int to) {
    uintptr_t written = suspectra_exit_frame(syscall(SYS_gettid));
    while (written && to > from && calls[to - 1].frame > written)
        to--;
    int descriptor = suspectra_open_calls(kind, own_number());
    if (descriptor < 0)
        return;
    int begun_here = call_count, i = before_fork;
    for (; i > 0 && begun_here > 0 && calls[begun_here - 1].at == forked_in[i - 1].at; i--)
        begun_here--;
    put_calls(descriptor, "", calls, from, begun_here < to ? begun_here : to);
    if (by_clang && !went_on) { /* this process went on behind the others, with counters of its own */
        put_calls(descriptor, "+", forked_in, 0, i);
        went_on = 1;
    }
    if (begun_here < to) {
        put(descriptor, "-\n", 2); /* the others began in the process that forked this one */
        put_calls(descriptor, "", calls, begun_here > from ? begun_here : from, to);
    }
    if (damaged)
        suspectra_put(descriptor, "?stack\n");
    suspectra_close_calls(descriptor);
}

/* Whether, and where, a signal interrupted what is under way. */
static int first_interrupted(void) {
    int at = 0;
    while (at < call_count && !calls[at].interrupted)
        at++;
    return at;
}

static void write_crash(const siginfo_t *information, const ucontext_t *context) {
    unwind_crash();
    /* a sanitizer's own end is no signal, though it may come in the handler of one */
    int from = context ? first_interrupted() : 0, nowhere = context && (uintptr_t)information->si_addr == interrupted_at(context);
    if (context && (from == call_count - 1 || (from == call_count && nowhere))) {
        add_callers(context);
        damaged = damaged && !nowhere; /* the unwinder reads where the bad pointer leads */
    } else if (from == call_count) {
        from = 0;
    }
    write_calls(".", from, call_count);
}

static void write_exit(int unknown_to_gcc) {
    call_count = suspectra_unwind(calls, MAX_CALLS);
    int at = first_interrupted();
    if (by_clang || unknown_to_gcc)
        write_calls("-exit.", 0, at);
    if (at < call_count)
        write_calls(".", at, call_count); /* the handler of a signal ends the program */
}

static int in_library(uintptr_t at, const Dl_info *library) {
    Dl_info where;
    return at && dladdr((void *)(at - 1), &where) && where.dli_fbase == library->dli_fbase;
}

/* The C library calls exit() by itself, too: where main has returned, and in err(), where functions are under way. */
static void write_hidden_exit(void) {
    Dl_info library;
    int at = 0;
    if (!by_clang || exit_frame || !*calls_file || !dladdr((void *)getpid, &library))
        return;
    call_count = suspectra_unwind(calls, MAX_CALLS);
    while (at < call_count && !in_library(calls[at].at, &library))
        at++;
    while (at < call_count && in_library(calls[at].at, &library))
        at++;
    if (before_fork || (at + 1 < call_count && calls[at + 1].at)) /* not only that of _start */
        write_calls("-exit.", 0, first_interrupted());
}

static void note(const char *kind) {
    int descriptor = *calls_file ? open(calls_name(kind, own_number()), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (descriptor >= 0)
        close(descriptor);
}

static void note_open(void) { note("-open."); }

/* A program that is still noted under the number of this process was replaced without a word. */
static void note_program(void) {
    if (*calls_file && access(calls_name("-open.", own_number()), F_OK) == 0)
        note("-open.replaced.");
    note_open();
}

/* What was measured, for the recorder to find out how it was compiled. */
static void note_measured(void) {
    int descriptor = *calls_file ? open(calls_name("-measured", 0), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    for (size_t i = 0; descriptor >= 0 && i < found; i++) {
        char line[PATH_MAX + 1];
        if (!dumps[i].path || !realpath(*dumps[i].path ? dumps[i].path : "/proc/self/exe", line))
            continue;
        size_t size = strlen(line);
        line[size] = '\n';
        put(descriptor, line, size + 1);
    }
    if (descriptor >= 0)
        close(descriptor);
}

__attribute__((visibility("hidden"))) void suspectra_note_process(void) {
    if (found)
        note_open();
}

__attribute__((visibility("hidden"))) void suspectra_closed(void) {
    if (suspectra_own_process())
        suspectra_remove_calls("-open.", own_number());
}

/* Loading a library is no work for a handler. */
static void prepare_calls(void) {
    const char *file = getenv("SUSPECTRA_CALLS");
    if (file == NULL || strlen(file) >= sizeof calls_file)
        return;
    calls_length = strlen(file);
    strcpy(calls_file, file);
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW);
    if (library) {
        *(void **)&unwind = dlsym(library, "_Unwind_Backtrace");
        *(void **)&address_of = dlsym(library, "_Unwind_GetIPInfo");
        *(void **)&frame_of = dlsym(library, "_Unwind_GetCFA");
        suspectra_unwind(calls, MAX_CALLS); /* the first time it may need memory */
    }
}
#else
__attribute__((visibility("hidden"))) void suspectra_closed(void) {}
#endif

static void handle(int number, siginfo_t *information, void *context);
static void find_dumps(void);
#if !defined(SUSPECTRA_LINKED) && defined(__linux__)
void suspectra_prefix(void);
#endif

/* The program's own calls go through the functions below. */
static int really_sigaction(int number, const struct sigaction *action, struct sigaction *old) {
#ifdef SUSPECTRA_LINKED
    return sigaction(number, action, old);
#else
    static int (*real)(int, const struct sigaction *, struct sigaction *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "sigaction");
    return real(number, action, old);
#endif
}

static void set_action(int number, int by_default) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    if (by_default) {
        action.sa_handler = SIG_DFL;
    } else {
        action.sa_sigaction = handle;
        action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    }
    sigemptyset(&action.sa_mask);
    really_sigaction(number, &action, NULL);
}

#ifndef SUSPECTRA_LINKED
static int is_deadly(int number) {
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (deadly[i] == number)
            return 1;
#ifdef SIGRTMIN
    return number >= SIGRTMIN && number <= SIGRTMAX;
#else
    return 0;
#endif
}

/* What blocks a fault lets the system end the program at once, without a handler. */
static void allow_faults(sigset_t *blocked) {
    for (int i = 0; i < FAULTS; i++)
        sigdelset(blocked, deadly[i]);
}

static struct sigaction once[NSIG]; /* of handlers that the program has for one signal only */

static void handle_once(int number, siginfo_t *information, void *context) {
    set_action(number, 0);
    if (once[number].sa_flags & SA_SIGINFO)
        once[number].sa_sigaction(number, information, context);
    else
        once[number].sa_handler(number);
}

/* A program that wants the default action gets the one that keeps the profile, and takes it for the default. */
int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    int known = is_deadly(number), ours = known && armed && !begun && action;
    int by_default = ours && action->sa_handler == SIG_DFL;
    struct sigaction theirs, before = once[known ? number : 0];
    if (ours && !by_default) {
        theirs = *action;
        allow_faults(&theirs.sa_mask);
        if ((theirs.sa_flags & (int)SA_RESETHAND) && theirs.sa_handler != SIG_IGN) {
            once[number] = *action;
            theirs.sa_sigaction = handle_once;
            theirs.sa_flags = (theirs.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
        }
        action = &theirs;
    }
    int failed = really_sigaction(number, by_default ? NULL : action, old);
    if (!failed && old && old->sa_sigaction == handle) {
        old->sa_handler = SIG_DFL;
        old->sa_flags = 0;
    } else if (!failed && old && old->sa_sigaction == handle_once) {
        *old = before;
    }
    if (!failed && by_default)
        set_action(number, 0);
    return failed;
}

static void (*set_handler(int number, void (*handler)(int), int flags))(int) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

void (*signal(int number, void (*handler)(int)))(int) { return set_handler(number, handler, SA_RESTART); }

/* What signal() is where a program asks for nothing but the X/Open standard. */
void (*__sysv_signal(int number, void (*handler)(int)))(int) {
    return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

#define BLOCK(name)                                                                                                    \
    int name(int how, const sigset_t *some, sigset_t *old) {                                                           \
        static int (*real)(int, const sigset_t *, sigset_t *);                                                         \
        sigset_t others;                                                                                               \
        if (!real)                                                                                                     \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                                                 \
        if (armed && some && how != SIG_UNBLOCK) {                                                                     \
            others = *some;                                                                                            \
            allow_faults(&others);                                                                                     \
            some = &others;                                                                                            \
        }                                                                                                              \
        return real(how, some, old);                                                                                   \
    }
BLOCK(sigprocmask)
BLOCK(pthread_sigmask)

/* The system takes the default action if the program ignores SIGABRT, or its handler returns. */
__attribute__((noreturn)) void abort(void) {
    void (*real)(void);
    struct sigaction present;
    if (armed && !begun && !really_sigaction(SIGABRT, NULL, &present) && present.sa_sigaction != handle) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGABRT);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(SIGABRT);
        set_action(SIGABRT, 0);
    }
    *(void **)&real = dlsym(RTLD_NEXT, "abort");
    real();
    __builtin_unreachable();
}
#endif

/* Memory and files for the profile, which a program that ends may have used up. */
static void make_room(void) {
    static const int limited[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE};
    if (room)
        munmap(room, ROOM);
    room = NULL;
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        struct rlimit limit;
        if (getrlimit(limited[i], &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(limited[i], &limit);
        }
    }
}

/* Another thread holds what the profile needs. */
static void waited(int number) {
    set_action(number, 1);
    suspectra_release_threads();
    alarm(5);
}

static void write_profile(void) {
    begun = 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = waited;
    sigemptyset(&action.sa_mask);
    really_sigaction(SIGALRM, &action, NULL);
#if !defined(SUSPECTRA_LINKED) && defined(__linux__)
    suspectra_prefix();
#endif
    make_room();
    alarm(6); /* a crash inside malloc may hold a lock that the dump needs */
    for (size_t i = 0; i < found; i++) {
        dumps[i].write();
        if (dumps[i].by_clang && dumps[i].reset)
            dumps[i].reset();
    }
    suspectra_closed();
    alarm(0);
    suspectra_write_left();
}

/* Another program is about to replace this one. clang lets it write its profile first, where it knows the function that
 * does so, and gcc, too, but it knows fewer, and writes once. A child of vfork() writes that of its parent, which then
 * counts on from zero.
 */
void suspectra_replaced(int known_to_clang) {
    if (!found || begun)
        return;
    int own = suspectra_own_process();
    for (size_t i = 0; i < found; i++)
        if (dumps[i].by_clang && known_to_clang) {
            continue;
        } else if (dumps[i].between && dumps[i].reset) {
            dumps[i].between();
            dumps[i].reset();
        } else if (own) {
            dumps[i].write();
        }
    if (!own) {
        suspectra_end_child(BY_PROGRAM);
        return;
    }
#ifdef KNOWS_CALLS
    write_exit(1);
#endif
    suspectra_write_left();
    suspectra_closed();
}

/* There is no program that could replace it. */
void suspectra_not_replaced(void) {
    suspectra_not_ended_child();
#ifdef KNOWS_CALLS
    if (found && *calls_file && suspectra_own_process()) {
        suspectra_remove_calls("-exit.", own_number());
        went_on = 0;
        suspectra_remove_calls("-left.", own_number());
        note_open();
    }
#endif
}

static void end_by(int number) {
    sigset_t one;
    set_action(number, 1);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
}

/* A sanitizer still says what it has found, as it would without this handler. */
static void pass_on(int number, siginfo_t *information, void *context) {
    struct sigaction *own = &reporting[number];
    if (own->sa_sigaction) {
        really_sigaction(number, own, NULL);
        own->sa_sigaction(number, information, context);
    }
    end_by(number);
}

static void handle(int number, siginfo_t *information, void *context) {
#ifdef KNOWS_CALLS
    if (unwinding)
        __builtin_longjmp(unwound, 1);
#endif
    if (begun)
        end_by(ending_by ? ending_by : number);
    if (!suspectra_own_process()) {
        suspectra_end_child(BY_SIGNAL);
        end_by(number);
    }
    ending_by = number;
    make_room();
    find_dumps();
    if (!found)
        pass_on(number, information, context);
    suspectra_stop_threads();
    write_profile();
#ifdef KNOWS_CALLS
    write_crash(information, context);
#endif
    suspectra_note_threads(0);
    pass_on(number, information, context);
}

static void forked(void) {
    suspectra_begin_process();
    suspectra_forget_left();
#ifdef KNOWS_CALLS
    if (found && *calls_file) {
        before_fork = suspectra_unwind(forked_in, MAX_CALLS);
        went_on = 0;
        note_open();
    }
#endif
}

/* Before the program ends by itself, which it can do anywhere. */
static void leaving(void) {
    if (found && suspectra_own_process())
        make_room();
#ifdef KNOWS_CALLS
    if (!begun && suspectra_own_process())
        write_exit(0);
#endif
}

static void keep_profile(void) {
    if (!begun) {
        leaving();
        write_profile();
        suspectra_note_threads(1);
    }
}

static void leave(int status) {
    if (armed && suspectra_own_process()) {
        make_room();
        find_dumps();
        if (found)
            keep_profile();
    } else if (armed) {
        suspectra_end_child(BY_EXIT);
    }
    suspectra_end(status);
}

__attribute__((noreturn)) void _exit(int status) { leave(status); __builtin_unreachable(); }
__attribute__((noreturn)) void _Exit(int status) { leave(status); __builtin_unreachable(); }

#ifndef SUSPECTRA_LINKED
__attribute__((noreturn)) void exit(int status) {
    void (*real)(int);
    leaving();
#ifdef KNOWS_CALLS
    if (!exit_frame && by_clang)
        exit_frame = (uintptr_t)__builtin_frame_address(0), exit_thread = syscall(SYS_gettid);
#endif
    *(void **)&real = dlsym(RTLD_NEXT, "exit");
    real(status);
    __builtin_unreachable();
}
#endif

/* Sanitizers end a program without calling what it registered for its end. */
static void die_by_sanitizer(void) {
    if (begun)
        return;
    suspectra_stop_threads();
    write_profile();
#ifdef KNOWS_CALLS
    write_crash(NULL, NULL);
#endif
    suspectra_note_threads(0);
}

#if !defined(SUSPECTRA_LINKED) && defined(__linux__)
/* Whether `count` things of `size` bytes at `offset` lie within a file of `total` bytes. */
static int within(size_t offset, size_t count, size_t size, size_t total) {
    return offset <= total && (size == 0 || count <= (total - offset) / size);
}

/* The address of a function in the symbol table of an ELF file, 0 where it has none. */
static ElfW(Addr) address_in(const char *file, size_t size, const char *name) {
    const ElfW(Ehdr) *head = (const void *)file;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_shentsize != sizeof(ElfW(Shdr)) ||
        head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        !within(head->e_shoff, head->e_shnum, sizeof(ElfW(Shdr)), size))
        return 0;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= head->e_shnum || !within(table->sh_offset, 1, table->sh_size, size))
            continue;
        const ElfW(Shdr) *names = &sections[table->sh_link];
        if (!within(names->sh_offset, 1, names->sh_size, size))
            continue;
        const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
        size_t length = strlen(name) + 1;
        for (size_t j = 0; j < table->sh_size / sizeof *symbols; j++)
            if ((symbols[j].st_info & 0xf) == STT_FUNC && symbols[j].st_value && symbols[j].st_name < names->sh_size &&
                length <= names->sh_size - symbols[j].st_name &&
                !memcmp(file + names->sh_offset + symbols[j].st_name, name, length))
                return symbols[j].st_value;
    }
    return 0;
}

/* The file of a loaded object; MAP_FAILED if it can't be read. */
static char *map_file(const struct dl_phdr_info *object, size_t *size) {
    const char *path = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";
    struct stat status;
    char *file = MAP_FAILED;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return file;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        *size = (size_t)status.st_size;
        file = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
    return file;
}

static int look_into(struct dl_phdr_info *object, size_t unused, void *nothing) {
    size_t size;
    char *file = map_file(object, &size);
    if (file != MAP_FAILED) {
        ElfW(Addr) address = address_in(file, size, "__gcov_exit");
        int clang = !address && (address = address_in(file, size, "__gcov_dump"));
        if (address && found < MAX_DUMPS) {
            ElfW(Addr) between = clang ? address : address_in(file, size, "__gcov_dump");
            ElfW(Addr) reset = address_in(file, size, "__gcov_reset");
            by_clang |= clang;
            own_unwinder |= clang && address_in(file, size, "_Unwind_SetIP");
            dumps[found].by_clang = clang;
            dumps[found].path = object->dlpi_name ? object->dlpi_name : "";
            *(void **)&dumps[found].between = between ? (void *)(object->dlpi_addr + between) : NULL;
            *(void **)&dumps[found].reset = reset ? (void *)(object->dlpi_addr + reset) : NULL;
            *(void **)&dumps[found++].write = (void *)(object->dlpi_addr + address);
        }
        munmap(file, size);
    }
    (void)unused, (void)nothing;
    return 0;
}

struct symbol {
    const char *name;
    ElfW(Addr) address;
};

static int look_for(struct dl_phdr_info *object, size_t unused, void *symbol) {
    struct symbol *wanted = symbol;
    size_t size;
    char *file = map_file(object, &size);
    if (file != MAP_FAILED) {
        ElfW(Addr) address = address_in(file, size, wanted->name);
        if (address)
            wanted->address = object->dlpi_addr + address;
        munmap(file, size);
    }
    (void)unused;
    return wanted->address != 0;
}

/* Where a function is in the running program; 0 if it has none of this name. */
__attribute__((visibility("hidden"))) ElfW(Addr) suspectra_address(const char *name) {
    struct symbol wanted = {name, (ElfW(Addr))dlsym(RTLD_DEFAULT, name)};
    if (!wanted.address)
        dl_iterate_phdr(look_for, &wanted);
    return wanted.address;
}
#endif

static void ask(void *library) {
    void (*set_death_callback)(void (*)(void));
    if ((*(void **)&set_death_callback = dlsym(library, "__sanitizer_set_death_callback")))
        set_death_callback(die_by_sanitizer), sanitized = 1;
}

#ifdef __linux__
static int ask_library(struct dl_phdr_info *object, size_t unused, void *nothing) {
    void *library = object->dlpi_name && *object->dlpi_name ? dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (library) {
        ask(library);
        dlclose(library);
    }
    (void)unused, (void)nothing;
    return 0;
}
#endif

/* Each of several sanitizers ends the program by itself. */
static void ask_sanitizers(void) {
    ask(RTLD_DEFAULT);
#ifdef __linux__
    dl_iterate_phdr(ask_library, NULL);
#endif
}

/* Finds what writes the profiles, unless no library was loaded since that was done. */
static void find_dumps(void) {
    if (armed && !opened)
        return;
    found = 0, opened = 0;
#ifdef SUSPECTRA_LINKED
    dumps[found++].write = __gcov_dump;
#else
#ifdef __linux__
    dl_iterate_phdr(look_into, NULL);
#endif
#ifdef KNOWS_CALLS
    note_measured();
#endif
    if (!found && (*(void **)&dumps[0].write = dlsym(RTLD_DEFAULT, "__gcov_dump")))
        found = 1;
#endif
}

/* After the program has written its profile at its end. */
__attribute__((destructor)) static void ended(void) {
    if (!found || begun || !suspectra_own_process())
        return;
#ifdef KNOWS_CALLS
    write_hidden_exit();
#endif
    suspectra_write_left();
    suspectra_note_threads(1);
    suspectra_closed();
}

static void take_over(int number, int is_fault) {
    struct sigaction present;
    if (really_sigaction(number, NULL, &present) || present.sa_handler == SIG_IGN)
        return;
    if (present.sa_handler != SIG_DFL) {
        if (!sanitized || !is_fault)
            return;
        reporting[number] = present;
    }
    set_action(number, 0);
}

static void arm(void) {
    armed = 1;
    suspectra_begin_process();
#ifdef KNOWS_CALLS
    prepare_calls();
#endif
    pthread_atfork(NULL, NULL, forked);
    at_quick_exit(keep_profile);
    ask_sanitizers();
    opened = 0; /* what was loaded since was not measured */
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = own_stack;
    stack.ss_size = sizeof own_stack;
    sigaltstack(&stack, NULL);
    room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        room = NULL;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        take_over(deadly[i], i < FAULTS);
#ifdef SIGRTMIN
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        take_over(number, 0);
#endif
}

__attribute__((constructor)) static void install(void) {
    find_dumps();
    if (!found)
        return; /* not a program that was built with --coverage, or it is stripped */
    arm();
#ifdef KNOWS_CALLS
    note_program();
    note_measured();
#endif
}

#if !defined(SUSPECTRA_LINKED) && defined(__linux__)
/* A library that is loaded while the program runs may be built with --coverage. As the last thing, so that the library
 * is looked for as the caller would.
 */
static void *(*load(void))(const char *, int) {
    static void *(*real)(const char *, int);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    if (!armed && getenv("GCOV_PREFIX"))
        arm();
    opened = 1;
    return real;
}

void *dlopen(const char *file, int mode) { return load()(file, mode); }
#endif
