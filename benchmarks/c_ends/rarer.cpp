#include "part.h"
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <sys/resource.h>
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
struct Last {
    ~Last() {
        if (!way) return;
        WAY("assert in a static destructor") {
            RAN; assert(zero == 4);
            RAN; zero = 3;
        }
    }
};
static Last last;
struct Base {
    Base() { RAN; call(); RAN; }
    void call() { RAN; pure(); RAN; }
    virtual void pure() = 0;
    virtual ~Base() {}
};
struct Derived : Base {
    void pure() override { RAN; }
};
struct Thrower {
    ~Thrower() { RAN; throws(zero + 1); RAN; }
};
struct Quiet {
    int n;
    ~Quiet() { RAN; n++; RAN; }
};
static int guarded(int n) {
    Quiet quiet{n};
    RAN; n = throws(1);
    RAN; return n;
}
static int rethrows(int n) {
    try {
        RAN; n = guarded(n);
        RAN; n = 4;
    } catch (...) {
        RAN; throw;
    }
    RAN; return n;
}
static int promises(int n) noexcept {
    Quiet quiet{n};
    RAN; n = rethrows(n);
    RAN; return n;
}
static int after(const void *, const void *) {
    RAN; throws(1);
    RAN; return 1;
}
static int end(int n) {
    WAY("an exception out of noexcept, with destructors") {
        RAN; n = promises(1);
        RAN; return 0;
    }
    WAY("rethrow that is caught") {
        try {
            RAN; n = rethrows(1);
            RAN; n = 3;
        } catch (const std::exception &) {
            RAN; n = 4;
        }
        RAN; return 0;
    }
    WAY("exit in a catch") {
        try {
            RAN; n = guarded(1);
            RAN; n = 3;
        } catch (const std::exception &) {
            RAN; exit(4);
            RAN; n = 4;
        }
        RAN; return 0;
    }
    WAY("a crash in a catch") {
        try {
            RAN; n = guarded(1);
            RAN; n = 3;
        } catch (const std::exception &) {
            RAN; store(4);
            RAN; n = 4;
        }
        RAN; return 0;
    }
    WAY("a pure virtual call") {
        RAN; Derived derived;
        RAN; return 0;
    }
    WAY("an exception out of a destructor") {
        {
            RAN; Thrower thrower;
            RAN; n = 2;
        }
        RAN; return 0;
    }
    WAY("assert in a static destructor") {
        RAN; return 0;
    }
    WAY("bad_alloc in small pieces") {
        struct rlimit limit = {1 << 26, 1 << 26};
        RAN; setrlimit(RLIMIT_AS, &limit);
        std::map<int, int> many;
        RAN; for (int i = 0;; i++) many[i] = i;
        RAN; return 0;
    }
    WAY("an exception in a thread") {
        RAN; std::thread([] { RAN; throws(1); RAN; }).join();
        RAN; return 0;
    }
    WAY("a thread that is not joined") {
        RAN; std::thread worker([] { RAN; usleep(100000); });
        RAN; n = 1;
    }
    WAY("an exception by a future") {
        RAN; auto later = std::async(std::launch::async, [] { RAN; return guarded(1); });
        RAN; n = later.get();
        RAN; return 0;
    }
    WAY("an exception through C") {
        int of[3] = {3, 1, 2};
        RAN; std::qsort(of, 3, sizeof *of, after);
        RAN; return 0;
    }
    WAY("at() out of range") {
        std::vector<int> few{1};
        RAN; n = few.at(3);
        RAN; return 0;
    }
    WAY("a terminate handler that exits") {
        RAN; std::set_terminate([] { RAN; _exit(4); RAN; });
        RAN; n = throws(1);
        RAN; return 0;
    }
    RAN; return 0;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
