/* Calls that end although the process goes on: by longjmp(), or with their thread.
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

#define MAX_CALLS (1 << 14)
#define MAX_PLACES 1024
static struct call stack[MAX_CALLS];
static struct {
    struct call call;
    uintptr_t ended, going_on; /* how often */
} places[MAX_PLACES];
static int count;
static volatile int busy, missed, cancelled, switched;

static void add(struct call call, int ended, int times) {
    int at = 0;
    while (at < count && (places[at].call.at != call.at || places[at].call.interrupted != call.interrupted))
        at++;
    if (at == MAX_PLACES) {
        missed = 1;
        return;
    }
    if (at == count) {
        places[count].ended = places[count].going_on = 0;
        places[count++].call = call;
    }
    *(ended ? &places[at].ended : &places[at].going_on) += (uintptr_t)times;
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
                add(stack[i], 1, 1);
            if (end > begin)
                add((struct call){at, 0, 0}, 0, 1);
        }
    }
    __sync_lock_release(&busy);
}

/* The calls of a child of vfork(), which has the stack of its parent, out to the one that forked, where that goes on. */
void suspectra_note_left(uintptr_t frame, uintptr_t at, int times) {
    int all = suspectra_unwind(stack, MAX_CALLS), from = first_interrupted(all);
    for (int i = from == all ? 0 : from; i < all && stack[i].frame <= frame; i++)
        add(stack[i], 1, times);
    add((struct call){at, 0, 0}, 0, times);
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

void suspectra_note_end_of_thread(void) {
    if (!suspectra_records_calls() || !suspectra_by_clang())
        return;
    if (__sync_lock_test_and_set(&busy, 1)) {
        missed = 1;
        return;
    }
    int all = suspectra_unwind(stack, MAX_CALLS);
    for (int i = 0; i < all; i++)
        add(stack[i], 1, 1);
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
    int in_doubt = missed || cancelled || suspectra_lost_child() || (switched && suspectra_by_clang());
    int descriptor = count || in_doubt ? suspectra_open_calls("-left.", (unsigned long)getpid()) : -1;
    if (descriptor < 0)
        return;
    for (int i = 0; i < count; i++) {
        if (places[i].ended)
            suspectra_put_call(descriptor, places[i].call, places[i].ended);
        if (places[i].going_on) {
            suspectra_put(descriptor, "+");
            suspectra_put_call(descriptor, places[i].call, places[i].going_on);
        }
    }
    if (in_doubt)
        suspectra_put(descriptor, missed ? "?jumps\n" : suspectra_lost_child() ? "?child\n" : cancelled ? "?cancelled\n" : "?stacks\n");
    suspectra_close_calls(descriptor);
}

void suspectra_forget_left(void) { count = busy = missed = cancelled = switched = 0; }
#else
void suspectra_write_left(void) {}
void suspectra_forget_left(void) {}
int suspectra_switched(void) { return 0; }
#endif
