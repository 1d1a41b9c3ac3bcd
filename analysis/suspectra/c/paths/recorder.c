/* Notes the path of a program: its calls, and the basic blocks that they execute, in order.
 *
 * The program is compiled with -fsanitize-coverage=trace-pc,trace-cmp -finstrument-functions, which call the functions
 * below, and linked with this file. Each thread writes into a file of its own, which is mapped, so what was written
 * survives however the program ends. Without the environment variables below nothing is written.
 *
 * SUSPECTRA_PATH          the beginning of the files' names; the rest is a time and the number of the thread
 * SUSPECTRA_PATH_EVENTS   how many events a thread may write; then its file ends
 * SUSPECTRA_PATH_AT       a block, as the distance of its address from __sanitizer_cov_trace_pc, a colon, and which time
 *                         it is executed by the first thread, from 1; 0 for each time. Then suspectra_path_stop is called
 * SUSPECTRA_PATH_VALUES   a file for the operands of the comparisons in that block, instead of that call
 *
 * An event is a number of 64 bits: in the lower 47 the address to which the call of a basic block returns, or that of a
 * function that is entered; then a bit that says that it is a function; then 16 bits with the number of calls that are
 * under way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wframe-address" /* the callers have frames: -fno-omit-frame-pointer */

#define WINDOW (1 << 20) /* bytes that are mapped at a time */
#define MAX_DEPTH 65535
#define ENTERED ((uint64_t)1 << 47)

struct recorder {
    uint64_t *next, *end; /* of the window; both NULL before the first and after the last one */
    uintptr_t *frames;    /* of the calls that are under way */
    uint32_t depth;
    uint64_t count;       /* events */
    int file, ended, busy, first;
};

static __thread struct recorder own;
static char prefix[4096], values[4096];
static uint64_t most, wanted_time, times;
static intptr_t wanted_block;
static int looking, there; /* for a block; whether it was the last one */
static int wanted = -1; /* whether anything is to be noted; -1 before that is known */
static uint32_t threads;

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* A process that was forked would write into the same files. */
static void forked(void) {
    wanted = 0;
    own.ended = 1;
}

static void write_maps(void) {
    char name[sizeof prefix + 64], part[4096];
    snprintf(name, sizeof name, "%s%d.maps", prefix, (int)getpid());
    int to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t size; to >= 0 && from >= 0 && (size = read(from, part, sizeof part)) > 0;)
        if (write(to, part, (size_t)size) != size)
            break;
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
}

static void begin(void) {
    const char *path = getenv("SUSPECTRA_PATH");
    if (path && *path && strlen(path) < sizeof prefix)
        strcpy(prefix, path);
    most = number_of("SUSPECTRA_PATH_EVENTS", 10000000);
    path = getenv("SUSPECTRA_PATH_VALUES");
    if (path && *path && strlen(path) < sizeof values)
        strcpy(values, path);
    path = getenv("SUSPECTRA_PATH_AT");
    if (path && strchr(path, ':')) {
        char *time;
        looking = 1;
        wanted_block = (intptr_t)strtoll(path, &time, 10);
        wanted_time = strtoull(time + 1, NULL, 10);
    }
    wanted = *prefix || looking;
    if (wanted)
        pthread_atfork(NULL, NULL, forked);
    if (*prefix)
        write_maps();
}

/* The file of this thread; files sort by name in the order in which they were begun. */
static int new_file(void) {
    char name[sizeof prefix + 64];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(name, sizeof name, "%s%012lld%09ld-%d-%u.path", prefix, (long long)now.tv_sec, now.tv_nsec, (int)getpid(),
             __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED));
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Map the next part of the file; whether there is one. */
static int next_window(void) {
    off_t at = (off_t)(own.count * sizeof *own.next);
    if (own.end)
        munmap(own.end - WINDOW / sizeof *own.end, WINDOW);
    own.next = own.end = NULL;
    if (own.count >= most || posix_fallocate(own.file, at, WINDOW))
        return 0;
    void *window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, own.file, at);
    if (window == MAP_FAILED)
        return 0;
    own.next = window;
    own.end = own.next + WINDOW / sizeof *own.end;
    return 1;
}

