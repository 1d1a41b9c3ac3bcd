/* Notes the values of a program in the order in which they come to be: parameters, local variables, and what is compared.
 *
 * The program is compiled with -fsanitize-coverage=trace-pc,trace-cmp -finstrument-functions, which call the functions
 * below, and linked with this file. At each basic block, call and return the variables of the function are read from
 * its frame; what has become another value is noted. Each thread writes into a file of its own, which is mapped, so what
 * was written survives however the program ends. Without the environment variables below nothing is written.
 *
 * SUSPECTRA_VALUES        the beginning of the files' names; the rest is a time and the number of the thread
 * SUSPECTRA_VALUES_TABLE  the beginning of the names of files with the variables of each function of a program, see
 *                         `struct variable`; the rest is the number of the program's file
 * SUSPECTRA_VALUES_EVENTS how many events a thread may write; then its file ends
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
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wframe-address" /* the callers have frames: -fno-omit-frame-pointer */

#define WINDOW (1 << 20) /* bytes that are mapped at a time */
#define MAX_DEPTH 65535
#define MAX_TEXT 48
#define MAX_VARIABLES (1 << 22) /* of all calls that are under way */

enum what { BLOCK = 1, ENTER, EXIT, COMPARED, VALUE, TEXT };

struct event {
    uint32_t depth; /* how many calls are under way */
    uint16_t what, kind;
    uint64_t at; /* an address; of a value the number of its variable */
    union {
        uint64_t values[6];
        char text[MAX_TEXT];
    };
};

/* They are sorted by functions. */
struct variable {
    int64_t function; /* as the distance of its address from __sanitizer_cov_trace_pc */
    int32_t place;    /* from its frame */
    uint16_t size;
    uint16_t kind; /* 0 for a number, 1 for an array of characters, 2 for a pointer to some; 4 more for a parameter */
};

struct call {
    uintptr_t frame;
    uint32_t first, count; /* its variables in the table */
    uint32_t known;        /* where their values are */
};

static __thread struct {
    char *next, *end; /* of the window; both NULL before the first and after the last one */
    struct call *calls;
    uint64_t *known; /* what the variables were when they were read last; of texts a digest */
    uint32_t depth;
    uint64_t count; /* events */
    int file, ended, busy, begun;
} own;

static char prefix[4096];
static uint64_t most;
static const struct variable *table;
static uint32_t variables, threads;
static int wanted = -1; /* whether anything is to be noted; -1 before that is known */

void __sanitizer_cov_trace_pc(void);

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

static void read_table(const char *beginning) {
    struct stat found;
    char path[sizeof prefix + 64];
    if (stat("/proc/self/exe", &found) || strlen(beginning) >= sizeof prefix)
        return;
    snprintf(path, sizeof path, "%s%llu", beginning, (unsigned long long)found.st_ino);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (!fstat(file, &found) && found.st_size > 0) {
        void *there = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (there != MAP_FAILED) {
            table = there;
            variables = (uint32_t)((size_t)found.st_size / sizeof *table);
        }
    }
    close(file);
}

static void begin(void) {
    const char *path = getenv("SUSPECTRA_VALUES"), *given = getenv("SUSPECTRA_VALUES_TABLE"),
               *limit = getenv("SUSPECTRA_VALUES_EVENTS");
    wanted = path && *path && strlen(path) < sizeof prefix;
    if (!wanted)
        return;
    strcpy(prefix, path);
    most = limit && *limit ? strtoull(limit, NULL, 10) : 1000000;
    if (given)
        read_table(given);
    pthread_atfork(NULL, NULL, forked);
    write_maps();
}

static void *reserved(size_t size) {
    void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

/* Files sort by name in the order in which they were begun. */
static int begin_thread(void) {
    char name[sizeof prefix + 64];
    struct timespec now;
    own.begun = 1;
    if (wanted < 0)
        begin();
    if (!wanted)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(name, sizeof name, "%s%012lld%09ld-%d-%u.noted", prefix, (long long)now.tv_sec, now.tv_nsec, (int)getpid(),
             __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED));
    own.file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    own.calls = reserved((MAX_DEPTH + 1) * sizeof *own.calls);
    own.known = reserved(MAX_VARIABLES * sizeof *own.known);
    return own.file >= 0 && own.calls && own.known;
}

