#include "part.h"
#include <any>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <variant>
#include <vector>
#define RAN ran[__LINE__] = 1
#define WAY(name) if (!strcmp(way, name))
static const char *way;
static int store(int n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
static int fine(int n) {
    RAN; return n;
}
static int throws(int n) {
    RAN; if (n) throw std::runtime_error("no");
    RAN; return n;
}
struct Base {
    virtual ~Base() {
        RAN; fine(1);
    }
    virtual int does(int n) {
        RAN; return n;
    }
};
struct Side {
    int side = 1;
    virtual int other(int n) {
        RAN; return n + side;
    }
};
struct Derived : Base, Side {
    int value;
    Derived(int n) : value(fine(n)) {
        RAN; fine(n);
    }
    ~Derived() override {
        RAN; fine(2);
        RAN; if (value > 4) store(value);
        RAN; fine(3);
    }
    int does(int n) override {
        RAN; n = store(n);
        RAN; return n;
    }
    int other(int n) override {
        RAN; n = store(n);
        RAN; return n;
    }
};
struct Counts {
    int at;
    int operator*() const {
        RAN; return at;
    }
    Counts &operator++() {
        RAN; if (++at == 2) store(at);
        RAN; return *this;
    }
    bool operator!=(const Counts &end) const {
        RAN; return at != end.at;
    }
};
struct Range {
    Counts begin() const {
        RAN; return {0};
    }
    Counts end() const {
        RAN; return {4};
    }
};
struct Member {
    int n;
    Member(int m) : n(m) {
        RAN; if (m == 3) store(m);
        RAN; fine(m);
    }
    Member(Member &&other) noexcept : n(other.n) {
        RAN; throws(n == 7);
        RAN; other.n = 0;
    }
    ~Member() {
        RAN; n = 0;
    }
};
struct Holds {
    Member one, two;
    Holds(int n) : one(fine(n)),
                   two(n + 1) {
        RAN; fine(n);
    }
};
template <class... Parts> static int folds(Parts... parts) {
    RAN; int n = (store(parts) + ... + 0);
    RAN; return n;
}
template <class T> static int when(T n) {
    RAN; if constexpr (sizeof n == 1) {
        RAN; n++;
    } else {
        RAN; n = store(n);
        RAN; n++;
    }
    RAN; return n;
}
template <class T> struct Curious {
    int run(int n) {
        RAN; n = static_cast<T *>(this)->part(n);
        RAN; return n;
    }
};
struct Own : Curious<Own> {
    int part(int n) {
        RAN; n = store(n);
        RAN; return n;
    }
};
struct Local {
    ~Local() {
        RAN; fine(1);
        RAN; store(1);
    }
};
static int once(int n) {
    RAN; static Member kept(n);
    RAN; return kept.n;
}
static int operator""_of(unsigned long long n) {
    RAN; return store((int)n);
}
static int moves(Member member) {
    RAN; return member.n;
}
static void quits() {
    RAN; fine(1);
    RAN; _Exit(4);
}
static void aborts() {
    RAN; fine(1);
    RAN; abort();
}
static int quiet(int n) noexcept {
    RAN; n = throws(n);
    RAN; return n;
}
static int nested(int n) {
    RAN; try {
        RAN; Member guard(1);
        RAN; try {
            RAN; n = throws(n);
            RAN; n++;
        } catch (const std::logic_error &) {
            RAN; n = 8;
        }
        RAN; n++;
    } catch (const std::exception &error) {
        RAN; n = (int)strlen(error.what());
        RAN; n = store(n);
    }
    RAN; return n;
}
static int end(int n) {
    WAY("a crash in a virtual function") {
        std::unique_ptr<Base> it = std::make_unique<Derived>(1);
        RAN; n = it->does(n);
        RAN; return n;
    }
    WAY("a crash behind a thunk") {
        Derived it(1);
        Side &side = it;
        RAN; n = side.other(n);
        RAN; return n;
    }
    WAY("a crash in a destructor that delete calls") {
        Base *it = new Derived(5);
        RAN; delete it;
        RAN; return n;
    }
    WAY("a crash in the step of a range") {
        RAN; for (int i : Range()) {
            RAN; n += i;
        }
        RAN; return n;
    }
    WAY("a crash in a member's constructor") {
        RAN; Holds it(2);
        RAN; return it.one.n;
    }
    WAY("a crash in a fold") {
        RAN; n = folds(1, 2, 3);
        RAN; return n;
    }
    WAY("a crash in a constant if") {
        RAN; n = when(n);
        RAN; return n;
    }
    WAY("a crash in a curious template") {
        RAN; n = Own().run(n);
        RAN; return n;
    }
    WAY("a crash in a variable of a thread") {
        RAN; std::thread([] {
            RAN; thread_local Local local;
            RAN; (void)&local;
        }).join();
        RAN; return n;
    }
    WAY("a crash in a static variable of a function") {
        RAN; n = once(3);
        RAN; return n;
    }
    WAY("a crash in a literal") {
        RAN; n = 5_of;
        RAN; return n;
    }
    WAY("a crash in std::function") {
        RAN; std::function<int(int)> f = [&](int m) {
            RAN; m = store(m + n);
            RAN; return m;
        };
        RAN; n = f(n);
        RAN; return n;
    }
    WAY("a crash in std::visit") {
        std::variant<int, std::string> it = 3;
        RAN; std::visit([](auto &&v) {
            RAN; if constexpr (std::is_same_v<std::decay_t<decltype(v)>, int>) store(v);
            RAN; return;
        }, it);
        RAN; return n;
    }
    WAY("a crash in a nested lambda") {
        auto outer = [](int m) {
            RAN; auto inner = [m](int k) {
                RAN; k = store(m + k);
                RAN; return k;
            };
            RAN; return inner(m) + 1;
        };
        RAN; n = outer(n);
        RAN; return n;
    }
    WAY("an exception out of a noexcept move") {
        RAN; Member it(7);
        RAN; n = moves(std::move(it));
        RAN; return n;
    }
    WAY("an exception that a nested try does not catch, then a crash") {
        RAN; n = nested(1);
        RAN; return n;
    }
    WAY("a terminate handler that calls _Exit") {
        RAN; std::set_terminate(quits);
        RAN; n = quiet(1);
        RAN; return n;
    }
    WAY("a terminate handler that aborts") {
        RAN; std::set_terminate(aborts);
        RAN; n = throws(1);
        RAN; return n;
    }
    WAY("bad_any_cast that nothing catches") {
        RAN; std::any it = 1;
        RAN; n = (int)std::any_cast<std::string>(it).size();
        RAN; return n;
    }
    WAY("bad_cast of a reference") {
        Base base;
        RAN; n = dynamic_cast<Derived &>(base).value;
        RAN; return n;
    }
    WAY("map.at out of range, caught") {
        RAN; std::map<int, int> it{{1, 2}};
        RAN; try {
            RAN; n = it.at(5);
            RAN; n++;
        } catch (const std::out_of_range &) {
            RAN; n = 0;
        }
        RAN; return n;
    }
    WAY("an exception of a thread's function, in a forked process") {
        RAN; if (!fork()) {
            RAN; std::thread(throws, 1).join();
            RAN; _exit(1);
        }
        RAN; int status = 0;
        RAN; wait(&status);
        RAN; return WIFSIGNALED(status);
    }
    WAY("an array whose third element crashes") {
        RAN; Member many[] = {1, 2, 3, 4};
        RAN; return many[0].n;
    }
    WAY("new that has no memory") {
        RAN; auto size = (std::size_t)1 << 62;
        RAN; char *room = new char[size];
        RAN; return room != nullptr;
    }
    WAY("a vector that grows by a crashing move") {
        RAN; std::vector<Member> all;
        RAN; all.emplace_back(7);
        RAN; all.emplace_back(8);
        RAN; return 0;
    }
    WAY("throw without an exception") {
        RAN; fine(1);
        RAN; throw;
    }
    WAY("std::exit in a lambda") {
        auto leaves = [](int m) {
            RAN; std::exit(m);
        };
        RAN; leaves(n);
        RAN; return n;
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
