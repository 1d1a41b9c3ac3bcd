/* Keeps the coverage of a program that crashes.
 *
 * A program built with --coverage writes its profile when it exits; one that a signal or _exit() ends writes nothing.
 * This file installs handlers that write the profile first and then let the signal end the program as before, and an
 * _exit() that does so, too: frameworks that run each test in a process of its own end it in this way.
 *
 * As a shared object for LD_PRELOAD it takes __gcov_dump where the program exports it. Where it does not, the symbol
 * tables of the program and of its libraries are read for __gcov_exit, which every object of gcc calls at its end, or for
 * __gcov_dump, which those of clang have; only stripped programs hide that. For those, add this file to their sources
 * with -DSUSPECTRA_LINKED.
 *
 * Where SUSPECTRA_CALLS names a file, the addresses of the calls that are under way go into one with this name and the
 * number of the process, and what is mapped where. Nothing is looked up in the crashing program: the program that reads
 * the file finds the lines. For a program of clang the same goes for exit(), with "-exit" behind the name: gcc knows
 * which calls may not return, and counts accordingly.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__linux__) && defined(__GLIBC__)
#include <execinfo.h>
#include <ucontext.h>
#define KNOWS_CALLS
#endif

#ifdef SUSPECTRA_LINKED
extern void __gcov_dump(void);
#endif
#ifdef __linux__
#include <link.h>
#endif
#if !defined(SUSPECTRA_LINKED) && defined(__linux__)
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#endif

#define MAX_DUMPS 64
#define MAX_CALLS 128

static void (*dumps[MAX_DUMPS])(void); /* each program and shared library has a copy of libgcov of its own */
static size_t found;
static int by_clang; /* whether clang built any of them */
static char own_stack[1 << 17]; /* a stack overflow leaves no room on the program's own */

static const int deadly[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGABRT, SIGTERM,   SIGTRAP, SIGSYS,  SIGALRM,
                             SIGPIPE, SIGXCPU, SIGXFSZ, SIGHUP, SIGINT,  SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2};

#ifdef KNOWS_CALLS
static char calls_file[4096]; /* the beginning of its name; empty for none */
static size_t calls_length;
static void *forked_in[MAX_CALLS]; /* the calls under way when this process was forked */
static int before_fork;

static void put(int descriptor, const char *text, size_t size) {
    while (size > 0) {
        ssize_t written = write(descriptor, text, size);
        if (written <= 0)
            return;
        text += written;
        size -= (size_t)written;
    }
}

static void put_address(int descriptor, uintptr_t address) {
    char text[2 * sizeof address + 1];
    for (size_t i = 2 * sizeof address; i-- > 0; address >>= 4)
        text[i] = "0123456789abcdef"[address & 15];
    text[sizeof text - 1] = '\n';
    put(descriptor, text, sizeof text);
}