static void end_thread(void) {
    own.ended = 1;
    if (own.end)
        munmap(own.end - WINDOW, WINDOW);
    own.next = own.end = NULL;
}

static struct event *next_event(enum what what, uint32_t depth, uint64_t at) {
    if (own.ended)
        return NULL;
    if (own.next == own.end) {
        off_t place = (off_t)(own.count * sizeof(struct event));
        if (own.end)
            munmap(own.end - WINDOW, WINDOW);
        own.next = own.end = NULL;
        void *window = own.count >= most || posix_fallocate(own.file, place, WINDOW)
                           ? MAP_FAILED
                           : mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, own.file, place);
        if (window == MAP_FAILED) {
            end_thread();
            return NULL;
        }
        own.next = window;
        own.end = own.next + WINDOW;
    }
    struct event *found = (struct event *)own.next;
    own.next += sizeof *found;
    own.count++;
    found->depth = depth;
    found->at = at;
    found->what = (uint16_t)what;
    return found;
}

/* Read memory that may not be there, up to the end of its page; how much there is. */
static size_t read_safely(uintptr_t from, void *to, size_t size) {
    size_t left = 4096 - (from & 4095);
    struct iovec ours = {to, size}, theirs[2] = {{(void *)from, size < left ? size : left}, {(void *)(from + left), size > left ? size - left : 0}};
    ssize_t found = process_vm_readv(getpid(), &ours, 1, theirs, size > left ? 2 : 1, 0);
    return found < 0 ? 0 : (size_t)found;
}

/* The text of an array or a pointer, as far as it is kept; whether there is one. */
static int text_of(const struct variable *one, uintptr_t at, char text[MAX_TEXT]) {
    memset(text, 0, MAX_TEXT);
    if (one->kind & 1)
        memcpy(text, (const void *)at, one->size < MAX_TEXT - 1 ? one->size : MAX_TEXT - 1);
    else if (!*(const uintptr_t *)at || !read_safely(*(const uintptr_t *)at, text, MAX_TEXT - 1))
        return 0;
    char *end = memchr(text, 0, MAX_TEXT);
    memset(end, 0, (size_t)(text + MAX_TEXT - end));
    return 1;
}

/* Note what has become another value in a call; with `all` the parameters, too, whatever they are. */
static void note_values(uint32_t depth, int all) {
    struct call *call = &own.calls[depth - 1];
    for (uint32_t i = 0; i < call->count && !own.ended; i++) {
        const struct variable *one = &table[call->first + i];
        uintptr_t at = call->frame + (uintptr_t)(intptr_t)one->place;
        char text[MAX_TEXT];
        uint64_t value = 0;
        int is_text = one->kind & 3, there = 1;
        if (is_text) {
            there = text_of(one, at, text);
            value = there ? 14695981039346656037u : 0;
            for (int k = 0; there && k < MAX_TEXT; k++)
                value = (value ^ (unsigned char)text[k]) * 1099511628211u;
        } else {
            memcpy(&value, (const void *)at, one->size < sizeof value ? one->size : sizeof value);
        }
        uint64_t *known = &own.known[call->known + i];
        if (all ? one->kind & 4 : value != *known) {
            struct event *event = next_event(is_text && there ? TEXT : VALUE, depth, call->first + i);
            if (!event)
                return;
            if (is_text && there)
                memcpy(event->text, text, MAX_TEXT);
            else
                event->values[0] = value;
        }
        *known = value;
    }
}

