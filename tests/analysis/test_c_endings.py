"""How C and C++ programs end: whatever it is, the lines that count as executed are those that the program ran.

Each statement of the program notes its line in memory that outlives the process, without a call or a decision, so that
the flow of the program is the same as without it.
"""

import signal
import subprocess
import sys

import pytest

from suspectra.c.recording.run import record_c
from suspectra.c.recording.suites import shell_suite
from suspectra.evidence.c.source import CRecordingSource

PROGRAM = """\
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static char *ran, *nowhere;
static int spot, way, zero;
static char *at[40];
#define RAN ran[__LINE__] = 1
/* straight code, in which the program crashes at one of these places */
static int straight(int n) {
    RAN; *at[0] = 1;
    RAN; n += 2;
    RAN; *at[1] = 2; *at[2] = 3;
    RAN; n *= 3;
    RAN; *at[3] = (char)n;
    return n;
}
static int decisions(int n) {
    int sum = 0;
    RAN; for (int i = 0; i < 4; i++) {
        RAN; if (i % 2 == 0 && n > 0) {
            RAN; *at[4 + i] = 1;
            RAN; sum += i;
        } else {
            RAN; *at[8 + i] = 1;
            RAN; sum -= i;
        }
        RAN; sum += n;
    }
    RAN; *at[12] = 1;
    RAN; return sum;
}
static int again(int n) {
    RAN; if (n == 0) {
        RAN; *at[13] = 1;
        RAN; return 1;
    }
    RAN; int below = again(n - 1);
    RAN; *at[14] = 1;
    RAN; return below + 1;
}
static void leave(void) {
    RAN; switch (way) {
    case 1:
        RAN; abort();
    case 2:
        RAN; _exit(3);
    case 3:
        RAN; zero = 5 / zero;
        RAN; break;
    case 4:
        RAN; raise(SIGTERM);
        RAN; break;
    case 5:
        RAN; strcpy(nowhere, "x");
        RAN; break;
    case 6:
        RAN; exit(1);
    case 7:
        RAN; for (;;) { zero++; }
    case 8:
        RAN; quick_exit(2);
    case 9:
        RAN; alarm(0); raise(SIGALRM);
        RAN; break;
    default:
        RAN; break;
    }
    RAN; way = 0;
}
static int child(void) {
    RAN; int status = 0;
    RAN; pid_t pid = fork();
    RAN; if (pid == 0) {
        RAN; leave();
        RAN; straight(1);
        RAN; _exit(0);
    }
    RAN; waitpid(pid, &status, 0);
    RAN; return status != 0;
}
static int replaced(void) {
    pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    int status;
    waitpid(pid, &status, 0);
    RAN; return 0;
}
int main(int argc, char **argv) {
    static char room[40];
    ran = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1], O_RDWR), 0);
    spot = atoi(argv[3]), way = atoi(argv[4]);
    for (int i = 0; i < 40; i++)
        at[i] = i == spot ? nowhere : room + i;
    int result = 0;
    RAN; result += replaced();
    RAN; straight(argc);
    RAN; if (argv[2][0] == 'c') {
        RAN; result += child();
    } else {
        RAN; leave();
    }
    RAN; result += decisions(argc) > 100;
    RAN; result += again(3) > 100;
    RAN; return result;
}
"""
SPOTS = (*range(4), 4, 6, 9, 11, 12, 13, 14)
ENDINGS = {
    **{f"spot{spot}": ("p", spot, 0) for spot in SPOTS},
    **{f"way{way}": ("p", 99, way) for way in (1, 2, 3, 4, 5, 6, 7, 8, 9)},
    **{f"child{way}": ("c", 99, way) for way in (0, 1, 2, 3, 4, 5, 8)},
    "child_crashes": ("c", 2, 0),
    "fine": ("p", 99, 0),
}


OF_CLANG = (
    "spot3",
    "way2",
    "way5",
    "child_crashes",
    "fine",
    "spot4",
    "spot9",
    "spot13",
    "way1",
    "way6",
    "way7",
    "child1",
)


@pytest.fixture(scope="module", autouse=True)
def quits():
    """What a shell starts in the background ignores this signal, and so do the programs of the tests then."""
    before = signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGQUIT, before)


def notes_of(lines):
    """The lines that the file of a test says."""
    return {number for number, noted in enumerate(lines) if noted}


