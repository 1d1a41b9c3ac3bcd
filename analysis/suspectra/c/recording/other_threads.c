/* The other threads of a process that crashes: each writes where it is, and waits until the profile is written. Each has
 * a stack for the handlers of signals, as a stack overflow leaves no room on its own.
 *
 * The profile needs memory, and a thread that waits may hold its lock. So if writing takes long, the threads go on, and
 * where they are is not known.
 */
#define _GNU_SOURCE
#include "recorded_calls.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && defined(__GLIBC__)
#define MAX_CALLS (1 << 14)
#define MAX_THREADS 256
#define HANDLERS_STACK (1 << 17)
#define MAX_WAITS 10000 /* of a millisecond each, for a thread to answer */
#define MAX_BLOCKED 500 /* of them, for one that blocks signals, as each does while it starts another one */
static struct call stack[MAX_CALLS];
static int count;
static volatile long asked;
static volatile int answered, released, unknown;
static long written[MAX_THREADS];
static int threads;

/* The numbers of the other threads. */
static int others(long *numbers) {
    struct entry {
        unsigned long long inode, offset;
        unsigned short size;
        unsigned char kind;
        char name[];
    };
    static char room[1 << 15] __attribute__((aligned(8)));
    int found = 0, folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return 0;
    for (long size; (size = syscall(SYS_getdents64, folder, room, sizeof room)) > 0;)
        for (long at = 0; at < size;) {
            struct entry *entry = (struct entry *)(room + at);
            long number = strtol(entry->name, NULL, 10);
            if (number && number != syscall(SYS_gettid) && found < MAX_THREADS)
                numbers[found++] = number;
            at += entry->size;
        }
    close(folder);
    return found;
}

/* A file of a thread in /proc; how much was read. */
static size_t read_of(long number, const char *name, char *text, size_t most) {
    char path[64] = "/proc/self/task/", digits[24];
    size_t length = strlen(path), digit = 0;
    for (unsigned long rest = (unsigned long)number; rest; rest /= 10)
        digits[digit++] = (char)('0' + rest % 10);
    while (digit)
        path[length++] = digits[--digit];
    strcpy(path + length, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : read(file, text, most - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = 0;
    return size > 0 ? (size_t)size : 0;
}

static int blocks(long number, int signal) {
    static char text[4096];
    read_of(number, "/status", text, sizeof text);
    const char *mask = strstr(text, "SigBlk:");
    return mask && (strtoull(mask + strlen("SigBlk:"), NULL, 16) >> (signal - 1) & 1);
}

static void answer(int signal, siginfo_t *information, void *context) {
    if (syscall(SYS_gettid) == asked && !released) {
        count = suspectra_unwind(stack, MAX_CALLS);
        answered = 1;
    }
    while (!released)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    (void)signal, (void)information, (void)context;
}

static int unused_signal(void) {
    struct sigaction action;
    for (int signal = SIGRTMAX - 1; signal > SIGRTMIN; signal--)
        if (!sigaction(signal, NULL, &action) && action.sa_handler == SIG_DFL)
            return signal;
    return 0;
}

static void write_stack(long number) {
    int from = 0, descriptor = suspectra_open_calls("-thread.", (unsigned long)number);
    uintptr_t known = suspectra_exit_frame(number);
    while (from < count && !stack[from].interrupted)
        from++;
    for (int i = from; descriptor >= 0 && i < count && (!known || stack[i].frame <= known); i++)
        suspectra_put_call(descriptor, stack[i], 1);
    if (descriptor >= 0)
        suspectra_close_calls(descriptor);
    written[threads++] = number;
}

void suspectra_stop_threads(void) {
    static long numbers[MAX_THREADS];
    int all = others(numbers), signal = all ? unused_signal() : 0;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = answer;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    unknown = all == MAX_THREADS || (all && (!signal || sigaction(signal, &action, NULL)));
    for (int i = 0; i < all && !unknown; i++) {
        answered = 0, asked = numbers[i];
        unknown = syscall(SYS_tgkill, getpid(), numbers[i], signal) != 0;
        for (int waits = 0, blocked = 0; !unknown && !answered; waits++) {
            blocked += blocks(numbers[i], signal);
            unknown = waits == MAX_WAITS || blocked == MAX_BLOCKED;
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        }
        if (!unknown)
            write_stack(numbers[i]);
    }
}

struct start {
    void *(*work)(void *);
    void *given;
};

static pthread_key_t handlers_stack;
static pthread_once_t before_threads = PTHREAD_ONCE_INIT;

static void give_back(void *room) {
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    munmap(room, HANDLERS_STACK);
}

static void prepare_threads(void) { pthread_key_create(&handlers_stack, give_back); }

static void *begin_thread(void *allocated) {
    struct start start = *(struct start *)allocated;
    stack_t present;
    free(allocated);
    if (!sigaltstack(NULL, &present) && (present.ss_flags & SS_DISABLE)) {
        void *room = mmap(NULL, HANDLERS_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room != MAP_FAILED && !pthread_setspecific(handlers_stack, room))
            sigaltstack(&(stack_t){.ss_sp = room, .ss_size = HANDLERS_STACK}, NULL);
    }
    return start.work(start.given);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *given) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *start = suspectra_records_calls() ? malloc(sizeof *start) : NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (!start)
        return real(thread, attributes, work, given);
    pthread_once(&before_threads, prepare_threads);
    *start = (struct start){work, given};
    int failed = real(thread, attributes, begin_thread, start);
    if (failed)
        free(start);
    return failed;
}

void suspectra_release_threads(void) { released = 1; }

/* Says if it is not known where threads are: `moved` if they were never stopped. */
void suspectra_note_threads(int moved) {
    static long numbers[MAX_THREADS];
    int running = unknown || (threads && released);
    for (int i = 0, all = moved ? others(numbers) : 0; i < all && !running; i++) {
        char text[512], *state = NULL;
        if (read_of(numbers[i], "/stat", text, sizeof text))
            state = strrchr(text, ')');
        /* gcc knows that the call in which a thread sleeps may not return */
        running = state && (state[2] == 'R' || (suspectra_by_clang() && state[2] != 'Z' && state[2] != 'X'));
    }
    if (!running)
        return;
    for (int i = 0; i < threads; i++)
        suspectra_remove_calls("-thread.", (unsigned long)written[i]);
    int descriptor = suspectra_open_calls("-threads.", (unsigned long)getpid());
    if (descriptor >= 0) {
        suspectra_put(descriptor, "?threads\n");
        suspectra_close_calls(descriptor);
    }
}
#else
void suspectra_stop_threads(void) {}
void suspectra_release_threads(void) {}
void suspectra_note_threads(int moved) { (void)moved; }
#endif
