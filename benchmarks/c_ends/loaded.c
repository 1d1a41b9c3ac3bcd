#include "part.h"
#define RAN ran[3000 + __LINE__] = 1
int loaded_store(int n) {
    RAN; if (n) {
        RAN; n = header_store(n);
        RAN; n++;
    }
    RAN; return n;
}
int loaded_fine(int n) {
    RAN; return n;
}
