#define _GNU_SOURCE
#include "part.h"
#include <alloca.h>
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define RAN ran[__LINE__] = 1
#define WAY(name) if (!strcmp(way, name))
static const char *way;
static int zero, (*none)(int);
static sigjmp_buf back;
static volatile int ready;
static int store(int n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
static int loop(int n) {
    RAN; for (int i = 0; i < 4; i++) {
        RAN; if (i % 2) {
            RAN; n += i == 3 ? store(i) : i;
            RAN; n++;
        }
        RAN; n--;
    }
    RAN; return n;
}
static int deep(int n) {
    RAN; if (n > 0) {
        RAN; n = deep(n - 1);
        RAN; return n + 1;
    }
    RAN; n = store(n);
    RAN; return n;
}
static int forever(int n) {
    volatile char room[64];
    RAN; room[n % 64] = 1, n = n > 0 ? forever(n + 1) : forever(1 - n);
    RAN; return n + room[1];
}
static int overflow(int n) { /* n: where the stack lies */
    RAN; memset(alloca(16 * n + (unsigned long)__builtin_frame_address(0) % 4096), 0, 16 * n + 1);
    RAN; n = forever(1);
    RAN; return n;
}
static void jump(int number) {
    RAN; siglongjmp(back, number);
}
static void leave(int number) {
    RAN; exit(number);
}
static int jumps(int n) {
    RAN; if (n == 1)
        longjmp(back, 2);
    RAN; n += 1;
    RAN; return n;
}
static int carries(int n) {
    RAN; n = jumps(n);
    RAN; return n;
}
static void *computes(void *unused) {
    RAN; ready = 1;
    RAN; for (;;) { ready++; }
    RAN; return unused;
}
static void wait_long(void) {
    RAN; ready = 1;
    RAN; sleep(100);
    RAN; ready = 3;
}
static void *waits(void *unused) {
    RAN; wait_long();
    RAN; return unused;
}
static void *crashes(void *unused) {
    RAN; deep(2);
    RAN; return unused;
}
static void *ends(void *unused) {
    RAN; pthread_exit(0);
    RAN; return unused;
}
static void damages(int n) {
    RAN; void **here = (void **)__builtin_frame_address(0);
    RAN; here[0] = (void *)8, here[1] = (void *)8;
    RAN; *nowhere = (char)n;
    RAN; n = 3;
}
static int after(const void *a, const void *b) {
    RAN; int order = *(const int *)a - *(const int *)b;
    RAN; order += *nowhere;
    RAN; return order;
}
static void at_end(void) {
    RAN; store(3);
    RAN; zero = 0;
}
static int child(void) {
    RAN; int status = 0;
    RAN; pid_t pid = fork();
    RAN; if (pid == 0) {
        WAY("a crash in a forked process") {
            RAN; deep(1);
        }
        WAY("_exit in a forked process") {
            RAN; _exit(3);
        }
        WAY("exit in a forked process") {
            RAN; exit(3);
        }
        RAN; kill(getpid(), SIGKILL);
        RAN; status = 2;
    }
    RAN; waitpid(pid, &status, 0);
    RAN; return status != 0;
}
static void thread(void *(*work)(void *)) {
    pthread_t number;
    RAN; pthread_create(&number, 0, work, 0);
    RAN; while (work == waits || work == computes ? !ready : 0) {}
    WAY("pthread_cancel") {
        RAN; pthread_cancel(number);
    }
    RAN; if (work == ends || *way == 'p') pthread_join(number, 0);
    RAN; while (work == crashes) { sleep(1); }
    RAN; ready = 1;
}
static int end(int n) {
    WAY("exit") {
        RAN; exit(3);
    }
    WAY("exit in a handler of a signal") {
        RAN; signal(SIGSEGV, leave);
        RAN; store(1);
    }
    WAY("quick_exit") {
        RAN; quick_exit(3);
    }
    WAY("_exit") {
        RAN; _exit(3);
    }
    WAY("_Exit") {
        RAN; _Exit(3);
    }
    WAY("exec") {
        RAN; execl("/bin/true", "true", (char *)0);
    }
    WAY("SIGSEGV") {
        RAN; n = store(1);
    }
    WAY("SIGSEGV in a loop") {
        RAN; n = loop(1);
    }
    WAY("SIGSEGV in a recursion") {
        RAN; n = deep(3);
    }
    WAY("SIGFPE") {
        RAN; n = 5 / zero;
    }
    WAY("SIGILL") {
        RAN; __builtin_trap();
    }
    WAY("SIGTERM") {
        RAN; raise(SIGTERM);
    }
    WAY("SIGALRM") {
        RAN; alarm(1);
        RAN; pause();
    }
    WAY("its own default action") {
        RAN; signal(SIGSEGV, SIG_DFL);
        RAN; n = store(1);
    }
    WAY("abort") {
        RAN; abort();
    }
    WAY("assert") {
        RAN; assert(n == 77);
    }
    WAY("a crash in a header") {
        RAN; n = header_store(1);
    }
    WAY("a crash in a shared library") {
        RAN; n = library_store(1);
    }
    WAY("a crash in a callback of a library") {
        RAN; n = library_calls(deep, 1);
    }
    WAY("a crash in a callback of the system") {
        int of[3] = {3, 1, 2};
        RAN; qsort(of, 3, sizeof *of, after);
    }
    WAY("a crash in a handler of a signal") {
        RAN; signal(SIGUSR1, (void (*)(int))deep);
        RAN; raise(SIGUSR1);
    }
    WAY("a crash behind main") {
        RAN; atexit(at_end);
        RAN; return 0;
    }
    WAY("a null pointer that is called") {
        RAN; n = none(1);
    }
    WAY("a stack overflow") {
        RAN; n = overflow(0);
    }
    WAY("a stack overflow, another place") {
        RAN; n = overflow(3);
    }
    if (strstr(way, "forked process")) {
        RAN; n = child();
        RAN; return 0;
    }
    WAY("its time limit, computing") {
        RAN; for (;;) { zero++; }
    }
    WAY("its time limit, sleeping") {
        RAN; wait_long();
    }
    WAY("a crash in a thread") {
        RAN; thread(crashes);
    }
    WAY("a crash, another thread computes") {
        RAN; thread(computes);
        RAN; store(1);
    }
    WAY("a crash, another thread sleeps") {
        RAN; thread(waits);
        RAN; store(1);
    }
    WAY("return, another thread sleeps") {
        RAN; thread(waits);
        RAN; return 0;
    }
    WAY("return, another thread computes") {
        RAN; thread(computes);
        RAN; return 0;
    }
    WAY("pthread_exit") {
        RAN; thread(ends);
        RAN; return 0;
    }
    WAY("pthread_cancel") {
        RAN; thread(waits);
        RAN; return 0;
    }
    WAY("longjmp") {
        RAN; if (setjmp(back) == 0) {
            RAN; n = carries(1);
            RAN; n = 7;
        }
        RAN; return 0;
    }
    WAY("siglongjmp from below") {
        RAN; signal(SIGSEGV, jump);
        RAN; if (sigsetjmp(back, 1) == 0) {
            RAN; n = deep(3);
            RAN; n = 4;
        }
        RAN; return 0;
    }
    WAY("siglongjmp from the same function, several times") {
        RAN; signal(SIGSEGV, jump);
        for (volatile int i = 0; i < 3; i++) {
            RAN; if (sigsetjmp(back, 1) == 0) {
                RAN; *nowhere = 1;
                RAN; n = 4;
            }
            RAN; n++;
        }
        RAN; return 0;
    }
    WAY("siglongjmp, then a crash") {
        RAN; signal(SIGSEGV, jump);
        RAN; if (sigsetjmp(back, 1) == 0) {
            RAN; n = deep(3);
            RAN; n = 4;
        }
        RAN; signal(SIGSEGV, SIG_DFL);
        RAN; n = deep(2);
    }
    WAY("a damaged stack") {
        RAN; damages(1);
    }
    WAY("SIGKILL") {
        RAN; kill(getpid(), SIGKILL);
    }
    WAY("a system call of its own") {
        RAN; syscall(SYS_exit_group, 3);
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
