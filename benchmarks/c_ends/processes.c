#define _GNU_SOURCE
#include "part.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define RAN ran[__LINE__] = 1
#define WAY(name) if (!strcmp(way, name))
static const char *way;
static char **arguments;
static int zero;
static sigjmp_buf back;
static char room[1 << 16];
extern char **environ;
static int store(int n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
static void jump(int number) {
    RAN; siglongjmp(back, number);
}
static void fine(int number) {
    RAN; zero += number;
}
static void sleeps(void) {
    RAN; usleep(500000);
    RAN; zero = 3;
}
static void *stores_later(void *unused) {
    RAN; usleep(100000);
    RAN; store(1);
    RAN; return unused;
}
static void *leaves(void *unused) {
    RAN; syscall(SYS_exit, 0);
    RAN; return unused;
}
static int in_clone(void *unused) {
    RAN; store(unused != 0);
    RAN; return 0;
}
static void smashes(int n) {
    char small[8];
    RAN; memset(small, 'x', (size_t)n);
    RAN; zero = small[3];
}
static void filter(unsigned action) {
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}, {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
        {BPF_RET | BPF_K, 0, 0, action}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog program = {4, code};
    RAN; prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    RAN; prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    RAN; getppid();
    RAN; zero = 1;
}
static int end(int n) {
    WAY("it starts itself, and crashes") {
        RAN; arguments[2] = "as itself";
        RAN; execv("/proc/self/exe", arguments);
        RAN; zero = 1;
    }
    WAY("it starts itself by a system call, and crashes") {
        RAN; arguments[2] = "as itself";
        RAN; syscall(SYS_execve, "/proc/self/exe", arguments, environ);
        RAN; zero = 1;
    }
    WAY("as itself") {
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("a child by clone as a system call, which crashes") {
        RAN; int child = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        RAN; if (child == 0) {
            RAN; store(1);
            RAN; zero = 1;
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a child by clone as a system call, which exits") {
        RAN; int child = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        RAN; if (child == 0) {
            RAN; exit(2);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a child by clone as a system call, which calls _exit") {
        RAN; int child = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        RAN; if (child == 0) {
            RAN; _exit(2);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a child by clone as a system call, and SIGKILL") {
        RAN; int child = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        RAN; if (child == 0) {
            RAN; kill(getpid(), SIGKILL);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a child by clone, which crashes") {
        RAN; int child = clone(in_clone, room + sizeof room, SIGCHLD, 0);
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a child by clone with the same memory, which crashes") {
        RAN; int child = clone(in_clone, room + sizeof room, CLONE_VM | SIGCHLD, 0);
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("SIGKILL of a child of vfork") {
        RAN; pid_t child = vfork();
        RAN; if (child == 0) {
            RAN; kill(getpid(), SIGKILL);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("SIGTERM of a child of vfork") {
        RAN; pid_t child = vfork();
        RAN; if (child == 0) {
            RAN; raise(SIGTERM);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a crash in a child of vfork") {
        RAN; pid_t child = vfork();
        RAN; if (child == 0) {
            RAN; store(1);
            RAN; _exit(1);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("exec in a child of vfork that fails") {
        RAN; pid_t child = vfork();
        RAN; if (child == 0) {
            RAN; execl("/there/is/none", "none", (char *)0);
            RAN; _exit(1);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a thread crashes while main exits") {
        pthread_t thread;
        RAN; atexit(sleeps);
        RAN; pthread_create(&thread, 0, stores_later, 0);
        RAN; exit(0);
    }
    WAY("a thread leaves by a system call") {
        pthread_t thread;
        RAN; pthread_create(&thread, 0, leaves, 0);
        RAN; usleep(100000);
        RAN; return 0;
    }
    WAY("a jump out of a handler, then exit") {
        RAN; signal(SIGSEGV, jump);
        RAN; if (sigsetjmp(back, 1) == 0) {
            RAN; store(1);
            RAN; zero = 1;
        }
        RAN; exit(3);
    }
    WAY("daemon") {
        RAN; if (daemon(1, 1)) {
            RAN; zero = 1;
        }
        RAN; return 0;
    }
    WAY("daemon, and a crash") {
        RAN; if (daemon(1, 1)) {
            RAN; zero = 1;
        }
        RAN; store(1);
        RAN; return 0;
    }
    WAY("a child of a child crashes") {
        RAN; pid_t child = fork();
        RAN; if (child == 0) {
            RAN; pid_t grandchild = fork();
            RAN; if (grandchild == 0) {
                RAN; store(1);
                RAN; zero = 1;
            }
            RAN; waitpid(grandchild, 0, 0);
            RAN; _exit(0);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("posix_spawn of itself, which crashes") {
        pid_t child;
        RAN; arguments[2] = "as itself";
        RAN; posix_spawn(&child, "/proc/self/exe", 0, 0, arguments, environ);
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("system that starts itself, which crashes") {
        char command[600];
        RAN; snprintf(command, sizeof command, "'%s' '%s' 'as itself'", arguments[0], arguments[1]);
        RAN; zero = system(command);
        RAN; return 0;
    }
    WAY("the stack protector") {
        RAN; smashes(40);
        RAN; zero = 1;
    }
    WAY("a buffer overflow that is detected") {
        char small[4];
        RAN; __builtin___memcpy_chk(small, room, (size_t)(n + 10), sizeof small);
        RAN; zero = small[1];
    }
    WAY("seccomp ends the process") {
        RAN; filter(SECCOMP_RET_KILL_PROCESS);
        RAN; zero = 1;
    }
    WAY("seccomp sends SIGSYS") {
        RAN; filter(SECCOMP_RET_TRAP);
        RAN; zero = 1;
    }
    WAY("strict seccomp, and a system call") {
        RAN; prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        RAN; syscall(SYS_getppid);
        RAN; zero = 1;
    }
    WAY("RLIMIT_CPU") {
        struct rlimit limit = {1, 2};
        RAN; setrlimit(RLIMIT_CPU, &limit);
        RAN; for (volatile long i = 0;; i++) zero = (int)i;
    }
    WAY("RLIMIT_CPU, the hard one") {
        struct rlimit limit = {1, 1};
        RAN; setrlimit(RLIMIT_CPU, &limit);
        RAN; for (volatile long i = 0;; i++) zero = (int)i;
    }
    WAY("a child of another user crashes") {
        RAN; pid_t child = fork();
        RAN; if (child == 0) {
            RAN; zero = setgid(65534) + setuid(65534);
            RAN; store(1);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("a child of another user exits") {
        RAN; pid_t child = fork();
        RAN; if (child == 0) {
            RAN; zero = setgid(65534) + setuid(65534);
            RAN; exit(0);
        }
        RAN; waitpid(child, 0, 0);
        RAN; return 0;
    }
    WAY("another root folder, and a crash") {
        RAN; zero = chroot("/var");
        RAN; store(1);
        RAN; zero = 2;
    }
    WAY("another root folder, and return") {
        RAN; zero = chroot("/var");
        RAN; return 0;
    }
    WAY("SIGKILL when the parent ends") {
        RAN; pid_t child = fork();
        RAN; if (child == 0) {
            RAN; prctl(PR_SET_PDEATHSIG, SIGKILL);
            RAN; for (;;) pause();
        }
        RAN; usleep(100000);
        RAN; return 0;
    }
    WAY("SIGTERM when the parent ends") {
        RAN; pid_t child = fork();
        RAN; if (child == 0) {
            RAN; prctl(PR_SET_PDEATHSIG, SIGTERM);
            RAN; for (;;) pause();
        }
        RAN; usleep(100000);
        RAN; return 0;
    }
    WAY("a child stops itself") {
        RAN; pid_t child = fork();
        RAN; if (child == 0) {
            RAN; raise(SIGSTOP);
            RAN; zero = 1;
        }
        RAN; usleep(100000);
        RAN; return 0;
    }
    WAY("SIGTERM to the whole group") {
        RAN; setpgid(0, 0);
        RAN; pid_t child = fork();
        RAN; if (child == 0) {
            RAN; for (;;) pause();
        }
        RAN; usleep(100000);
        RAN; kill(0, SIGTERM);
        RAN; zero = 1;
    }
    WAY("a timer, and a handler that counts") {
        struct itimerval often = {{0, 1000}, {0, 1000}};
        RAN; signal(SIGPROF, fine);
        RAN; setitimer(ITIMER_PROF, &often, 0);
        RAN; while (zero < 100) {}
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("all files are closed, then a crash") {
        RAN; for (int i = 0; i < 100; i++) close(i);
        RAN; store(1);
        RAN; zero = 1;
    }
    WAY("exit twice, from a function of atexit") {
        RAN; atexit(sleeps);
        RAN; signal(SIGALRM, exit);
        RAN; ualarm(100000, 0);
        RAN; exit(0);
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2], arguments = words;
    RAN; count = end(count);
    RAN; return count;
}
