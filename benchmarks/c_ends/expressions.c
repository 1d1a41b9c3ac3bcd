#define _GNU_SOURCE
#include "part.h"
#include <alloca.h>
#include <dlfcn.h>
#include <ftw.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#define RAN ran[__LINE__] = 1
#define WAY(name) if (!strcmp(way, name))
static const char *way, *notes;
static sigjmp_buf back;
static int store(int n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
static int fine(int n) {
    RAN; return n;
}
static int compares(const void *one, const void *other) {
    RAN; int left = *(const int *)one, right = *(const int *)other;
    RAN; if (left == 3) {
        RAN; left = store(left);
        RAN; left++;
    }
    RAN; return left - right;
}
static int visits(const char *path, const struct stat *status, int kind, struct FTW *at) {
    RAN; (void)status, (void)at, (void)kind;
    RAN; if (path) store(1);
    RAN; return 0;
}
static void acts(const void *node, VISIT when, int depth) {
    RAN; if (when == leaf) store(depth);
    RAN; (void)node;
}
#define SEVERAL(n)            \
    do {                      \
        if (n) {              \
            n++;              \
            *nowhere = 1;     \
            n--;              \
        }                     \
    } while (0)
static int falls(int n) {
    RAN; switch (n) {
    case 1:
        RAN; n += 1; /* fall through */
    case 2:
        RAN; n = store(n); /* fall through */
    case 3:
        RAN; n += 3;
        RAN; break;
    default:
        RAN; n = 9;
    }
    RAN; return n;
}
static int duff(int n, int count) {
    RAN; switch (count % 4) {
    case 0: do {
            RAN; n++; /* fall through */
    case 3:
            RAN; n++; /* fall through */
    case 2:
            RAN; if (count < 4) n = store(n); /* fall through */
    case 1:
            RAN; n++;
        } while ((count -= 4) > 0);
    }
    RAN; return n;
}
static int logical(int n, int deadly) {
    RAN; n = (
        (RAN, fine(n)) &&
        (RAN, deadly == 1 ? store(n) : 1) &&
        (RAN, fine(1)) ||
        (RAN, fine(0))) ?
        (RAN, store(3)) :
        (RAN, fine(4));
    RAN; return n;
}
static int arguments(int one, int two, int three) {
    RAN; return one + two + three;
}
static int of_arguments(int n) {
    RAN; n = arguments(
        (RAN, fine(1)),
        (RAN, store(n)),
        (RAN, fine(3)));
    RAN; return n;
}
static int statement(int n) {
    RAN; n = fine(({
        RAN; int inner = fine(n);
        RAN; inner = store(inner);
        RAN; inner;
    }));
    RAN; return n;
}
static int in_for(int n) {
    RAN; for (int i = 0; i < 3; i += i == 1 ? store(i) : 1) {
        RAN; n += i;
    }
    RAN; return n;
}
static int in_while(int n) {
    RAN; while (n++ < 3 || store(n)) {
        RAN; fine(n);
    }
    RAN; return n;
}
static int in_do(int n) {
    RAN; do {
        RAN; if (n == 2) continue;
        RAN; fine(n);
    } while (n++ < 2 || store(n));
    RAN; return n;
}
static int gotos(int n) {
    RAN; goto middle;
first:
    RAN; n = store(n);
    RAN; goto last;
middle:
    RAN; n++;
    RAN; if (n < 3) goto middle;
    RAN; goto first;
last:
    RAN; return n;
}
static int varies(int count, ...) {
    RAN; va_list list;
    RAN; va_start(list, count);
    RAN; int sum = 0;
    RAN; for (int i = 0; i < count; i++) {
        RAN; sum += va_arg(list, int);
        RAN; if (sum > 2) store(sum);
    }
    RAN; va_end(list);
    RAN; return sum;
}
struct pair { int one, two; };
static struct pair pairs(int n) {
    RAN; struct pair both = {n, store(n)};
    RAN; return both;
}
static void cleans(int *n) {
    RAN; if (*n > 1) store(*n);
    RAN; *n = 0;
}
static int cleaned(int n) {
    RAN; { __attribute__((cleanup(cleans))) int own = n + 1;
        RAN; fine(own);
    }
    RAN; return n;
}
static void ends(void) {
    RAN; fine(1);
    RAN; store(1);
    RAN; fine(2);
}
static void *thread(void *n) {
    RAN; fine(1);
    RAN; if (n) _Exit(3);
    RAN; return n;
}
static int c11(void *n) {
    RAN; fine(1);
    RAN; if (!n) store(1);
    RAN; return 0;
}
static void leaves(int number) {
    RAN; siglongjmp(back, number);
}
static void writes(int number) {
    RAN; if (number) store(number);
    RAN; return;
}
static int deep(int n, int most) {
    RAN; if (n == most) return store(n);
    RAN; int below = deep(n + 1, most) + (n % 2 ? fine(n) : 1);
    RAN; return below;
}
static int big(int n) {
    RAN; char *room = alloca(1 << 16);
    RAN; memset(room, n, 1 << 16);
    RAN; return big(n + 1) + room[n];
}
static int end(int n) {
    RAN; int numbers[] = {4, 1, 3, 2};
    WAY("a crash in a comparison of qsort") {
        RAN; qsort(numbers, 4, sizeof *numbers, compares);
        RAN; return 0;
    }
    WAY("a crash in a comparison of bsearch") {
        RAN; n = bsearch(numbers + 2, numbers, 4, sizeof *numbers, compares) != 0;
        RAN; return n;
    }
    WAY("a crash in a callback of nftw") {
        RAN; nftw(".", visits, 4, FTW_PHYS);
        RAN; return 0;
    }
    WAY("a crash in a callback of twalk") {
        void *root = 0;
        RAN; tsearch(numbers, &root, compares);
        RAN; twalk(root, acts);
        RAN; return 0;
    }
    WAY("a crash in a macro of several lines") {
        RAN; SEVERAL(n);
        RAN; return 0;
    }
    WAY("a crash in a switch, fallen through") {
        RAN; n = falls(1);
        RAN; return n;
    }
    WAY("a crash in a switch, entered there") {
        RAN; n = falls(2);
        RAN; return n;
    }
    WAY("a crash in the second round of Duff's device") {
        RAN; n = duff(1, 7);
        RAN; return n;
    }
    WAY("a crash in the middle of &&") {
        RAN; n = logical(1, 1);
        RAN; return n;
    }
    WAY("a crash behind ?") {
        RAN; n = logical(1, 0);
        RAN; return n;
    }
    WAY("no crash in && and ?") {
        RAN; n = logical(0, 0);
        RAN; return n;
    }
    WAY("a crash in an argument of several lines") {
        RAN; n = of_arguments(1);
        RAN; return n;
    }
    WAY("a crash in a statement expression") {
        RAN; n = statement(1);
        RAN; return n;
    }
    WAY("a crash in the step of a for") {
        RAN; n = in_for(1);
        RAN; return n;
    }
    WAY("a crash in the condition of a while") {
        RAN; n = in_while(1);
        RAN; return n;
    }
    WAY("a crash in the condition of a do") {
        RAN; n = in_do(1);
        RAN; return n;
    }
    WAY("a crash behind gotos") {
        RAN; n = gotos(1);
        RAN; return n;
    }
    WAY("a crash in a variadic function") {
        RAN; n = varies(3, 1, 2, 3);
        RAN; return n;
    }
    WAY("a crash in an initializer") {
        RAN; struct pair both = pairs(1);
        RAN; return both.one;
    }
    WAY("a crash in a cleanup") {
        RAN; n = cleaned(1);
        RAN; return n;
    }
    WAY("a crash in a function of atexit") {
        RAN; atexit(ends);
        RAN; return 0;
    }
    WAY("a crash in a function of at_quick_exit") {
        RAN; at_quick_exit(ends);
        RAN; quick_exit(1);
    }
    WAY("_Exit in a thread") {
        pthread_t other;
        RAN; pthread_create(&other, 0, thread, &other);
        RAN; for (;;) pause();
    }
    WAY("a crash in a thread of C11") {
        thrd_t other;
        RAN; thrd_create(&other, c11, 0);
        RAN; thrd_join(other, 0);
        RAN; return 0;
    }
    WAY("a crash after longjmp out of a handler") {
        RAN; if (!sigsetjmp(back, 1)) {
            RAN; signal(SIGUSR1, leaves);
            RAN; raise(SIGUSR1);
            RAN; return 0;
        }
        RAN; store(1);
        RAN; return 0;
    }
    WAY("a crash in a handler of a timer") {
        RAN; struct itimerval soon = {{0, 0}, {0, 10000}};
        RAN; signal(SIGALRM, writes);
        RAN; setitimer(ITIMER_REAL, &soon, 0);
        RAN; for (;;) pause();
    }
    WAY("a crash at depth") {
        RAN; n = deep(0, 500);
        RAN; return n;
    }
    WAY("a stack overflow by alloca") {
        RAN; n = big(0);
        RAN; return n;
    }
    WAY("SIGPIPE") {
        int ends_of[2];
        RAN; if (pipe(ends_of)) return 9;
        RAN; close(ends_of[0]);
        RAN; n = (int)write(ends_of[1], "x", 1);
        RAN; return n;
    }
    WAY("SIGXCPU") {
        RAN; raise(SIGXCPU);
        RAN; return 0;
    }
    WAY("out of memory, unchecked") {
        RAN; struct rlimit little = {64 << 20, 64 << 20};
        RAN; setrlimit(RLIMIT_AS, &little);
        RAN; char *room = malloc(256 << 20);
        RAN; room[n] = 1;
        RAN; return 0;
    }
    WAY("fork, and the parent does not wait") {
        RAN; if (!fork()) {
            RAN; fine(1);
            RAN; store(1);
            RAN; _exit(0);
        }
        RAN; usleep(100000);
        RAN; return 0;
    }
    WAY("fork, and the parent crashes") {
        RAN; int child = fork();
        RAN; if (child) {
            RAN; waitpid(child, 0, 0);
            RAN; store(1);
        }
        RAN; fine(1);
        RAN; return 0;
    }
    WAY("fork in a loop, each child exits elsewhere") {
        RAN; for (int i = 0; i < 3; i++) {
            RAN; int child = fork();
            RAN; if (!child) {
                RAN; if (i == 1) store(i);
                RAN; if (i == 2) _exit(2);
                RAN; exit(0);
            }
            RAN; waitpid(child, 0, 0);
        }
        RAN; return 0;
    }
    WAY("another working folder, then a crash") {
        RAN; if (chdir("/")) return 9;
        RAN; store(1);
        RAN; return 0;
    }
    WAY("no environment, then a crash") {
        RAN; clearenv();
        RAN; store(1);
        RAN; return 0;
    }
    WAY("no environment, exec, then a crash") {
        RAN; fine(1);
        RAN; clearenv();
        RAN; execl("./program", "program", notes, "a crash in a variadic function", (char *)0);
        RAN; return 0;
    }
    WAY("a crash in a library that is loaded") {
        RAN; void *library = dlopen("./loaded.so", RTLD_NOW);
        int (*loaded)(int) = (int (*)(int))dlsym(library, "loaded_store");
        RAN; n = loaded(n);
        RAN; return n;
    }
    WAY("a library that is loaded, and closed") {
        RAN; void *library = dlopen("./loaded.so", RTLD_NOW);
        int (*loaded)(int) = (int (*)(int))dlsym(library, "loaded_fine");
        RAN; n = loaded(n);
        RAN; dlclose(library);
        RAN; store(1);
        RAN; return n;
    }
    WAY("a crash of the main thread, others in functions") {
        pthread_t other;
        RAN; pthread_create(&other, 0, (void *(*)(void *))(void *)pause, 0);
        RAN; store(1);
        RAN; return 0;
    }
    WAY("popen of a shell that starts it") {
        RAN; FILE *stream = popen("exit 3", "r");
        RAN; n = pclose(stream);
        RAN; store(n);
        RAN; return 0;
    }
    WAY("ud2") {
        RAN; fine(1);
        RAN; __builtin_trap();
    }
    WAY("a misaligned or unmapped free") {
        RAN; free((void *)(nowhere + 0x10));
        RAN; return 0;
    }
    WAY("abort below several calls") {
        RAN; n = fine(1) + (n ? fine(n) : 0);
        RAN; if (n > 1) abort();
        RAN; return 0;
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(notes = words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
