/* Calls that end although the process goes on: by longjmp(), by an exception, or with their thread.
 *
 * They are counted by address, and written when the process ends. gcc knows which calls may not return, so of its
 * programs only those count that a signal interrupted and whose handler left them.
 */
#define _GNU_SOURCE
#include "recorded_calls.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__linux__) && defined(__GLIBC__)
#include <pthread.h>
#include <sched.h>
#include <unwind.h>

#define MAX_CALLS (1 << 14)
#define MAX_PLACES 1024
#define MAX_WAITS 100000 /* for another thread that notes its calls */
static struct call stack[MAX_CALLS];
enum { ENDED, WENT_ON, HANDLED, WAYS };
static const char *const marks[WAYS] = {"", "+", "~"};
static struct {
    struct call call;
    uintptr_t times[WAYS];
} places[MAX_PLACES];
static int count;
static volatile int busy, missed, cancelled, switched;
static __thread uintptr_t left_from; /* the innermost frame of a thread that ends, of which all calls are noted */

static void add(struct call call, int way, int times) {
    int at = 0;
    while (at < count && (places[at].call.at != call.at || places[at].call.interrupted != call.interrupted))
        at++;
    if (at == MAX_PLACES) {
        missed = 1;
        return;
    }
    if (at == count) {
        memset(places[count].times, 0, sizeof places[count].times);
        places[count++].call = call;
    }
    places[at].times[way] += (uintptr_t)times;
}

/* The stack that a jump goes back to, and where it goes on there. */
static int target_of(const struct __jmp_buf_tag *to, uintptr_t *stack_pointer, uintptr_t *at) {
#if defined(__x86_64__) && !defined(__ILP32__)
    uintptr_t hidden[2] = {(uintptr_t)to->__jmpbuf[6], (uintptr_t)to->__jmpbuf[7]};
    for (int i = 0; i < 2; i++) /* as glibc hides pointers */
        __asm__("ror $0x11, %0\n\txor %%fs:0x30, %0" : "+r"(hidden[i]));
    *stack_pointer = hidden[0], *at = hidden[1];
    return 1;
#else
    (void)to, (void)stack_pointer, (void)at;
    return 0;
#endif
}

static int first_interrupted(int all) {
    int at = 0;
    while (at < all && !stack[at].interrupted)
        at++;
    return at;
}

static void note_jump(const struct __jmp_buf_tag *to) {
    uintptr_t stack_pointer = 0, at = 0;
    if (!suspectra_records_calls())
        return;
    if (__sync_lock_test_and_set(&busy, 1)) {
        missed = 1;
        return;
    }
    int all = suspectra_unwind(stack, MAX_CALLS), by_signal = first_interrupted(all), begin = 0;
    if (by_signal < all || suspectra_by_clang()) {
        int known = target_of(to, &stack_pointer, &at), out = by_signal < all && stack[by_signal].frame <= stack_pointer;
        if (!known || all == MAX_CALLS) {
            missed = 1;
        } else if (out || suspectra_by_clang()) {
            int end = out ? by_signal : 0;
            while (end < all && stack[end].frame <= stack_pointer)
                end++;
            if (out && !suspectra_by_clang())
                begin = by_signal;
            for (int i = begin; i < end; i++)
                add(stack[i], ENDED, 1);
            if (end > begin)
                add((struct call){at, 0, 0}, WENT_ON, 1);
        }
    }
    __sync_lock_release(&busy);
}

/* The calls of a child of vfork(), which has the stack of its parent, out to the one that forked, where that goes on. */
void suspectra_note_left(uintptr_t frame, uintptr_t at, int times) {
    int all = suspectra_unwind(stack, MAX_CALLS), from = first_interrupted(all);
    for (int i = from == all ? 0 : from; i < all && stack[i].frame <= frame; i++)
        add(stack[i], ENDED, times);
    add((struct call){at, 0, 0}, WENT_ON, times);
}