/* Where the program was when the signal came. */
static uintptr_t interrupted_at(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__i386__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_EIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* The file for the calls of this process. */
static int open_calls(int crashed) {
    if (!*calls_file)
        return -1;
    const char *kind = crashed ? "." : "-exit.";
    char digits[3 * sizeof(long)];
    size_t count = 0, length = calls_length + strlen(kind);
    memcpy(calls_file + calls_length, kind, strlen(kind));
    for (unsigned long number = (unsigned long)getpid(); number; number /= 10)
        digits[count++] = (char)('0' + number % 10);
    for (size_t i = 0; i < count; i++)
        calls_file[length + i] = digits[count - 1 - i];
    calls_file[length + count] = 0;
    return open(calls_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* Where a signal came, then where calls return to, the innermost first; an empty line, and the mappings. */
static void write_calls(const ucontext_t *context, int crashed) {
    int descriptor = open_calls(crashed);
    if (descriptor < 0)
        return;
    put_address(descriptor, context ? interrupted_at(context) : 0);
    void *calls[MAX_CALLS];
    int count = backtrace(calls, MAX_CALLS), begun_here = count;
    for (int i = before_fork; i > 0 && begun_here > 0 && calls[begun_here - 1] == forked_in[i - 1]; i--)
        begun_here--;
    for (int i = 0; i < count; i++) {
        if (i == begun_here)
            put(descriptor, "-\n", 2); /* the others began in the process that forked this one */
        put_address(descriptor, (uintptr_t)calls[i]);
    }
    put(descriptor, "\n", 1);
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps >= 0) {
        char part[4096];
        for (ssize_t size; (size = read(maps, part, sizeof part)) > 0;)
            put(descriptor, part, (size_t)size);
        close(maps);
    }
    close(descriptor);
}

/* The first call of backtrace() loads a library, which is no work for a handler. */
static void prepare_calls(void) {
    const char *file = getenv("SUSPECTRA_CALLS");
    if (file == NULL || strlen(file) + 8 + 3 * sizeof(long) >= sizeof calls_file)
        return;
    void *one[1];
    (void)backtrace(one, 1);
    calls_length = strlen(file);
    strcpy(calls_file, file);
}
#endif

static volatile sig_atomic_t begun;

static void write_profile(void) {
    begun = 1;
    signal(SIGALRM, SIG_DFL);
    alarm(5); /* a crash inside malloc may hold a lock that the dump needs */
    for (size_t i = 0; i < found; i++)
        dumps[i]();
    alarm(0);
}

static void handle(int number, siginfo_t *information, void *context) {
    signal(number, SIG_DFL);
    if (!begun) {
#ifdef KNOWS_CALLS
        begun = 1;
        signal(SIGALRM, SIG_DFL);
        alarm(5);
        write_calls(context, 1);
#endif
        write_profile();
    }
    raise(number);
    (void)information, (void)context;
}

/* The process whose counters these are. A child of vfork() has the memory, and so the counters, of its parent. */
static pid_t own_process;

static void forked(void) {
    own_process = getpid();
#ifdef KNOWS_CALLS
    if (*calls_file)
        before_fork = backtrace(forked_in, MAX_CALLS);
#endif
}

/* Before the program ends by itself, which it can do anywhere. */
static void leaving(void) {
#ifdef KNOWS_CALLS
    if (by_clang && !begun && getpid() == own_process)
        write_calls(NULL, 0);
#endif
}

static void keep_profile(void) {
    if (!begun) {
        leaving();
        write_profile();
    }
}

static void leave(int status) {
    if (found && getpid() == own_process)
        keep_profile();
#ifdef SYS_exit_group
    syscall(SYS_exit_group, status);
#endif
    for (;;)
        syscall(SYS_exit, status);
}

__attribute__((noreturn)) void _exit(int status) { leave(status); __builtin_unreachable(); }
__attribute__((noreturn)) void _Exit(int status) { leave(status); __builtin_unreachable(); }

#ifndef SUSPECTRA_LINKED
__attribute__((noreturn)) void exit(int status) {
    void (*real)(int);
    leaving();
    *(void **)&real = dlsym(RTLD_NEXT, "exit");
    real(status);
    __builtin_unreachable();
}
#endif

/* Sanitizers end a program without calling what it registered for its end. */
static void die_by_sanitizer(void) {
    if (begun)
        return;
#ifdef KNOWS_CALLS
    begun = 1;
    write_calls(NULL, 1);
#endif
    write_profile();
}

#if !defined(SUSPECTRA_LINKED) && defined(__linux__)
/* Whether `count` things of `size` bytes at `offset` lie within a file of `total` bytes. */
static int within(size_t offset, size_t count, size_t size, size_t total) {
    return offset <= total && (size == 0 || count <= (total - offset) / size);
}

/* The address of a function in the symbol table of an ELF file, 0 where it has none. */
static ElfW(Addr) address_in(const char *file, size_t size, const char *name) {
    const ElfW(Ehdr) *head = (const void *)file;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_shentsize != sizeof(ElfW(Shdr)) ||
        head->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        !within(head->e_shoff, head->e_shnum, sizeof(ElfW(Shdr)), size))
        return 0;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    for (size_t i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= head->e_shnum || !within(table->sh_offset, 1, table->sh_size, size))
            continue;
        const ElfW(Shdr) *names = &sections[table->sh_link];
        if (!within(names->sh_offset, 1, names->sh_size, size))
            continue;
        const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
        size_t length = strlen(name) + 1;
        for (size_t j = 0; j < table->sh_size / sizeof *symbols; j++)
            if ((symbols[j].st_info & 0xf) == STT_FUNC && symbols[j].st_value && symbols[j].st_name < names->sh_size &&
                length <= names->sh_size - symbols[j].st_name &&
                !memcmp(file + names->sh_offset + symbols[j].st_name, name, length))
                return symbols[j].st_value;
    }
    return 0;
}