@pytest.fixture(
    scope="module",
    params=[
        "gcc",
        "gcc -fsanitize=address,undefined -fno-sanitize-recover=all",
        "clang-14",
        "clang-14 -fsanitize=address",
        "clang-14 -fsanitize=undefined -fno-sanitize-recover=all",
    ],
)
def recorded(request, tool, tmp_path_factory):
    workspace = tmp_path_factory.mktemp("endings")
    (workspace / "program.c").write_text(PROGRAM)
    compiler, *flags = request.param.split()
    command = [tool(compiler, compiler), "-O0", "-g", "-w", "--coverage", *flags, "program.c", "-o", "program"]
    subprocess.run(command, cwd=workspace, check=True)
    # what sanitizers do differs in few ways
    few = OF_CLANG[: 5 if flags else None] if compiler != "gcc" else ENDINGS
    for name in few:
        (workspace / f"{name}.ran").write_bytes(bytes(4096))
    tests = ["{0}\t./program {0}.ran {1} {2} {3}\n".format(name, *ENDINGS[name]) for name in few]
    (workspace / "tests.tsv").write_text("".join(tests))
    run = record_c(workspace, shell_suite(workspace, "tests.tsv"), timeout=4)
    return workspace, run, CRecordingSource(workspace).read()


@pytest.mark.slow
def test_the_lines_are_those_that_ran(recorded):
    workspace, _, evidence = recorded
    noting = {number for number, text in enumerate(PROGRAM.splitlines(), 1) if "RAN;" in text}
    wrong = {}
    for test, row in zip(evidence.tests, evidence.rows, strict=True):
        found = {evidence.elements.location(int(element)).line for element in row} & noting
        ran = notes_of((workspace / f"{test.name}.ran").read_bytes())
        if found != ran:
            wrong[test.name] = {"missing": sorted(ran - found), "too many": sorted(found - ran)}
    assert not wrong, wrong


@pytest.mark.slow
def test_nothing_has_to_be_said_of_them(recorded):
    _, run, _ = recorded
    assert not run.problems


def build(folder, *arguments, compiler="gcc"):
    subprocess.run([compiler, "-O0", "-g", "--coverage", *arguments], cwd=folder, check=True)


def record(workspace, tests, **options):
    (workspace / "tests.tsv").write_text(tests)
    run = record_c(workspace, shell_suite(workspace, "tests.tsv"), **options)
    return run, CRecordingSource(workspace).read()


