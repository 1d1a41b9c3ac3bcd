#include "part.h"
#include <fcntl.h>
#include <sys/mman.h>
#define RAN ran[1000 + __LINE__] = 1
char *ran, *nowhere;
void note_in(const char *path) {
    ran = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(path, O_RDWR), 0);
}
int library_store(int n) {
    RAN; *nowhere = (char)n;
    RAN; return n;
}
int library_calls(int (*back)(int), int n) {
    RAN; n = back(n);
    RAN; return n;
}