/* The file of a loaded object; MAP_FAILED if it can't be read. */
static char *map_file(const struct dl_phdr_info *object, size_t *size) {
    const char *path = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe";
    struct stat status;
    char *file = MAP_FAILED;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return file;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        *size = (size_t)status.st_size;
        file = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    close(descriptor);
    return file;
}

static int look_into(struct dl_phdr_info *object, size_t unused, void *nothing) {
    size_t size;
    char *file = map_file(object, &size);
    if (file != MAP_FAILED) {
        ElfW(Addr) address = address_in(file, size, "__gcov_exit");
        if (!address && (address = address_in(file, size, "__gcov_dump")))
            by_clang = 1;
        if (address && found < MAX_DUMPS)
            *(void **)&dumps[found++] = (void *)(object->dlpi_addr + address);
        munmap(file, size);
    }
    (void)unused, (void)nothing;
    return 0;
}

struct symbol {
    const char *name;
    ElfW(Addr) address;
};

static int look_for(struct dl_phdr_info *object, size_t unused, void *symbol) {
    struct symbol *wanted = symbol;
    size_t size;
    char *file = map_file(object, &size);
    if (file != MAP_FAILED) {
        ElfW(Addr) address = address_in(file, size, wanted->name);
        if (address)
            wanted->address = object->dlpi_addr + address;
        munmap(file, size);
    }
    (void)unused;
    return wanted->address != 0;
}

/* Where a function is in the running program; 0 if it has none of this name. */
__attribute__((visibility("hidden"))) ElfW(Addr) suspectra_address(const char *name) {
    struct symbol wanted = {name, (ElfW(Addr))dlsym(RTLD_DEFAULT, name)};
    if (!wanted.address)
        dl_iterate_phdr(look_for, &wanted);
    return wanted.address;
}
#endif

static void ask(void *library) {
    void (*set_death_callback)(void (*)(void));
    if ((*(void **)&set_death_callback = dlsym(library, "__sanitizer_set_death_callback")))
        set_death_callback(die_by_sanitizer);
}

#ifdef __linux__
static int ask_library(struct dl_phdr_info *object, size_t unused, void *nothing) {
    void *library = object->dlpi_name && *object->dlpi_name ? dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (library) {
        ask(library);
        dlclose(library);
    }
    (void)unused, (void)nothing;
    return 0;
}
#endif

/* Each of several sanitizers ends the program by itself. */
static void ask_sanitizers(void) {
    ask(RTLD_DEFAULT);
#ifdef __linux__
    dl_iterate_phdr(ask_library, NULL);
#endif
}

static void find_dumps(void) {
#ifdef SUSPECTRA_LINKED
    dumps[found++] = __gcov_dump;
#else
#ifdef __linux__
    dl_iterate_phdr(look_into, NULL);
#endif
    if (!found && (*(void **)&dumps[0] = dlsym(RTLD_DEFAULT, "__gcov_dump")))
        found = 1;
#endif
}

__attribute__((constructor)) static void install(void) {
    find_dumps();
    if (!found)
        return; /* not a program that was built with --coverage, or it is stripped */
    own_process = getpid();
#ifdef KNOWS_CALLS
    prepare_calls();
#endif
    pthread_atfork(NULL, NULL, forked);
    at_quick_exit(keep_profile);
    ask_sanitizers();
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = own_stack;
    stack.ss_size = sizeof own_stack;
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction present, handler;
        memset(&handler, 0, sizeof handler);
        handler.sa_sigaction = handle;
        handler.sa_flags = SA_ONSTACK | SA_SIGINFO;
        sigemptyset(&handler.sa_mask);
        if (sigaction(deadly[i], NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            sigaction(deadly[i], &handler, NULL);
    }
}
