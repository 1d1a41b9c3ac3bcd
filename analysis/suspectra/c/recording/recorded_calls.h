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

/* Whether exceptions can't be followed: the program has an unwinder of its own (-static-libgcc). */
HIDDEN int suspectra_own_unwinder(void);

/* Fills in the calls under way, the innermost first; how many there are, at most `most`. */
HIDDEN int suspectra_unwind(struct call *calls, int most);
/* The same up to the call with a frame. */
HIDDEN int suspectra_unwind_to(uintptr_t frame, struct call *calls, int most);

/* Opens a new file: the beginning of all names, a kind and a number. Negative if it can't be opened. */
HIDDEN int suspectra_open_calls(const char *kind, unsigned long number);
HIDDEN void suspectra_remove_calls(const char *kind, unsigned long number);
HIDDEN void suspectra_put(int descriptor, const char *text);
HIDDEN void suspectra_put_call(int descriptor, struct call call, uintptr_t times);

/* Ends a file with what is mapped where. */
HIDDEN void suspectra_close_calls(int descriptor);

/* Whether this process has counters of its own. A child of vfork() has those of its parent. */
HIDDEN int suspectra_own_process(void);
HIDDEN void suspectra_begin_process(void);
HIDDEN void suspectra_note_process(void);

/* The frame of the call of exit() in which a thread is; 0 if it is in none. */
HIDDEN uintptr_t suspectra_exit_frame(long thread);

/* How a child of vfork() ends: by a signal, a program that replaces it, or _exit(). */
enum child_end { BY_SIGNAL, BY_PROGRAM, BY_EXIT };
HIDDEN void suspectra_end_child(enum child_end end);
HIDDEN void suspectra_not_ended_child(void);
HIDDEN int suspectra_lost_child(void);

/* Ends the process without a profile. */
HIDDEN void suspectra_end(int status);

/* Another program is about to replace this one; and there is none that could. */
HIDDEN void suspectra_replaced(int known_to_clang);
HIDDEN void suspectra_not_replaced(void);

/* The calls that a thread has left by longjmp(), by an exception or at its end. */
HIDDEN void suspectra_note_left(uintptr_t frame, uintptr_t at, int times);
HIDDEN void suspectra_note_end_of_thread(void);
HIDDEN void suspectra_write_left(void);
HIDDEN void suspectra_forget_left(void);

/* Whether the program has switched between stacks of its own. */
HIDDEN int suspectra_switched(void);

/* The other threads: stopped for a crash, or just looked at. */
HIDDEN void suspectra_stop_threads(void);
HIDDEN void suspectra_release_threads(void);
HIDDEN void suspectra_note_threads(int moved);
#endif