CRASHING = """\
int put(int *p, int n) {
    if (n < 0)
        return -1;
    *p = n;
    return n > 5;
}
int main(int argc, char **argv) {
    int v;
    return put(argc > 1 ? 0 : &v, argc) == 9;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "source"),
    [
        ("gcc", "-ffile-prefix-map={}=. {}/src/prog.c"),
        ("gcc", "-fdebug-prefix-map={}=. {}/src/prog.c"),
        ("gcc", "-fmacro-prefix-map={}=. {}/src/prog.c"),
        ("clang-14", "-ffile-prefix-map={}=. {}/src/prog.c"),
        ("clang-14", "-fdebug-prefix-map={}/= {}/src/prog.c"),
        ("clang-14", "../src/prog.c"),
    ],
)
def test_sources_are_found_whose_folder_the_compiler_leaves_out(tmp_path, tool, compiler, source):
    for folder in ("src", "build", "build/parts"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "prog.c").write_text(CRASHING)
    arguments = source.replace("{}", str(tmp_path)).split()
    compiler = tool(compiler, compiler)
    build(tmp_path / "build", *arguments, "-c", "-o", "parts/prog.o", compiler=compiler)
    build(tmp_path / "build", "parts/prog.o", "-o", "prog", compiler=compiler)
    run, evidence = record(tmp_path, "nul\tbuild/prog n\nok\tbuild/prog\n")
    assert not run.problems
    assert str(evidence.stacks["nul"].innermost) == "src/prog.c:4 in put"
    failing = [result.name for result in evidence.tests].index("nul")
    lines = {str(evidence.elements.location(int(element))) for element in evidence.rows[failing]}
    assert {"src/prog.c:4", "src/prog.c:9"} <= lines
    assert "src/prog.c:5" not in lines


def test_a_folder_by_which_the_compiler_names_all_sources_is_said(tmp_path):
    (tmp_path / "prog.c").write_text(CRASHING)
    build(tmp_path, f"-ffile-prefix-map={tmp_path}=/usr/src/x", f"{tmp_path}/prog.c", "-o", "prog")
    run, _ = record(tmp_path, "nul\t./prog n\nok\t./prog\n")
    assert "their sources, such as /usr/src/x/prog.c, are not in the workspace" in run.problems[0].cause
    assert run.problems[1].cure.endswith("for example /usr/src/x=.")


def test_a_place_is_seen_from_where_the_file_was_compiled(tmp_path):
    for folder in ("tests", "build"):
        (tmp_path / folder).mkdir()
    says = 'printf("%s:3: ERROR: CHECK( no ) is NOT correct!\\n", __FILE__)'
    text = f"#include <stdio.h>\nint main(void) {{\n    return {says};\n}}\n"
    (tmp_path / "tests" / "check_it.c").write_text(text)
    build(tmp_path / "build", "../tests/check_it.c", "-o", "t")
    _, evidence = record(tmp_path, "odd\tcd build && ./t\n")
    assert str(evidence.stacks["odd"].innermost) == "tests/check_it.c:3"


@pytest.mark.parametrize("repaired", ["    return n + 1;", "    if (n < 9)\n        n--;\n    return n + 2;"])
def test_a_verdict_on_an_older_program_does_not_count(tmp_path, repaired):
    """The function in which the fault was has been repaired and built; of the other one nothing changed."""
    halves = "int low(int n) {\n%s\n}\nint high(int n) {\n    return n - 2;\n}\n"
    decides = "**(v + 1) == 'l' ? low(n) != 3 : high(n) != 1"
    main = f"int low(int), high(int);\nint main(int n, char **v) {{\n    return {decides};\n}}\n"
    (tmp_path / "a.c").write_text(halves % "    return n + 2;")
    (tmp_path / "main.c").write_text(main)
    build(tmp_path, "a.c", "main.c", "-o", "t")
    tests = "low\t./t l\nhigh\t./t h\nfine\ttrue\n"
    _, evidence = record(tmp_path, tests)
    assert {test.name for test in evidence.failing} == {"low", "high"}
    source = CRecordingSource(tmp_path)
    (tmp_path / "a.c").write_text(halves % repaired)
    assert {test.name for test in source.read().failing} == {"low", "high"}
    build(tmp_path, "a.c", "main.c", "-o", "t")
    assert {test.name for test in source.read().failing} == {"high"}
    _, evidence = record(tmp_path, tests + "again\t./t h\n", select=["again"])
    assert {test.name for test in evidence.failing} == {"high", "again"}
    said = [(problem.file, problem.cause) for problem in evidence.problems if problem.file == "a.c"]
    assert said == [("a.c", "it was changed and built since 1 test failed (low), so it does not count")]


RELATIVES = """\
#define _GNU_SOURCE
#include "parts.h"
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static sigjmp_buf back;
static void leave(int number) {
    exit(number);
}
static void jump(int number) {
    siglongjmp(back, number);
}
static void returns(int number) {
    (void)number;
}
static int behind(int n) {
    n = put(n);
    return n;
}
static int forever(int n) {
    volatile char room[64];
    room[n % 64] = 1, n = n > 0 ? forever(n + 1) : forever(1 - n);
    return n + room[1];
}
static int lower(int n) {
    memset(alloca(16 * n + (unsigned long)__builtin_frame_address(0) % 4096), 0, 16 * n + 1);
    return forever(1);
}
static int child(void) {
    pid_t pid = fork();
    if (pid == 0)
        kill(getpid(), SIGKILL);
    return waitpid(pid, 0, 0) != pid;
}
int main(int n, char **v) {
    int (*none)(int) = 0;
    sigset_t all;
    sigfillset(&all);
    struct sigaction once = {0};
    once.sa_handler = returns, once.sa_flags = SA_RESETHAND;
    struct rlimit little = {1 << 26, 1 << 26};
    switch (atoi(v[1])) {
    case 0: return child();
    case 1: n = put(n); break;
    case 2: signal(SIGSEGV, leave); n = put(n); break;
    case 3: n = lower(n > 2 ? atoi(v[2]) : 0); break;
    case 4: signal(SIGSEGV, SIG_DFL); n = put(n); break;
    case 5: n = none(n); break;
    case 6: n = system("./program 1"); break;
    case 7: signal(SIGSEGV, jump); n = sigsetjmp(back, 1) ? 0 : behind(n); break;
    case 8: raise(SIGQUIT); break;
    case 9: sigprocmask(SIG_BLOCK, &all, 0); n = put(n); break;
    case 10: sigaction(SIGSEGV, &once, 0); n = put(n); break;
    case 11: setrlimit(RLIMIT_AS, &little); while (malloc(1000)) n++; n = put(n); break;
    case 12: n = ((int (*)(void))1)(); break;
    case 13: if (vfork() == 0) execl("/bin/true", "true", (char *)0); n = put(n); break;
    case 14: execvpe("true", v, v + n); break;
    case 15: v[1] = "1"; syscall(SYS_execve, "/proc/self/exe", v, v + n); break;
    case 16: if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) _exit(behind(0) - 1); wait(0); break;
    case 17: if (vfork() == 0) n = put(n); break;
    case 18: if (vfork() == 0) kill(getpid(), SIGKILL); break;
    }
    return n;
}
"""
PARTS = "static char *nowhere;\nstatic inline int store(int n) {\n    *nowhere = n;\n    return n;\n}\nint put(int);\n"
PUT = '#include "parts.h"\nint put(int n) {\n    n = store(n);\n    return n;\n}\n'


def line_of(text):
    return f"program.c:{RELATIVES[: RELATIVES.index(text)].count(chr(10)) + 1}"


LAST = f"program.c:{RELATIVES.count(chr(10)) - 1}"


@pytest.fixture(scope="module", params=["gcc", "clang-14"])
def relatives(request, tool, tmp_path_factory):
    """A program and a library, in environments that a test changes."""
    workspace = tmp_path_factory.mktemp("relatives")
    compiler = tool(request.param, request.param)
    for name, text in {"program.c": RELATIVES, "parts.h": PARTS, "put.c": PUT}.items():
        (workspace / name).write_text(text)
    flags = [compiler, "-O0", "-g", "-w", "--coverage"]
    subprocess.run([*flags, "-fPIC", "-shared", "put.c", "-o", "libput.so"], cwd=workspace, check=True)
    subprocess.run([*flags, "program.c", "./libput.so", "-o", "program"], cwd=workspace, check=True)
    tests = {f"way{way}": f"./program {way}" for way in range(6)}
    tests |= {"empty": "env -i ./program 1", "elsewhere": "GCOV_PREFIX=there GCOV_PREFIX_STRIP=9 ./program 1"}
    tests |= {"loads": "LD_PRELOAD=./libput.so ./program 1", "starts": "env -i LD_PRELOAD= ./program 6"}
    loads = "import ctypes; ctypes.CDLL('./libput.so').put(1)"
    tests |= {f"way{way}": f"./program {way}" for way in range(7, 19)}
    tests |= {"way0 in Check": "./program 0; echo Test timeout expired"}
    tests |= {"loaded": f'{sys.executable} -c "{loads}"'}
    # where the stack lies decides which instruction of a call needs more than there is
    tests |= {f"room{room}": f"ulimit -s 256; ./program 3 {room}" for room in range(7)}
    run, evidence = record(workspace, "".join(f"{name}\t{command}\n" for name, command in tests.items()), timeout=20)
    rows = zip(evidence.tests, evidence.rows, strict=True)
    lines = {test.name: {str(evidence.elements.location(int(e))) for e in row} for test, row in rows}
    return workspace, run, lines, evidence


@pytest.mark.slow
def test_a_crash_in_a_header_of_a_library(relatives):
    workspace, _, lines, evidence = relatives
    crashed = [f"way{way}" for way in (1, 2, 4, 7, 9, 10, 11, 13, 15, 16, 17)]
    for name in (*crashed, "empty", "elsewhere", "loads", "starts", "loaded"):
        assert {"parts.h:3", "put.c:3"} <= lines[name], name
        assert not {"parts.h:4", "put.c:4"} & lines[name], name
        assert (LAST in lines[name]) == (name in ("starts", "way7", "way16", "way17")), name
    assert line_of("n = put(n);\n    return") in lines["way7"]
    assert line_of("return n;\n}\nstatic int f") not in lines["way7"]
    assert str(evidence.stacks["way1"].innermost) == "parts.h:3 in store"
    assert not [*workspace.glob("there*"), *workspace.glob("*.gcda")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [("way8", "raise(SIGQUIT)"), ("way12", "(int (*)(void))1"), ("way14", "execvpe("), ("way15", "syscall(SYS_execve")],
)
def test_an_end_that_is_rarer(relatives, name, text):
    assert line_of(text) in relatives[2][name]
    assert LAST not in relatives[2][name]


@pytest.mark.slow
def test_the_handler_of_a_signal_ends_the_program(relatives):
    assert line_of("exit(number)") in relatives[2]["way2"]


@pytest.mark.slow
def test_a_stack_overflows(relatives):
    for name in ("way3", *(f"room{room}" for room in range(7))):
        assert line_of("room[n % 64]") in relatives[2][name], name
        assert not {line_of("return n + room"), LAST} & relatives[2][name], name


@pytest.mark.slow
def test_a_null_pointer_is_called(relatives):
    assert line_of("n = none(n)") in relatives[2]["way5"]
    assert LAST not in relatives[2]["way5"]


@pytest.mark.slow
def test_a_process_that_left_no_profile_is_said(relatives):
    said = {problem.file: problem for problem in relatives[1].problems}
    assert sorted(said) == ["way0", "way0 in Check", "way18"]
    assert said["way0"].cause.startswith("a process of this test left no profile")
    assert "CK_FORK=no" in said["way0 in Check"].cure
    assert said["way18"].cause.startswith("a process with the memory of another one (vfork) was killed or crashed")


HIDDEN = """\
#include <err.h>
static int *nowhere;
static inline __attribute__((always_inline)) int store(int n) {
    *nowhere = n;
    return n;
}
static int fails(int n) {
    if (n > 2)
        err(n, "no");
    n = store(n);
    return n;
}
int main(int n, char **words) {
    n = n > 1 ? fails(n) : n;
    return n;
}
"""


@pytest.mark.slow
def test_calls_that_the_c_library_or_clang_hides(tool, tmp_path):
    (tmp_path / "t.c").write_text(HIDDEN)
    build(tmp_path, "t.c", "-o", "t", compiler=tool("clang-14", "clang-14"))
    _, evidence = record(tmp_path, "fine\t./t\nerr\t./t 1 2\ncrash\t./t 1\n")
    rows = zip(evidence.tests, evidence.rows, strict=True)
    lines = {test.name: {evidence.elements.location(int(e)).line for e in row} - {3, 7, 13} for test, row in rows}
    assert lines == {"fine": {14, 15}, "err": {8, 9, 14}, "crash": {4, 8, 10, 14}}


@pytest.mark.slow
def test_exceptions_that_cannot_be_followed_are_said(tool, tmp_path):
    (tmp_path / "t.cpp").write_text("int main() try {\n    throw 1;\n} catch (int) {\n    return 0;\n}\n")
    compiler = tool("clang-14", "clang-14").replace("clang", "clang++")
    build(tmp_path, "-static-libgcc", "-static-libstdc++", "t.cpp", "-o", "t", compiler=compiler)
    run, _ = record(tmp_path, "caught\t./t\n")
    (problem,) = run.problems
    assert problem.cause.startswith("its exceptions could not be followed, as it has an unwinder of its own:")


INLINED = """\
static int fails(int n) {
    if (n > 1)
        throw n;
    return n;
}
static inline __attribute__((always_inline)) int inlined(int n) {
    n = fails(n);
    return n;
}
static int around(int n) {
    n = inlined(n);
    return n;
}
int main(int n, char **) try {
    return around(n) == 9;
} catch (int) {
    return 0;
}
"""


@pytest.mark.slow
def test_inlined_calls_that_an_exception_left_are_said(tool, tmp_path):
    (tmp_path / "t.cpp").write_text(INLINED)
    build(tmp_path, "t.cpp", "-o", "t", compiler=tool("clang-14", "clang-14").replace("clang", "clang++"))
    run, _ = record(tmp_path, "fine\t./t\nthrown\t./t 1\n")
    assert [problem.file for problem in run.problems] == ["thrown"]
    assert run.problems[0].cause.startswith("exceptions or jumps left calls that the compiler had inlined")


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
@pytest.mark.parametrize("kept", ["p", "libpart.so"])
def test_optimisation_is_said_where_all_is_compiled_and_linked_at_once(tool, tmp_path, compiler, kept):
    """There is no object file, so it is seen in the program or the library; a ranking says it again."""
    path = tool(compiler, compiler)
    (tmp_path / "part.c").write_text("int part(int n) {\n    return n + 1;\n}\n")
    (tmp_path / "p.c").write_text("int part(int);\nint main(int n, char **v) {\n    return !v + part(n) > 2;\n}\n")
    flags = {name: "-O2" if name == kept else "-O0" for name in ("p", "libpart.so")}
    for arguments in (("part.c", "-fPIC", "-shared", "-o", "libpart.so"), ("p.c", "./libpart.so", "-o", "p")):
        command = [path, flags[arguments[-1]], "--coverage", *arguments]
        subprocess.run(command, cwd=tmp_path, check=True)
    run, evidence = record(tmp_path, "fine\t./p\nfails\t./p 1\n")
    for problems in (run.problems, evidence.problems):
        (problem,) = problems
        assert problem.cause.startswith("it was built with optimisation")
        assert kept.removesuffix(".so").removeprefix("lib") in problem.file


@pytest.mark.slow
@pytest.mark.parametrize(("how", "said"), [("-s", True), ("-static", True), ("-O0", False)])
def test_that_nothing_tells_of_optimisation_is_said(tmp_path, how, said):
    """Where all is compiled and linked at once, so that there is no object file, and the program says nothing."""
    (tmp_path / "p.c").write_text("int main(int n, char **v) {\n    return !v + n > 2;\n}\n")
    build(tmp_path, how, "p.c", "-o", "p")
    run, _ = record(tmp_path, "fine\t./p\nfails\t./p 1 2\n")
    assert [problem.cause.startswith("it can't be told whether") for problem in run.problems] == [True] * said


EXEC = 'execl("./t", "t", "1", "2", (char *)0);'
PROCESSES = """\
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int *nowhere;
static int store(int n) {
    *nowhere = n;
    return n;
}
static int fine(int n) {
    return n;
}
static int start(int n) {
    int child = fork();
    fine(n);
    if (child) {
        waitpid(child, 0, 0);
        store(1);
        fine(1);
    }
    return n;
}
static int becomes(int n) {
    if (n == 3) {
        n = store(n);
        return n;
    }
    fine(n);
    execl("./t", "t", "1", "2", (char *)0);
    return n;
}
static int several(int n) {
    n += 1; n = fine(
        fine(n) +
        store(n));
    return n;
}
int main(int n, char **words) {
    if (n == 1) {
        n = start(n);
        return 0;
    }
    if (n < 4) {
        n = becomes(n);
        return n;
    }
    n = several(n);
    return n;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang-14"])
def test_processes_that_part_and_calls_of_several_lines(tool, tmp_path, compiler):
    """What one process left, another one that it forked, or became, may have ended in."""
    (tmp_path / "t.c").write_text(PROCESSES)
    build(tmp_path, "t.c", "-o", "t", compiler=tool(compiler, compiler))
    _, evidence = record(tmp_path, "parts\t./t\nbecomes\t./t 1\nseveral\t./t 1 2 3\n")
    places = {
        test.name: {evidence.elements.location(int(element)).line for element in row}
        for test, row in zip(evidence.tests, evidence.rows, strict=True)
    }
    text = PROCESSES.splitlines()

    def ran(test, function):
        first = next(at for at, line in enumerate(text) if f" {function}(int n" in line and line.endswith("{"))
        last = text.index("}", first)
        return [line.strip() for at, line in enumerate(text[:last]) if at > first and at + 1 in places[test]]

    assert ran("parts", "main") == ["if (n == 1) {", "n = start(n);", "return 0;"]
    assert "fine(1);" not in ran("parts", "start")
    assert "return n;" in ran("parts", "start")
    assert ran("becomes", "becomes") == ["if (n == 3) {", "n = store(n);", "fine(n);", EXEC]
    assert ran("becomes", "main") == ["if (n == 1) {", "if (n < 4) {", "n = becomes(n);"]
    assert ran("several", "several") == ["n += 1; n = fine(", "fine(n) +", "store(n));"]
    assert ran("several", "main") == ["if (n == 1) {", "if (n < 4) {", "n = several(n);"]
