#include "part.h"
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#define RAN ran[__LINE__] = 1
#define WAY(name) if (!strcmp(way, name))
static const char *way;
static int zero;
static int store(int n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
static int throws(int n) {
    RAN; if (n > 0)
        throw std::runtime_error("no");
    RAN; return n;
}
static int inner(int n) {
    RAN; n = throws(n);
    RAN; return n;
}
static int middle(int n) {
    RAN; if (n) {
        RAN; n = inner(n);
        RAN; n++;
    }
    RAN; return n;
}
static int twice(int n) {
    for (int i = 0; i < 3; i++) {
        try {
            RAN; n += middle(i);
            RAN; n++;
        } catch (const std::runtime_error &) {
            RAN; n = 2;
        }
        RAN; n++;
    }
    RAN; return n;
}
struct Quiet {
    int n;
    ~Quiet() { RAN; n++; RAN; }
};
static int wrong_type(int n) {
    try {
        RAN; n = middle(n);
        RAN; n++;
    } catch (int) {
        RAN; n = 1;
    }
    RAN; return n;
}
static int cleans(int n) {
    RAN; Quiet quiet{n};
    RAN; n = wrong_type(n);
    RAN; return n;
}
static int again(int n) {
    try {
        RAN; n = cleans(n);
        RAN; n++;
    } catch (const std::exception &) {
        RAN; n++;
        RAN; throw;
    }
    RAN; return n;
}
struct Holder {
    int n;
    Holder(int m) : n(m) { RAN; n = middle(n); RAN; n++; }
    ~Holder() { RAN; n++; }
};
static int makes(int n) {
    RAN; Holder holder(n);
    RAN; return holder.n;
}
static int in_function_try(int n) try {
    RAN; n = middle(n);
    RAN; return n;
} catch (const std::exception &) {
    RAN; return 3;
}

static int deep(int n, int m) {
    RAN; if (m == 0) {
        RAN; n = inner(n);
        RAN; n++;
    }
    RAN; n += deep(n, m - 1);
    RAN; return n;
}
static int catches(int n) {
    try {
        RAN; n = middle(n);
        RAN; n++;
    } catch (const std::exception &) {
        RAN; n = 7;
    }
    RAN; return n;
}
static int strict(int n) noexcept {
    RAN; n = middle(n);
    RAN; return n;
}
static int nested(int n) {
    try {
        RAN; n = middle(n);
        RAN; n++;
    } catch (...) {
        RAN; std::throw_with_nested(std::logic_error("outer"));
        RAN; n = 3;
    }
    RAN; return n;
}
static jmp_buf back;
static int jumps(int n) {
    RAN; if (n > 3) longjmp(back, 1);
    RAN; return n;
}
static int far(int n) {
    RAN; n = jumps(n + 3);
    RAN; return n;
}
static int later_jump(int n) {
    RAN; n = catches(n);
    RAN; n = far(n);
    RAN; return n;
}
struct Exits {
    ~Exits() { RAN; exit(5); RAN; }
};
static int exits_while(int n) {
    RAN; Exits it;
    RAN; n = middle(n);
    RAN; return n;
}
static int pick(int n) {
    RAN; return n > 1 ? inner(n) + middle(0) : middle(n) + inner(0);
}
static int one_line(int n) { RAN; n = middle(n - 1) + middle(n); RAN; return n; }
static int loop_line(int n) {
    RAN; for (int i = 0; i < 4; i++) n += middle(i == 2);
    RAN; return n;
}
struct Member {
    int n;
    explicit Member(int m) : n(m) { RAN; n += middle(m == 2); RAN; }
    ~Member() { RAN; }
};
struct Three {
    Member a, b, c;
    Three(int n) : a(n),
                   b(n + 1),
                   c(n + 2) {
        RAN; zero = n;
    }
};
struct Delegates {
    Delegates(int n) { RAN; zero = n; RAN; }
    Delegates() : Delegates(3) { RAN; middle(2); RAN; }
    ~Delegates() { RAN; }
};
struct Guarded {
    Member a;
    Guarded(int n) try : a(n) {
        RAN; zero = 3;
    } catch (...) {
        RAN; zero = 4;
    }
};
static int given(int n = middle(2)) {
    RAN; return n;
}
static int lazy(int n) {
    RAN; static Member only(n);
    RAN; return only.n;
}
static void ends_thread(int n) {
    RAN; if (n) pthread_exit(0);
    RAN; zero = 3;
}
static void cleans_thread(int n) {
    RAN; Quiet quiet{3};
    RAN; ends_thread(n);
    RAN; zero = 4;
}
static void *thread_exits_below(void *) {
    RAN; catches(1);
    RAN; cleans_thread(1);
    RAN; return 0;
}
static int checks(int n) {
    RAN; if (n < 0) return -1;
    Quiet a{1};
    RAN; n += middle(n > 2);
    Quiet b{2};
    RAN; n += middle(n > 1);
    RAN; return n;
}
static int switched(int n) {
    RAN; switch (n) {
    case 1:
        RAN; n = middle(1);
        RAN; break;
    case 2:
        RAN; n = 3;
        RAN; break;
    default:
        RAN; n = 9;
    }
    RAN; return n;
}
static int with_goto(int n) {
    static void *to[] = {&&first, &&second, &&third};
    RAN; goto *to[n];
first:
    RAN; n = 1;
    RAN; goto *to[2];
second:
    RAN; n = middle(1);
    RAN; return n;
third:
    RAN; store(n);
    RAN; return n;
}
template <class T> static T generic(T n) {
    RAN; n = (T)middle((int)n);
    RAN; return n;
}
template <class F> static void caught(F f) {
    try {
        RAN; f();
        RAN; zero = 1;
    } catch (...) {
        RAN; zero = 2;
    }
}
static int end(int n) {
    WAY("an exception that is caught") {
        RAN; n = twice(n);
        RAN; return 0;
    }
    WAY("an exception that is caught, then a crash") {
        RAN; n = twice(n);
        RAN; store(n);
        RAN; return 0;
    }
    WAY("an exception that is caught, then _exit") {
        RAN; n = twice(n);
        RAN; _exit(n);
        RAN; return 0;
    }
    WAY("an exception that is cleaned up after and rethrown") {
        try {
            RAN; n = again(n);
            RAN; n++;
        } catch (...) {
            RAN; n++;
        }
        RAN; return 0;
    }
    WAY("an exception out of a constructor") {
        try {
            RAN; n = makes(n);
            RAN; n++;
        } catch (...) {
            RAN; n++;
        }
        RAN; return 0;
    }
    WAY("an exception that a function catches as a whole") {
        RAN; n = in_function_try(n);
        RAN; return 0;
    }
    WAY("a caught exception through C") {
        try {
            RAN; n = library_calls(middle, n);
            RAN; n++;
        } catch (...) {
            RAN; n++;
        }
        RAN; return 0;
    }
    WAY("exceptions in several threads, then a crash") {
        RAN; std::thread few[4];
        RAN; for (auto &one : few) one = std::thread([] { for (int i = 0; i < 300; i++) catches(1); });
        RAN; for (auto &one : few) one.join();
        RAN; store(1);
        RAN; return 0;
    }
    WAY("an exception in an exception") {
        RAN; n = nested(1);
        RAN; return 0;
    }
    WAY("an exception in an exception, caught") {
        caught([&] {
            RAN; n = nested(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception and a crash in a thread") {
        RAN; std::thread([] { RAN; catches(1); store(1); RAN; }).join();
        RAN; return 0;
    }
    WAY("abort in a process forked by a thread") {
        RAN; std::thread([] { RAN; pid_t pid = fork(); if (!pid) { catches(1); abort(); } waitpid(pid, 0, 0); RAN; }).join();
        RAN; return 0;
    }
    WAY("exceptions before, in and after a forked process") {
        RAN; n = catches(1);
        RAN; pid_t pid = fork();
        if (!pid) {
            RAN; n = catches(2);
            RAN; n = exits_while(1);
            RAN; _exit(n);
        }
        RAN; waitpid(pid, 0, 0);
        RAN; n = catches(3);
        RAN; return 0;
    }
    WAY("longjmp after an exception") {
        RAN; if (setjmp(back) == 0) {
            RAN; n = later_jump(1);
            RAN; n = 4;
        }
        RAN; n = catches(1);
        RAN; return 0;
    }
    WAY("a terminate handler that jumps") {
        RAN; std::set_terminate([] { RAN; longjmp(back, 1); });
        RAN; if (setjmp(back) == 0) {
            RAN; n = middle(1);
            RAN; n = 4;
        }
        RAN; return 0;
    }
    WAY("call_once that throws") {
        std::once_flag flag;
        for (int i = 0; i < 3; i++) {
            try {
                RAN; std::call_once(flag, [&] { RAN; middle(i < 2); RAN; });
                RAN; n = 3;
            } catch (const std::exception &) {
                RAN; n = 4;
            }
        }
        RAN; return 0;
    }
    WAY("exec after an exception") {
        RAN; n = catches(1);
        RAN; execl("/bin/true", "true", (char *)0);
        RAN; return 0;
    }
    WAY("pthread_exit below a destructor") {
        pthread_t id;
        RAN; pthread_create(&id, 0, thread_exits_below, 0);
        RAN; pthread_join(id, 0);
        RAN; return 0;
    }
    WAY("an exception in some rounds of a loop") {
        for (int i = 0; i < 5; i++) {
            try {
                RAN; n += checks(i);
                RAN; n++;
            } catch (...) {
                RAN; n = 0;
                continue;
            }
            RAN; n++;
        }
        RAN; return 0;
    }
    WAY("rethrow_exception") {
        std::exception_ptr kept;
        try {
            RAN; n = middle(1);
            RAN; n = 3;
        } catch (...) {
            RAN; kept = std::current_exception();
        }
        try {
            RAN; std::rethrow_exception(kept);
            RAN; n = 3;
        } catch (const std::exception &) {
            RAN; n = 9;
        }
        RAN; return 0;
    }
    WAY("an exception out of a deep recursion") {
        caught([&] {
            RAN; n = deep(1, 300);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception from below a noexcept function") {
        RAN; n = strict(1);
        RAN; return 0;
    }
    WAY("exit in a destructor while an exception is thrown") {
        caught([&] {
            RAN; n = exits_while(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception on one side of ?:") {
        caught([&] {
            RAN; n = pick(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception in a loop on one line") {
        caught([&] {
            RAN; n = loop_line(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of several calls on one line") {
        caught([&] {
            RAN; n = one_line(2);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of a member") {
        caught([&] {
            RAN; Three three(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception behind a delegated constructor") {
        caught([&] {
            RAN; Delegates it;
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception that a constructor catches as a whole") {
        caught([&] {
            RAN; Guarded it(2);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of a default argument") {
        caught([&] {
            RAN; n = given();
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of a static variable") {
        caught([&] {
            RAN; n = lazy(2);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of an element of an array") {
        caught([&] {
            RAN; Member all[3] = {Member(1), Member(2), Member(3)};
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception through a function object") {
        caught([&] {
            RAN; std::function<int(int)> f = [](int m) { RAN; m = middle(m); RAN; return m; };
            RAN; n = f(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception through for_each") {
        caught([&] {
            RAN; int few[3] = {0, 1, 2};
            RAN; std::for_each(few, few + 3, [](int m) { RAN; middle(m); RAN; });
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception through sort") {
        caught([&] {
            RAN; int few[3] = {2, 1, 0};
            RAN; std::sort(few, few + 3, [](int a, int b) { RAN; middle(a == 2); RAN; return a < b; });
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of a string") {
        caught([&] {
            RAN; std::string s = "abc";
            RAN; n = s.at(7);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of an optional value") {
        caught([&] {
            RAN; std::optional<int> v;
            RAN; n = v.value();
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("bad_alloc, caught") {
        caught([&] {
            RAN; auto p = new char[(1ul << 60) * n];
            RAN; n = *p;
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception of a stream") {
        caught([&] {
            RAN; std::istringstream in("x");
            RAN; in.exceptions(std::ios::failbit);
            RAN; in >> n;
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("a caught exception by a future") {
        caught([&] {
            RAN; auto f = std::async(std::launch::async, [] { RAN; int m = middle(1); RAN; return m; });
            RAN; n = f.get();
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("a template without an exception") {
        caught([&] {
            RAN; n = generic<char>(0);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception out of a template") {
        caught([&] {
            RAN; n = generic<long>(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("an exception behind a computed goto") {
        caught([&] {
            RAN; n = with_goto(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    WAY("a crash behind a computed goto") {
        RAN; n = with_goto(2);
        RAN; return 0;
    }
    WAY("__builtin_trap") {
        RAN; if (n) __builtin_trap();
        RAN; return 0;
    }
    WAY("an exception behind main") {
        RAN; atexit([] { RAN; catches(1); RAN; middle(1); RAN; });
        RAN; return 0;
    }
    WAY("an exception in a switch") {
        caught([&] {
            RAN; n = switched(1);
            RAN; n = 5;
        });
        RAN; return 0;
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
