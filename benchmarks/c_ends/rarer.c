#define _GNU_SOURCE
#include "part.h"
#include <assert.h>
#include <err.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define RAN ran[__LINE__] = 1
#define WAY(name) if (!strcmp(way, name))
static const char *way;
static int zero;
static sigjmp_buf back;
static volatile int ready;
static ucontext_t outside, inside;
static char room[1 << 16];
static int store(int n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
static void second(int number) {
    RAN; store(number);
    RAN; zero = 0;
}
static void first(int number) {
    RAN; signal(SIGUSR2, second);
    RAN; raise(SIGUSR2);
    RAN; zero = number;
}
static void leaps(int number) {
    RAN; siglongjmp(back, number);
}
static void nested(int number) {
    RAN; signal(SIGUSR2, leaps);
    RAN; raise(SIGUSR2);
    RAN; zero = number;
}
static void fine(int number) {
    RAN; ready = number;
    RAN; ready++;
}
static void reports(int number) {
    RAN; if (write(2, "crash\n", 6) < 0) zero = 1;
    RAN; signal(number, SIG_DFL);
    RAN; raise(number);
    RAN; zero = 0;
}
static void reports_and_aborts(int number) {
    RAN; zero = number;
    RAN; abort();
}
static void *aborts(void *unused) {
    RAN; store(1);
    RAN; return unused;
}
static void *really_aborts(void *unused) {
    RAN; abort();
    RAN; return unused;
}
static void *exits(void *unused) {
    RAN; exit(4);
    RAN; return unused;
}
static void *goes_on(void *unused) {
    RAN; usleep(200000);
    RAN; zero = 0;
    RAN; return unused;
}
static void *forks(void *unused) {
    RAN; if (fork() == 0) {
        RAN; store(1);
        RAN; zero = 1;
    }
    RAN; wait(0);
    RAN; return unused;
}
static int big(int n) {
    volatile char many[300000];
    RAN; many[n % 300000] = 1;
    RAN; n = big(n + 1) + many[5];
    RAN; return n;
}
static int big_steps(int n) {
    RAN; volatile char many[70000];
    RAN; many[69999] = (char)n;
    RAN; n = big_steps(n + 1);
    RAN; return n + many[1];
}
static void *overflows(void *unused) {
    RAN; big_steps(1);
    RAN; return unused;
}
static void coroutine(void) {
    RAN; ready = 1;
    RAN; swapcontext(&inside, &outside);
    RAN; ready = 2;
    RAN; store(1);
    RAN; ready = 3;
}
static void quiet_coroutine(void) {
    RAN; ready = 1;
    RAN; swapcontext(&inside, &outside);
    RAN; ready = 2;
    RAN; swapcontext(&inside, &outside);
    RAN; ready = 3;
}
static void prepare(void (*function)(void)) {
    RAN; getcontext(&inside);
    inside.uc_stack.ss_sp = room, inside.uc_stack.ss_size = sizeof room, inside.uc_link = &outside;
    RAN; makecontext(&inside, function, 0);
    RAN; swapcontext(&outside, &inside);
    RAN; ready++;
}
__attribute__((destructor)) static void at_the_end(void) {
    if (!way) return;
    WAY("assert in a destructor") {
        RAN; assert(zero == 4);
        RAN; zero = 5;
    }
}
__attribute__((constructor)) static void at_the_beginning(int count, char **words) {
    if (count > 2 && !strcmp(words[2], "a crash before main")) {
        note_in(words[1]);
        RAN; store(1);
        RAN; zero = 3;
    }
}
static inline __attribute__((always_inline)) int inlined(int n) {
    RAN; n++;
    RAN; n = store(n);
    RAN; return n;
}
static int around(int n) {
    RAN; n = inlined(n);
    RAN; return n;
}
static void fails(const char *text, ...) {
    va_list all;
    va_start(all, text);
    RAN; verrx(3, text, all);
    RAN; va_end(all);
}
static int end(int n) {
    WAY("nested handlers") {
        RAN; signal(SIGUSR1, first);
        RAN; raise(SIGUSR1);
        RAN; zero = 1;
    }
    WAY("siglongjmp out of nested handlers") {
        RAN; signal(SIGUSR1, nested);
        RAN; if (sigsetjmp(back, 1) == 0) {
            RAN; raise(SIGUSR1);
            RAN; zero = 1;
        }
        RAN; return 0;
    }
    WAY("_exit in a child of vfork") {
        RAN; pid_t child = vfork();
        RAN; if (child == 0) {
            RAN; _exit(3);
        }
        RAN; waitpid(child, &zero, 0);
        RAN; return 0;
    }
    WAY("exec in a child of vfork") {
        RAN; pid_t child = vfork();
        RAN; if (child == 0) {
            RAN; execl("/bin/true", "true", (char *)0);
            RAN; _exit(3);
        }
        RAN; waitpid(child, &zero, 0);
        RAN; return 0;
    }
    WAY("exec, and lines behind it") {
        RAN; execl("/bin/true", "true", (char *)0);
        RAN; zero = 1;
    }
    WAY("execvpe") {
        char *argv[] = {"true", 0};
        RAN; execvpe("true", argv, argv + 1);
        RAN; zero = 1;
    }
    WAY("fexecve") {
        char *argv[] = {"true", 0};
        RAN; fexecve(open("/bin/true", O_RDONLY), argv, argv + 1);
        RAN; zero = 1;
    }
    WAY("a crash in a thread that blocks all signals") {
        pthread_t thread;
        sigset_t all; sigfillset(&all);
        RAN; pthread_sigmask(SIG_BLOCK, &all, 0);
        RAN; pthread_create(&thread, 0, aborts, 0);
        RAN; pthread_join(thread, 0);
        RAN; zero = 1;
    }
    WAY("a crash in a handler that blocks all signals") {
        struct sigaction action = {0};
        action.sa_handler = second; sigfillset(&action.sa_mask);
        RAN; sigaction(SIGUSR1, &action, 0);
        RAN; raise(SIGUSR1);
        RAN; zero = 1;
    }
    WAY("a crash in a handler of a crash") {
        RAN; signal(SIGSEGV, second);
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("assert, and the handler of SIGABRT returns") {
        RAN; signal(SIGABRT, fine);
        RAN; assert(zero == 5);
        RAN; zero = 1;
    }
    WAY("a stack overflow in a thread") {
        pthread_t thread;
        RAN; pthread_create(&thread, 0, overflows, 0);
        RAN; pthread_join(thread, 0);
        RAN; zero = 1;
    }
    WAY("exec that fails") {
        RAN; execl("/bin/there/is/none", "true", (char *)0);
        RAN; zero = 1;
        RAN; store(2);
        RAN; zero = 1;
    }
    WAY("abort in a thread") {
        pthread_t thread;
        RAN; pthread_create(&thread, 0, really_aborts, 0);
        RAN; pthread_join(thread, 0);
        RAN; zero = 1;
    }
    WAY("exit in a thread") {
        pthread_t thread;
        RAN; pthread_create(&thread, 0, exits, 0);
        RAN; pthread_join(thread, 0);
        RAN; zero = 1;
    }
    WAY("a crash in one of four threads") {
        pthread_t thread[4];
        RAN; for (int i = 0; i < 4; i++) pthread_create(&thread[i], 0, i == 2 ? aborts : goes_on, 0);
        RAN; for (int i = 0; i < 4; i++) pthread_join(thread[i], 0);
        RAN; zero = 1;
    }
    WAY("pthread_exit in main") {
        pthread_t thread;
        RAN; pthread_create(&thread, 0, goes_on, 0);
        RAN; pthread_exit(0);
        RAN; zero = 1;
    }
    WAY("fork in a thread, a crash in the child") {
        pthread_t thread;
        RAN; pthread_create(&thread, 0, forks, 0);
        RAN; pthread_join(thread, 0);
        RAN; return 0;
    }
    WAY("a stack overflow by big frames") {
        RAN; n = big(1);
        RAN; zero = 1;
    }
    WAY("assert in a destructor") {
        RAN; return 0;
    }
    WAY("out of memory in small pieces") {
        struct rlimit limit = {1 << 26, 1 << 26};
        RAN; setrlimit(RLIMIT_AS, &limit);
        RAN; while ((nowhere = malloc(1000))) *nowhere = 1;
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("a coroutine that crashes") {
        RAN; prepare(coroutine);
        RAN; swapcontext(&outside, &inside);
        RAN; zero = 1;
    }
    WAY("a coroutine that waits at the end") {
        RAN; prepare(quiet_coroutine);
        RAN; swapcontext(&outside, &inside);
        RAN; return 0;
    }
    WAY("a handler that reports and raises again") {
        RAN; signal(SIGSEGV, reports);
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("a handler that reports and aborts") {
        RAN; signal(SIGSEGV, reports_and_aborts);
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("a handler that is used once") {
        struct sigaction action = {0};
        action.sa_handler = fine, action.sa_flags = SA_RESETHAND;
        RAN; sigaction(SIGSEGV, &action, 0);
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("SIGQUIT") {
        RAN; raise(SIGQUIT);
        RAN; zero = 1;
    }
    WAY("a real-time signal") {
        RAN; raise(SIGRTMIN + 3);
        RAN; zero = 1;
    }
    WAY("SIGSEGV is blocked") {
        sigset_t all; sigfillset(&all);
        RAN; sigprocmask(SIG_BLOCK, &all, 0);
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("SIGSEGV is ignored") {
        RAN; signal(SIGSEGV, SIG_IGN);
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("abort, and its handler returns") {
        RAN; signal(SIGABRT, fine);
        RAN; abort();
        RAN; zero = 1;
    }
    WAY("a crash before main") {
        RAN; zero = 1;
    }
    WAY("a double free") {
        char *volatile some = malloc(50);
        RAN; free(some);
        RAN; free(some);
        RAN; zero = 1;
    }
    WAY("a jump to nothing") {
        RAN; ((void (*)(void))8)();
        RAN; zero = 1;
    }
    WAY("a jump to data") {
        RAN; ((void (*)(void))room)();
        RAN; zero = 1;
    }
    WAY("SIGKILL by the parent") {
        pid_t child;
        RAN; child = fork();
        RAN; if (child == 0) {
            RAN; for (;;) pause();
        }
        RAN; usleep(100000);
        RAN; kill(child, SIGKILL);
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a crash in a function that is always inlined") {
        RAN; n = around(n);
        RAN; return 0;
    }
    WAY("err") {
        RAN; if (n) err(3, "no");
        RAN; return 0;
    }
    WAY("verrx") {
        RAN; fails("no %d", n);
        RAN; return 0;
    }
    WAY("error") {
        RAN; error(3, 0, "no");
        RAN; return 0;
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
