/* Notes the path of a program: its calls, and the basic blocks that they execute, in order.
 *
 * The program is compiled with -fsanitize-coverage=trace-pc,trace-cmp -finstrument-functions, which call the functions
 * below, and linked with this file. Each thread writes into a file of its own, which is mapped, so what was written
 * survives however the program ends. Without the environment variables below nothing is written.
 *
 * SUSPECTRA_PATH          the beginning of the files' names; the rest is a time and the number of the thread
 * SUSPECTRA_PATH_EVENTS   how many events a thread may write; then its file ends
 * SUSPECTRA_PATH_TURN     a file to be made: in the first program that makes it, a decision comes out differently
 * SUSPECTRA_PATH_AT       what decides: a block, as the distance of its address from __sanitizer_cov_trace_pc, a colon,
 *                         and which time it is executed by the first thread, from 1; 0 for each time
 * SUSPECTRA_PATH_ARMS     how it comes out: one or two times a block, a colon and another place, both as such distances;
 *                         where the block comes next by itself, execution goes on at the place
 * SUSPECTRA_PATH_VALUES   the beginning of the names of files with what comparisons had to compare
 *
 * An event is a number of 64 bits: in the lower 47 the address to which the call of a basic block returns, or that of a
 * function that is entered; then a bit that says that it is a function; then 16 bits with the number of calls that are
 * under way.
 *
 * A decision is altered by the call that records the block behind it: it returns to another place. A byte in the file
 * says what has happened: `t` for a turned decision, `l` for a program that was ended since it made too many events.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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
static char prefix[4096];
static uint64_t most, wanted_time, times;
static intptr_t wanted_block;
static struct {
    intptr_t block, place;
} arms[2];
static int turning = -1, turned; /* the file; whether it says that a decision was turned */
static uintptr_t deciding;       /* the frame of the call that makes the decision next; 0 for none */
static int wanted = -1;          /* whether anything is to be noted; -1 before that is known */
static uint32_t threads;

/* What a comparison had to compare: how often the first value was less, equal and greater, and each was below zero,
 * zero and above. Found by the address to which its call returns. */
#define SITES (1 << 16)
static struct site {
    uint64_t address;
    int64_t constant; /* the first value, where it is one */
    uint32_t has_constant, pair[3], first[3], second[3];
} *sites;

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* A process that was forked would write into the same files. */
static void forked(void) {
    wanted = 0;
    own.ended = 1;
}

static void write_maps(const char *beginning) {
    char name[sizeof prefix + 64], part[4096];
    snprintf(name, sizeof name, "%s%d.maps", beginning, (int)getpid());
    int to = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t size; to >= 0 && from >= 0 && (size = read(from, part, sizeof part)) > 0;)
        if (write(to, part, (size_t)size) != size)
            break;
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
}

/* A distance, and what follows behind the colon. */
static intptr_t distance(const char **text) {
    char *end;
    intptr_t found = (intptr_t)strtoll(*text, &end, 10);
    *text = *end ? end + 1 : end;
    return found;
}

static void limit(int what, rlim_t most) {
    struct rlimit now;
    if (!getrlimit(what, &now) && (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)) {
        now.rlim_cur = now.rlim_max = most;
        setrlimit(what, &now);
    }
}

static void begin_turning(void) {
    const char *file = getenv("SUSPECTRA_PATH_TURN"), *at = getenv("SUSPECTRA_PATH_AT"), *to = getenv("SUSPECTRA_PATH_ARMS");
    if (!file || !at || !to)
        return;
    turning = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (turning < 0)
        return;
    limit(RLIMIT_AS, (rlim_t)8 << 30); /* what goes astray may take all there is */
    limit(RLIMIT_FSIZE, (rlim_t)64 << 20);
    limit(RLIMIT_CORE, 0);
    wanted_block = distance(&at);
    wanted_time = (uint64_t)distance(&at);
    for (int i = 0; i < 2 && *to; i++) {
        arms[i].block = distance(&to);
        arms[i].place = distance(&to);
    }
}

