/* Lists the tests of a program, or lets it run one of them, where its framework has no options for that.
 *
 * Check, cmocka, Unity, CppUnit and CuTest learn of each test by a call of one of their functions. This file puts a jump
 * to its own at the beginning of these functions in the running program. They are found in the symbol table, since
 * frameworks are mostly linked statically. Its own function notes the test in the file that SUSPECTRA_TESTS names: the group, the name, the
 * file and the line, with tabs between them. If SUSPECTRA_TEST is the number of the test, counted from 1, the framework's
 * function is called, with its own beginning again. Otherwise the test is left out, so without a number none is run.
 *
 * It is part of the library that keeps profiles (crash_handler.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <elf.h>
#include <link.h>

ElfW(Addr) suspectra_address(const char *name); /* in crash_handler.c */

typedef long (*Function)(long, long, long, long, long, long, long, long);

struct hook {
    const char *name;
    Function own;
    char *at;
    char beginning[16];
};

static struct hook hooks[];
static long wanted, seen; /* numbers of tests */

static void write_code(char *at, const void *code, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)at & -page;
    size_t length = (uintptr_t)at + size - begin;
    if (mprotect((void *)begin, length, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
        memcpy(at, code, size);
        mprotect((void *)begin, length, PROT_READ | PROT_EXEC);
        __builtin___clear_cache(at, at + size);
    }
}

static void redirect(struct hook *hook) {
    unsigned char jump[16];
#ifdef __x86_64__
    static const unsigned char code[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp to the address behind it */
#else
    static const unsigned char code[] = {0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6}; /* ldr x16, .+8; br x16 */
#endif
    memcpy(jump, code, sizeof code);
    memcpy(jump + sizeof code, &hook->own, sizeof hook->own);
    write_code(hook->at, jump, sizeof code + sizeof hook->own);
}

/* Notes a test; whether it is the one that is to run. */
static int note(const char *group, const char *name, const char *file, long line) {
    char number[24];
    const char *file_of_tests = getenv("SUSPECTRA_TESTS");
    int here = ++seen == wanted, tests;
    if ((here || !wanted) && file_of_tests && (tests = open(file_of_tests, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) >= 0) {
        snprintf(number, sizeof number, "\t%ld\n", line);
        const char *parts[] = {group ? group : "", "\t", name ? name : "", "\t", file ? file : "", number};
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            if (write(tests, parts[i], strlen(parts[i])) < 0)
                break;
        close(tests);
    }
    return here;
}

static long original(struct hook *hook, long a, long b, long c, long d, long e, long f, long g, long h) {
    write_code(hook->at, hook->beginning, sizeof hook->beginning);
    long result = ((Function)hook->at)(a, b, c, d, e, f, g, h);
    redirect(hook);
    return result;
}

/* Check: _tcase_add_test(case, test, signal, status, start, end); before 0.13 (case, function, name, signal, …) */
static long check_test(long tcase, long test, long third, long d, long e, long f, long g, long h) {
    const struct { const char *name; void *function; const char *file; int line; } *described = (void *)test;
    const char *group = *(const char **)tcase;
    int is_number = third >= 0 && third < 4096;
    int chosen = is_number ? note(group, described->name, described->file, described->line)
                           : note(group, (const char *)third, NULL, 0);
    return chosen ? original(&hooks[0], tcase, test, third, d, e, f, g, h) : 0;
}

/* cmocka: _cmocka_run_group_tests(group, tests, number of tests, setup, teardown) */
static long cmocka_tests(long group, long tests, long count, long setup, long teardown, long f, long g, long h) {
    const struct { const char *name; void *rest[4]; } *all = (void *)tests;
    long result = 0;
    for (long i = 0; i < count; i++)
        if (note((const char *)group, all[i].name, NULL, 0))
            result = original(&hooks[1], group, (long)&all[i], 1, setup, teardown, f, g, h);
    return result;
}

/* Unity: UnityDefaultTestRun(function, name, line), and the run_test of generated runners */
static long unity_test(long function, long name, long line, long d, long e, long f, long g, long h) {
    return note(NULL, (const char *)name, NULL, line) ? original(&hooks[2], function, name, line, d, e, f, g, h) : 0;
}

static long unity_run_test(long function, long name, long line, long d, long e, long f, long g, long h) {
    return note(NULL, (const char *)name, NULL, line) ? original(&hooks[3], function, name, line, d, e, f, g, h) : 0;
}

/* Unity's fixtures: UnityTestRunner(setup, body, teardown, shown, group, name, file, line) */
static long unity_fixture(long setup, long body, long teardown, long shown, long group, long name, long file, long line) {
    if (!note((const char *)group, (const char *)name, (const char *)file, line))
        return 0;
    return original(&hooks[4], setup, body, teardown, shown, group, name, file, line);
}

/* CppUnit: TestCase::run(this, result); behind two tables of virtual functions comes the text of the name */
static long cppunit_test(long test, long result, long c, long d, long e, long f, long g, long h) {
    const struct { void *tables[2]; const char *name; } *self = (void *)test;
    return note(NULL, self->name, NULL, 0) ? original(&hooks[5], test, result, c, d, e, f, g, h) : 0;
}

/* CuTest: CuTestRun(test) */
static long cutest_test(long test, long b, long c, long d, long e, long f, long g, long h) {
    return note(NULL, *(const char **)test, NULL, 0) ? original(&hooks[6], test, b, c, d, e, f, g, h) : 0;
}

static struct hook hooks[] = {
    {"_tcase_add_test", check_test, NULL, ""},          {"_cmocka_run_group_tests", cmocka_tests, NULL, ""},
    {"UnityDefaultTestRun", unity_test, NULL, ""},      {"run_test", unity_run_test, NULL, ""},
    {"UnityTestRunner", unity_fixture, NULL, ""},
    {"_ZN7CppUnit8TestCase3runEPNS_10TestResultE", cppunit_test, NULL, ""},
    {"CuTestRun", cutest_test, NULL, ""},
};

__attribute__((constructor)) static void choose(void) {
    const char *number = getenv("SUSPECTRA_TEST");
    if (number == NULL)
        return;
    wanted = strtol(number, NULL, 10);
    for (struct hook *hook = hooks; hook < hooks + sizeof hooks / sizeof *hooks; hook++) {
        if (!strcmp(hook->name, "run_test") && !suspectra_address("UnityBegin"))
            continue; /* others have functions with this name, too */
        hook->at = (char *)suspectra_address(hook->name);
        if (hook->at) {
            memcpy(hook->beginning, hook->at, sizeof hook->beginning);
            redirect(hook);
        }
    }
}
#endif