#define JUMP(name)                                                                                                     \
    __attribute__((noreturn)) void name(struct __jmp_buf_tag to[1], int value) {                                       \
        void (*real)(struct __jmp_buf_tag *, int);                                                                     \
        note_jump(to);                                                                                                 \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                                     \
        real(to, value);                                                                                               \
        __builtin_unreachable();                                                                                       \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

static int wait_for_turn(void) {
    for (int waits = 0; __sync_lock_test_and_set(&busy, 1); waits++) {
        if (waits == MAX_WAITS)
            return 0; /* a signal came to this thread while it had its turn */
        sched_yield();
    }
    return 1;
}

/* These end the call that makes them as clang says: it knows that they do not return. */
static const char *const throwing[] = {"__cxa_throw", "__cxa_rethrow", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow"};
#define THROWING (int)(sizeof throwing / sizeof *throwing)

/* Which of the calls on the stack was made by what throws; `all` if none was. */
static int find_thrower(int all) {
    static uintptr_t known[THROWING]; /* where in it: to look up names takes long */
    Dl_info where;
    for (int i = 0; i + 1 < all; i++)
        for (int j = 0; j < THROWING; j++)
            if (stack[i].at == known[j])
                return i + 1;
    for (int i = 0; i + 1 < all; i++)
        for (int j = 0; j < THROWING && dladdr((void *)(stack[i].at - 1), &where) && where.dli_sname; j++)
            if (!strcmp(where.dli_sname, throwing[j])) {
                known[j] = stack[i].at;
                return i + 1;
            }
    return all;
}

/* An exception has got to a frame that handles it, or cleans up: the calls further in have ended without a counter. */
static void note_exception(uintptr_t frame) {
    if (!suspectra_records_calls() || !suspectra_by_clang())
        return;
    if (!wait_for_turn()) {
        missed = 1;
        return;
    }
    int all = suspectra_unwind_to(frame, stack, MAX_CALLS);
    if (!all || stack[all - 1].frame != frame) {
        missed = 1;
    } else if (left_from && frame > left_from) {
        add(stack[all - 1], ENDED, -1);
        left_from = frame;
    } else {
        int thrower = find_thrower(all);
        for (int i = thrower == all ? 0 : thrower + 1; i < all - 1; i++)
            add(stack[i], ENDED, 1);
        add(stack[all - 1], HANDLED, 1);
    }
    __sync_lock_release(&busy);
}

/* The unwinder that a call came from. */
static void *unwinder(const char *name, void *caller) {
    Dl_info where;
    void *found = dlsym(RTLD_NEXT, name), *library;
    if (!found && dladdr(caller, &where) && (library = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD))) {
        found = dlsym(library, name);
        dlclose(library);
    }
    return found;
}

/* So the code that knows the frames of a language says where an exception goes on. */
void _Unwind_SetIP(struct _Unwind_Context *context, uintptr_t at) {
    static void (*real)(struct _Unwind_Context *, uintptr_t);
    static uintptr_t (*frame_of)(struct _Unwind_Context *);
    if (!frame_of) {
        *(void **)&real = unwinder("_Unwind_SetIP", __builtin_return_address(0));
        *(void **)&frame_of = unwinder("_Unwind_GetCFA", __builtin_return_address(0));
    }
    if (frame_of)
        note_exception(frame_of(context));
    real(context, at);
}

void suspectra_note_end_of_thread(void) {
    if (!suspectra_records_calls() || !suspectra_by_clang())
        return;
    if (!wait_for_turn()) {
        missed = 1;
        return;
    }
    int all = suspectra_unwind(stack, MAX_CALLS);
    for (int i = 0; i < all; i++)
        add(stack[i], ENDED, 1);
    left_from = all ? stack[0].frame : 0;
    __sync_lock_release(&busy);
}

__attribute__((noreturn)) void pthread_exit(void *value) {
    void (*real)(void *);
    suspectra_note_end_of_thread();
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_exit");
    real(value);
    __builtin_unreachable();
}

int swapcontext(ucontext_t *from, const ucontext_t *to) {
    int (*real)(ucontext_t *, const ucontext_t *);
    switched = 1;
    *(void **)&real = dlsym(RTLD_NEXT, "swapcontext");
    return real(from, to);
}

int suspectra_switched(void) { return switched; }

int pthread_cancel(pthread_t thread) {
    int (*real)(pthread_t);
    cancelled |= suspectra_by_clang();
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_cancel");
    return real(thread);
}

void suspectra_write_left(void) {
    const char *unknown = missed                                    ? "?jumps\n"
                          : suspectra_lost_child()                  ? "?child\n"
                          : cancelled                               ? "?cancelled\n"
                          : switched && suspectra_by_clang()        ? "?stacks\n"
                          : suspectra_own_unwinder()                ? "?unwinder\n"
                                                                    : NULL;
    int descriptor = count || unknown ? suspectra_open_calls("-left.", (unsigned long)getpid()) : -1;
    if (descriptor < 0)
        return;
    for (int way = 0; way < WAYS; way++) /* those that ended first: the reader takes only so many */
        for (int i = 0; i < count; i++)
            if (places[i].times[way]) {
                suspectra_put(descriptor, marks[way]);
                suspectra_put_call(descriptor, places[i].call, places[i].times[way]);
            }
    if (unknown)
        suspectra_put(descriptor, unknown);
    suspectra_close_calls(descriptor);
}

void suspectra_forget_left(void) { count = busy = missed = cancelled = switched = 0; }
#else
void suspectra_write_left(void) {}
void suspectra_forget_left(void) {}
int suspectra_switched(void) { return 0; }
#endif
