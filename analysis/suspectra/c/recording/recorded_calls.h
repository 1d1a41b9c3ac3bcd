/* The calls that are under way, and the files in which the recorder is told of them. */
#ifndef SUSPECTRA_RECORDED_CALLS_H
#define SUSPECTRA_RECORDED_CALLS_H
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

struct call {
    uintptr_t at;    /* where it goes on */
    uintptr_t frame; /* where its frame is */
    int interrupted; /* whether a signal came there, so that it had called nothing */
};

/* Whether this process is recorded, and calls that are left count. */
HIDDEN int suspectra_records_calls(void);
HIDDEN int suspectra_by_clang(void);

/* Fills in the calls under way, the innermost first; how many there are, at most `most`. */
HIDDEN int suspectra_unwind(struct call *calls, int most);

/* Opens a new file: the beginning of all names, a kind and a number. Negative if it can't be opened. */
HIDDEN int suspectra_open_calls(const char *kind, unsigned long number);
HIDDEN void suspectra_remove_calls(const char *kind, unsigned long number);
HIDDEN void suspectra_put(int descriptor, const char *text);
HIDDEN void suspectra_put_call(int descriptor, struct call call, uintptr_t times);

/* Ends a file with what is mapped where. */
HIDDEN void suspectra_close_calls(int descriptor);

/* The calls that a thread has left by longjmp() or at its end. */
HIDDEN void suspectra_write_left(void);
HIDDEN void suspectra_forget_left(void);

/* Whether the program has switched between stacks of its own. */
HIDDEN int suspectra_switched(void);

/* The other threads: stopped for a crash, or just looked at. */
HIDDEN void suspectra_stop_threads(void);
HIDDEN void suspectra_release_threads(void);
HIDDEN void suspectra_note_threads(int moved);
#endif