/* The variables of a function that is entered. */
static void find_variables(struct call *call, int64_t function, uint32_t known) {
    uint32_t low = 0, high = variables;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (table[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    call->first = low;
    call->known = known;
    for (call->count = 0; low + call->count < variables && table[low + call->count].function == function;)
        call->count++;
    if (known + call->count > MAX_VARIABLES)
        call->count = 0;
}

static void note(enum what what, uint64_t address, uint64_t from, uintptr_t frame) {
    if (own.ended || own.busy)
        return;
    own.busy = 1;
    int number = errno;
    if (!own.begun && !begin_thread())
        own.ended = 1;
    if (!own.ended) {
        /* calls end unseen by longjmp: a call that is under way has its frame below those that called it */
        while (own.depth && own.calls[own.depth - 1].frame < frame)
            own.depth--;
        if (!own.depth || own.calls[own.depth - 1].frame != frame) {
            own.calls[own.depth].count = 0;
            own.calls[own.depth].known = own.depth ? own.calls[own.depth - 1].known + own.calls[own.depth - 1].count : 0;
            own.calls[own.depth++].frame = frame;
        }
        if (own.depth >= MAX_DEPTH) {
            end_thread();
        } else if (what == ENTER) {
            if (own.depth > 1)
                note_values(own.depth - 1, 0);
            struct event *event = next_event(what, own.depth, address);
            if (event)
                event->values[0] = from;
            struct call *call = &own.calls[own.depth - 1];
            find_variables(call, (int64_t)(address - (uintptr_t)__sanitizer_cov_trace_pc), call->known);
            note_values(own.depth, 1);
        } else {
            note_values(own.depth, 0);
            next_event(what, own.depth, address);
            if (what == EXIT)
                own.depth--;
        }
    }
    errno = number;
    own.busy = 0;
}

void __sanitizer_cov_trace_pc(void) {
    note(BLOCK, (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), 0,
         (uintptr_t)__builtin_frame_address(1));
}

void __cyg_profile_func_enter(void *function, void *from) {
    note(ENTER, (uintptr_t)function, (uintptr_t)from, (uintptr_t)__builtin_frame_address(1));
}

void __cyg_profile_func_exit(void *function, void *from) {
    note(EXIT, (uintptr_t)function, 0, (uintptr_t)__builtin_frame_address(1));
    (void)from;
}

/* What a comparison compares: the bits of both, how many bytes these are, and whether they are a number with a point and
 * the first one a constant. */
static void compared(uint64_t address, uintptr_t frame, uint64_t first, uint64_t second, uint16_t kind) {
    if (own.ended || own.busy || !own.depth || own.calls[own.depth - 1].frame != frame)
        return;
    own.busy = 1;
    int number = errno;
    note_values(own.depth, 0);
    struct event *event = next_event(COMPARED, own.depth, address);
    if (event) {
        event->kind = kind;
        event->values[0] = first;
        event->values[1] = second;
    }
    errno = number;
    own.busy = 0;
}

#define COMPARING(name, type, kind)                                                                                    \
    void __sanitizer_cov_trace_##name(type a, type b) {                                                                \
        uint64_t bits[2] = {0, 0};                                                                                     \
        memcpy(&bits[0], &a, sizeof a);                                                                                \
        memcpy(&bits[1], &b, sizeof b);                                                                                \
        compared((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),                                \
                 (uintptr_t)__builtin_frame_address(1), bits[0], bits[1], sizeof a | (kind));                          \
    }
COMPARING(cmp1, int8_t, 0)
COMPARING(cmp2, int16_t, 0)
COMPARING(cmp4, int32_t, 0)
COMPARING(cmp8, int64_t, 0)
COMPARING(const_cmp1, int8_t, 16)
COMPARING(const_cmp2, int16_t, 16)
COMPARING(const_cmp4, int32_t, 16)
COMPARING(const_cmp8, int64_t, 16)
COMPARING(cmpf, float, 32)
COMPARING(cmpd, double, 32)

void __sanitizer_cov_trace_switch(uint64_t value, const uint64_t *cases) {
    (void)value, (void)cases; /* what decides is a variable, or was compared */
}