static int begin_thread(void) {
    if (wanted < 0)
        begin();
    if (!wanted)
        return 0;
    own.first = __atomic_load_n(&threads, __ATOMIC_RELAXED) == 0;
    own.file = *prefix ? new_file() : -1;
    if (own.file < 0)
        __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    void *frames = mmap(NULL, (MAX_DEPTH + 1) * sizeof *own.frames, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (frames == MAP_FAILED)
        return 0;
    own.frames = frames;
    return 1;
}

static void end_thread(void) {
    own.ended = 1;
    if (own.end)
        munmap(own.end - WINDOW / sizeof *own.end, WINDOW);
    own.next = own.end = NULL;
}

void __sanitizer_cov_trace_pc(void);

/* A debugger has a breakpoint here. */
__attribute__((noinline, used)) void suspectra_path_stop(void) { __asm__ volatile("" ::: "memory"); }

/* Whether this is the time of the block that was asked for. */
static void look(uint64_t address) {
    there = (intptr_t)(address - (uintptr_t)__sanitizer_cov_trace_pc) == wanted_block &&
            (++times == wanted_time || wanted_time == 0);
    if (there && !*values)
        suspectra_path_stop();
}

/* Note an event in the call whose frame is given. */
static void note(uint64_t address, uintptr_t frame, int entered) {
    if (own.ended || own.busy)
        return;
    own.busy = 1;
    int number = errno;
    if (!own.frames && !begin_thread()) {
        end_thread();
    } else {
        /* calls end unseen by longjmp: a call that is under way has its frame below those that called it */
        while (own.depth && (entered ? own.frames[own.depth - 1] <= frame : own.frames[own.depth - 1] < frame))
            own.depth--;
        if (!own.depth || own.frames[own.depth - 1] != frame)
            own.frames[own.depth++] = frame;
        if (own.depth >= MAX_DEPTH || (own.file >= 0 && own.next == own.end && !next_window())) {
            end_thread();
        } else {
            if (own.next)
                *own.next++ = address | (entered ? ENTERED : 0) | (uint64_t)own.depth << 48;
            own.count++;
            if (looking && own.first && !entered)
                look(address);
        }
    }
    errno = number;
    own.busy = 0;
}

void __sanitizer_cov_trace_pc(void) {
    note((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), (uintptr_t)__builtin_frame_address(1), 0);
}

void __cyg_profile_func_enter(void *function, void *from) {
    note((uintptr_t)function, (uintptr_t)__builtin_frame_address(1), 1);
    (void)from;
}

void __cyg_profile_func_exit(void *function, void *from) {
    uintptr_t frame = (uintptr_t)__builtin_frame_address(1);
    if (own.frames && !own.ended && !own.busy)
        while (own.depth && own.frames[own.depth - 1] <= frame)
            own.depth--;
    (void)function, (void)from;
}

/* The operands of a comparison as text, where they were asked for. */
static void compared(const char *format, long double a, long double b) {
    if (!there || !*values || own.ended || own.busy || !own.first)
        return;
    own.busy = 1;
    int number = errno;
    char text[256];
    int file = open(values, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file >= 0) {
        int size = snprintf(text, sizeof text, format, a, b);
        if (write(file, text, (size_t)size) < size)
            own.ended = 1;
        close(file);
    }
    errno = number;
    own.busy = 0;
}

#define COMPARED(name, type, format)                                                                                 \
    void __sanitizer_cov_trace_##name(type a, type b) { compared(format " " format "\n", a, b); }
COMPARED(cmp1, int8_t, "%.0Lf")
COMPARED(cmp2, int16_t, "%.0Lf")
COMPARED(cmp4, int32_t, "%.0Lf")
COMPARED(cmp8, int64_t, "%.0Lf")
COMPARED(const_cmp1, int8_t, "%.0Lf")
COMPARED(const_cmp2, int16_t, "%.0Lf")
COMPARED(const_cmp4, int32_t, "%.0Lf")
COMPARED(const_cmp8, int64_t, "%.0Lf")
COMPARED(cmpf, float, "%.9Lg")
COMPARED(cmpd, double, "%.17Lg")

void __sanitizer_cov_trace_switch(uint64_t value, const uint64_t *cases) {
    compared("%.0Lf\n", (int64_t)value, 0);
    (void)cases;
}
