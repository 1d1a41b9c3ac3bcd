#include "part.h"
#include <coroutine>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>
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
enum How { crash, thrown, quits, aborts };
static const char *where = "";
static char both[9];
static bool both2;
static How how;
static void at(const char *here) {
    RAN; if (*both && !strcmp(here, both)) inner(1);
    RAN; if (both2 && !strcmp(here, "body")) inner(1);
    RAN; if (strcmp(here, where)) return;
    RAN; if (how == crash) store(1);
    RAN; if (how == thrown) inner(1);
    RAN; if (how == quits) exit(3);
    RAN; abort();
}
struct Arg {
    int n;
    Arg(int n) : n(n) { RAN; }
    Arg(Arg &&other) : n(other.n) { RAN; at("arg"); RAN; }
    ~Arg() noexcept(false) { RAN; if (n == 77) at("~arg"); RAN; }
};
struct Local {
    int n;
    Local(int n) : n(n) { RAN; at("local"); RAN; }
    ~Local() noexcept(false) { RAN; at("~local"); RAN; }
};
struct Wait {
    bool await_ready() { RAN; at("ready"); RAN; return false; }
    void await_suspend(std::coroutine_handle<>) { RAN; at("suspend"); RAN; }
    int await_resume() { RAN; at("resume"); RAN; return 3; }
};
struct First {
    bool await_ready() { RAN; at("first ready"); RAN; return false; }
    void await_suspend(std::coroutine_handle<>) { RAN; at("first suspend"); RAN; }
    void await_resume() { RAN; at("first resume"); RAN; }
};
struct Final {
    bool await_ready() noexcept { RAN; at("final ready"); RAN; return false; }
    void await_suspend(std::coroutine_handle<>) noexcept { RAN; at("final suspend"); RAN; }
    void await_resume() noexcept { RAN; }
};
static bool again;
struct Task {
    struct promise_type {
        promise_type() { RAN; at("promise"); RAN; }
        ~promise_type() noexcept(false) { RAN; at("~promise"); RAN; }
        Task get_return_object() { RAN; at("object"); RAN; return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        First initial_suspend() { RAN; at("initial"); RAN; return {}; }
        Final final_suspend() noexcept { RAN; at("final"); RAN; return {}; }
        void return_void() { RAN; at("return"); RAN; }
        Wait yield_value(int) { RAN; at("yield"); RAN; return {}; }
        void unhandled_exception() { RAN; at("unhandled"); RAN; if (again) throw; RAN; }
        void *operator new(size_t size) { RAN; at("new"); RAN; return malloc(size); }
        void operator delete(void *from) noexcept(false) { RAN; at("delete"); RAN; free(from); }
    };
    std::coroutine_handle<promise_type> handle;
};
static Task plain(Arg arg) {
    RAN; int n = arg.n;
    RAN; n += co_await Wait{};
    RAN; at("body");
    RAN; n++;
}
static Task local(Arg arg) {
    RAN; int n = arg.n;
    RAN; Local one{n};
    RAN; at("body");
    RAN; n += co_await Wait{};
    RAN; at("body2");
    RAN; n++;
    RAN; co_return;
}
static Task looping(int n) {
    for (int i = 0; i < n; i++) {
        RAN; co_yield i;
        RAN; if (i == 2) at("body");
        RAN; zero = i;
    }
    RAN; zero = 7;
}
static Task catching(int n) {
    try {
        RAN; n += co_await Wait{};
        RAN; at("body");
        RAN; zero = 1;
    } catch (const std::exception &) {
        RAN; zero = 2;
        RAN; at("catch");
        RAN; zero = 4;
    }
    RAN; zero = 5;
    RAN; co_await Wait{};
    RAN; zero = 6;
}
static Task outer(int n) {
    RAN; Task in = plain(Arg{n});
    RAN; in.handle.resume();
    RAN; co_await Wait{};
    RAN; in.handle.resume();
    RAN; at("outer");
    RAN; in.handle.destroy();
    RAN; zero = 1;
}
static Task make(int kind) {
    RAN; if (kind == 0) return plain(Arg{77});
    RAN; if (kind == 1) return local(Arg{77});
    RAN; if (kind == 2) return looping(5);
    RAN; if (kind == 3) return catching(5);
    RAN; return outer(77);
}
static void run(int kind, const char *here, How by, int more = 9) {
    RAN; where = here, how = by;
    RAN; Task task = make(kind);
    RAN; while (!task.handle.done() && more--) {
        RAN; task.handle.resume();
        RAN; zero = 8;
    }
    RAN; task.handle.destroy();
    RAN; zero = 9;
}
static void caught(int kind, const char *here, How by, int more = 9) {
    try {
        RAN; run(kind, here, by, more);
        RAN; zero = 3;
    } catch (const std::exception &) {
        RAN; zero = 4;
    }
    RAN; zero = 5;
}
struct Simple {
    struct promise_type {
        Simple get_return_object() { RAN; return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { RAN; return {}; }
        std::suspend_always final_suspend() noexcept { RAN; return {}; }
        void return_void() { RAN; }
        void unhandled_exception() { RAN; throw; }
    };
    std::coroutine_handle<promise_type> handle;
};
static Simple simple_crash(int n) {
    RAN; n++;
    co_await std::suspend_always{};
    RAN; n = store(n);
    RAN; n++;
}
static Simple simple_wait(int n) {
    RAN; n++;
    RAN; co_await std::suspend_always{};
    RAN; n++;
    RAN; co_await std::suspend_always{};
    RAN; n++;
}
static Simple simple_throw(int n) {
    RAN; n++;
    co_await std::suspend_always{};
    RAN; throws(n);
    RAN; n++;
}
static int end(int n) {
    WAY("a simple coroutine that crashes") {
        RAN; Simple task = simple_crash(1);
        RAN; task.handle.resume();
        RAN; task.handle.resume();
        RAN; task.handle.destroy();
        RAN; return 0;
    }
    WAY("a simple coroutine that is destroyed") {
        RAN; Simple task = simple_wait(1);
        RAN; task.handle.resume();
        RAN; task.handle.destroy();
        RAN; return 0;
    }
    WAY("a simple coroutine that throws") {
        RAN; Simple task = simple_throw(1);
        RAN; task.handle.resume();
        RAN; task.handle.resume();
        RAN; return 0;
    }
    WAY("a coroutine that is done") {
        RAN; run(0, "", thrown);
        RAN; return 0;
    }
    WAY("a coroutine that is never resumed") {
        RAN; run(0, "", thrown, 0);
        RAN; return 0;
    }
    WAY("a generator that is destroyed") {
        RAN; run(2, "", thrown, 1);
        RAN; return 0;
    }
    WAY("a coroutine that is left suspended") {
        RAN; run(4, "", thrown, 1);
        RAN; return 0;
    }
    WAY("a crash in the promise of a coroutine") {
        RAN; run(0, "promise", crash);
        RAN; return 0;
    }
    WAY("an exception of what a coroutine first awaits") {
        RAN; run(0, "first suspend", thrown);
        RAN; return 0;
    }
    WAY("an exception of the frame of a coroutine") {
        RAN; caught(0, "new", thrown);
        RAN; return 0;
    }
    WAY("an exception of an argument of a coroutine") {
        RAN; caught(0, "arg", thrown);
        RAN; return 0;
    }
    WAY("an exception of what a coroutine awaits") {
        RAN; run(0, "resume", thrown);
        RAN; return 0;
    }
    WAY("a crash at the end of a coroutine") {
        RAN; run(0, "final ready", crash);
        RAN; return 0;
    }
    WAY("a crash in the destructor of a promise") {
        RAN; run(0, "~promise", crash);
        RAN; return 0;
    }
    WAY("an exception of a destructor in a coroutine") {
        RAN; caught(1, "~local", thrown);
        RAN; return 0;
    }
    WAY("exit in a coroutine") {
        RAN; run(1, "body2", quits);
        RAN; return 0;
    }
    WAY("an exception that a coroutine catches") {
        RAN; again = true, caught(3, "body", thrown);
        RAN; return 0;
    }
    WAY("an exception out of a coroutine, caught") {
        RAN; again = true, caught(1, "body", thrown);
        RAN; return 0;
    }
    WAY("an exception out of a generator") {
        RAN; again = true, run(2, "body", thrown);
        RAN; return 0;
    }
    WAY("a crash in a catch in a coroutine") {
        RAN; strcpy(both, "body"), run(3, "catch", crash);
        RAN; return 0;
    }
    WAY("an exception in a coroutine that resumes another") {
        RAN; run(4, "outer", thrown);
        RAN; return 0;
    }
    WAY("a crash in a coroutine that another resumed") {
        RAN; run(4, "resume", crash);
        RAN; return 0;
    }
    WAY("abort in a coroutine that another resumed") {
        RAN; run(4, "body", aborts);
        RAN; return 0;
    }
    WAY("exit where a coroutine handles exceptions") {
        RAN; both2 = true, run(0, "unhandled", quits);
        RAN; return 0;
    }
    WAY("a crash where a coroutine handles exceptions") {
        RAN; both2 = true, run(0, "unhandled", crash);
        RAN; return 0;
    }
    WAY("a crash in a generator that yields") {
        RAN; run(2, "yield", crash);
        RAN; return 0;
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