/* The table is in a file that is mapped; processes that are forked share it. */
static void begin_values(const char *beginning) {
    char name[sizeof prefix + 64];
    snprintf(name, sizeof name, "%s%d.values", beginning, (int)getpid());
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    if (!posix_fallocate(file, 0, SITES * sizeof *sites)) {
        void *table = mmap(NULL, SITES * sizeof *sites, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (table != MAP_FAILED)
            sites = table;
    }
    close(file);
    write_maps(beginning);
}

static void begin(void) {
    const char *path = getenv("SUSPECTRA_PATH");
    if (path && *path && strlen(path) < sizeof prefix)
        strcpy(prefix, path);
    most = number_of("SUSPECTRA_PATH_EVENTS", 10000000);
    begin_turning();
    path = getenv("SUSPECTRA_PATH_VALUES");
    if (path && *path && strlen(path) < sizeof prefix)
        begin_values(path);
    wanted = *prefix || turning >= 0;
    if (wanted)
        pthread_atfork(NULL, NULL, forked);
    if (*prefix)
        write_maps(prefix);
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

static void say(const char *what) {
    if (write(turning, what, 1) < 1)
        turning = -1;
}

/* Where execution goes on instead of a block in the call whose frame is given; 0 for nowhere else. */
static uintptr_t turn(uint64_t address, uintptr_t frame) {
    intptr_t block = (intptr_t)(address - (uintptr_t)__sanitizer_cov_trace_pc);
    if (own.count >= most) {
        say("l");
        kill(getpid(), SIGKILL); /* caught in a loop */
    }
    if (deciding && frame >= deciding) { /* what has a frame below is called before the decision is made */
        int here = frame == deciding;
        deciding = 0;
        for (int i = 0; i < 2; i++)
            if (here && arms[i].place && arms[i].block == block) {
                if (!turned++)
                    say("t");
                return (uintptr_t)__sanitizer_cov_trace_pc + (uintptr_t)arms[i].place;
            }
    }
    if (block == wanted_block && (++times == wanted_time || wanted_time == 0))
        deciding = frame;
    return 0;
}

/* Note an event in the call whose frame is given. Where execution goes on instead; 0 for nowhere else. */
static uintptr_t note(uint64_t address, uintptr_t frame, int entered) {
    uintptr_t place = 0;
    if (own.ended || own.busy)
        return 0;
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
            if (turning >= 0 && own.first && !entered)
                place = turn(address, frame);
        }
    }
    errno = number;
    own.busy = 0;
    return place;
}

void __sanitizer_cov_trace_pc(void) {
    uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t address = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
    uintptr_t place = note(address, (uintptr_t)__builtin_frame_address(1), 0);
    if (place)
        ((volatile uintptr_t *)frame)[1] = place; /* the address to which this call returns */
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

/* The entry of a comparison; NULL where the table is full. */
static struct site *site_of(uint64_t address) {
    uint64_t at = address * 0x9e3779b97f4a7c15u >> 48;
    for (int tried = 0; tried < 64; tried++) {
        struct site *site = &sites[(at + (uint64_t)tried) % SITES];
        uint64_t there = 0;
        if (__atomic_load_n(&site->address, __ATOMIC_RELAXED) == address ||
            __atomic_compare_exchange_n(&site->address, &there, address, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            there == address)
            return site;
    }
    return NULL;
}

/* Count what a comparison has to compare; a relation is -1, 0 or 1, and 2 for none. */
static void compared(uint64_t address, int pair, int first, int second, int has_constant, int64_t constant) {
    struct site *site = sites ? site_of(address) : NULL;
    if (!site)
        return;
    if (pair < 2)
        __atomic_add_fetch(&site->pair[pair + 1], 1, __ATOMIC_RELAXED);
    if (first < 2)
        __atomic_add_fetch(&site->first[first + 1], 1, __ATOMIC_RELAXED);
    if (second < 2)
        __atomic_add_fetch(&site->second[second + 1], 1, __ATOMIC_RELAXED);
    if (has_constant) {
        site->constant = constant;
        site->has_constant = 1;
    }
}

#define RELATION(a, b) ((a) < (b) ? -1 : (a) > (b) ? 1 : (a) == (b) ? 0 : 2)
#define COMPARED(name, type, has_constant)                                                                             \
    void __sanitizer_cov_trace_##name(type a, type b) {                                                                \
        compared((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), RELATION(a, b),                \
                 RELATION(a, 0), RELATION(b, 0), has_constant, has_constant ? (int64_t)a : 0);                         \
    }
/* whether a type has a sign is not known: as one with a sign, what fell below zero is seen in both */
COMPARED(cmp1, int8_t, 0)
COMPARED(cmp2, int16_t, 0)
COMPARED(cmp4, int32_t, 0)
COMPARED(cmp8, int64_t, 0)
COMPARED(const_cmp1, int8_t, 1)
COMPARED(const_cmp2, int16_t, 1)
COMPARED(const_cmp4, int32_t, 1)
COMPARED(const_cmp8, int64_t, 1)
COMPARED(cmpf, float, 0)
COMPARED(cmpd, double, 0)

void __sanitizer_cov_trace_switch(uint64_t value, const uint64_t *cases) {
    (void)value, (void)cases;
}
