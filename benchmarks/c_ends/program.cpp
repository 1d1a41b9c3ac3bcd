#include "part.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#define RAN ran[__LINE__] = 1
#define WAY(name) if (!strcmp(way, name))
static const char *way;
template <class T> static T store(T n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
static int throws(int n) {
    RAN; if (n > 0)
        throw std::runtime_error("no");
    RAN; return n;
}
static int promises(int n) noexcept {
    RAN; n = throws(n);
    RAN; return n;
}
struct Guard {
    int n;
    ~Guard() {
        RAN; if (n == 2)
            n = store(n);
        RAN; n = 0;
    }
};
static int guarded(int n) {
    Guard guard{n};
    RAN; n = throws(1);
    RAN; return n;
}
static int catches(int n) {
    try {
        RAN; n = guarded(n);
        RAN; n = 3;
    } catch (const std::exception &) {
        RAN; n = 4;
    }
    RAN; return n;
}
static int end(int n) {
    WAY("an exception that is caught") {
        RAN; n = catches(1);
        RAN; return 0;
    }
    WAY("an exception that nothing catches") {
        RAN; n = throws(1);
    }
    WAY("an exception out of noexcept") {
        RAN; n = promises(1);
    }
    WAY("std::terminate") {
        RAN; std::terminate();
    }
    WAY("a crash in a template") {
        RAN; n = store<long>(1);
    }
    WAY("a crash in a lambda") {
        auto call = [&](int m) {
            RAN; m = store(m);
            RAN; return m;
        };
        RAN; n = call(1);
    }
    WAY("a crash in a destructor") {
        Guard guard{2};
        RAN; n = 1;
    }
    WAY("a crash in a destructor while an exception is thrown") {
        RAN; n = catches(2);
    }
    WAY("a crash in a comparison of std::sort") {
        std::vector<int> of{3, 1, 2};
        RAN; std::sort(of.begin(), of.end(), [](int a, int b) {
            RAN; a += *nowhere;
            RAN; return a < b;
        });
    }
    WAY("a crash in std::thread") {
        RAN; std::thread([] { store(1); }).join();
    }
    WAY("a crash in a header, C++") {
        RAN; n = header_store(1);
    }
    RAN; return n;
}
int main(int count, char **words) {
    note_in(words[1]), way = words[2];
    RAN; count = end(count);
    RAN; return count;
}
