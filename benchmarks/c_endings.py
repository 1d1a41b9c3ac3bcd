"""How exactly the lines of C and C++ programs are known that end in other ways than by return, by end and compiler.

Each statement of the programs in `c_ends` notes its line in memory that outlives the process, and so says itself what
ran. Each end is recorded as a test of its own, and the lines that its evidence has are compared with those.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from suspectra.c.recording.run import record_c
from suspectra.c.recording.suites import shell_suite
from suspectra.evidence.c.source import CRecordingSource

PROGRAMS = Path(__file__).with_name("c_ends")
COMMON = ("program.c", "program.cpp")
SUBJECTS = (
    *COMMON,
    "rarer.c",
    "rarer.cpp",
    "thrown.cpp",
    "coroutines.cpp",
    "processes.c",
    "expressions.c",
    "classes.cpp",
)
FIRST_NOTE = {**dict.fromkeys(SUBJECTS, 0), "part.c": 1000, "part.h": 2000, "loaded.c": 3000}
CPP = ["-std=c++20", "-w"]
OPTIMISED = "it was built with optimisation"
NAMED_TOGETHER = 8  # a problem of more tests does not name all of them
COMPILERS = (
    "gcc",
    "clang-14",
    "gcc -fsanitize=address,undefined -fno-sanitize-recover=all",
    "clang-14 -fsanitize=undefined -fno-sanitize-recover=all",
    "clang-14 -fsanitize=address",
)


def ends(program: str) -> list[str]:
    """The ends that a program has."""
    return re.findall(r'WAY\("(.*?)"\)', (PROGRAMS / program).read_text())


def noting_lines(program: str) -> Iterator[tuple[str, int]]:
    """The lines that note that they ran."""
    for file in (program, "part.c", "part.h", "loaded.c"):
        for number, text in enumerate((PROGRAMS / file).read_text().splitlines(), 1):
            if re.match(r"\s*(RAN;|\(RAN,|IN_HEADER;)", text):
                yield file, number


def compiles(program: str, compiler: str) -> bool:
    """Whether a compiler knows what a C++ program uses."""
    command = [in_cpp(compiler), *CPP, "-fsyntax-only", program]
    return subprocess.run(command, cwd=PROGRAMS, capture_output=True, check=False).returncode == 0


def in_cpp(compiler: str) -> str:
    """The compiler of the same version for C++."""
    return compiler.replace("gcc", "g++").replace("clang", "clang++")


def build(folder: Path, program: str, compiler: list[str]) -> None:
    """Build a program and its library with coverage."""
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    flags = [
        "-O0",
        "-g",
        "-w",
        "-pthread",
        "--coverage",
        "-fprofile-update=atomic",
        "-fstack-protector-all",
        *compiler[1:],
    ]
    language = []
    plus = compiler[0]
    if program.endswith("cpp"):
        plus, language = in_cpp(plus), CPP
    subprocess.run([compiler[0], *flags, "-fPIC", "-shared", "part.c", "-o", "libpart.so"], cwd=folder, check=True)
    subprocess.run([compiler[0], *flags, "-fPIC", "-shared", "loaded.c", "-o", "loaded.so"], cwd=folder, check=True)
    subprocess.run([plus, *flags, *language, program, "./libpart.so", "-o", "program"], cwd=folder, check=True)


def measure(program: str, words: str, timeout: float) -> Iterator[tuple[str, str]]:
    """For each end, how exactly its lines are known."""
    compiler = words.split()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder, program, compiler)
        names = dict(enumerate(dict.fromkeys(ends(program))))
        for number in names:
            (folder / f"{number}.ran").write_bytes(bytes(4096))
        tests = [f"{number}\t./program {number}.ran {shlex.quote(end)}\n" for number, end in names.items()]
        (folder / "tests.tsv").write_text("".join(tests))
        suite = shell_suite(folder, "tests.tsv")
        said = ""
        for few in batched(map(str, names), NAMED_TOGETHER):
            run = record_c(folder, suite, timeout=timeout, select=few)
            said += " ".join(f"{problem.file}, {problem.cause}\n" for problem in run.problems)
        evidence = CRecordingSource(folder).read()
        said += " ".join(f"{problem.file}, {problem.cause}\n" for problem in evidence.problems)
        noting = set(noting_lines(program))
        for test, row in zip(evidence.tests, evidence.rows, strict=True):
            places = map(evidence.elements.location, row.tolist())
            found = {(place.file, place.line) for place in places} & noting
            notes = (folder / f"{test.name}.ran").read_bytes()
            ran = {(file, line) for file, line in noting if notes[FIRST_NOTE[file] + line]}
            yield (
                names[int(test.name)],
                verdict(len(ran - found), len(found - ran), is_said(test.name, said)),
            )


def is_said(test: str, problems: str) -> bool:
    """Whether a problem names a test, or warns of all that the program executes."""
    return OPTIMISED in problems or re.search(rf"\b{test}(, | and |\))", problems) is not None


def verdict(missing: int, extra: int, said: bool) -> str:
    """A cell of the table."""
    wrong = [f"{missing} missing"] * bool(missing) + [f"{extra} too many"] * bool(extra)
    return ", ".join([*(wrong or ["exact"]), *(["said"] if said else [])])


def batched(names: Iterable[str], size: int) -> Iterator[list[str]]:
    """The names, a few at a time."""
    rest = list(names)
    while rest:
        yield rest[:size]
        rest = rest[size:]


def main() -> None:
    """Print a row for each end, with a column for each compiler."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compilers", nargs="*", default=COMPILERS, help="each with its flags")
    parser.add_argument("--programs", nargs="*", default=SUBJECTS, choices=SUBJECTS, help="only these")
    parser.add_argument("--timeout", type=float, default=5, help="the time limit of each test, in seconds")
    chosen = parser.parse_args()
    table: dict[str, dict[str, str]] = {}
    for words in chosen.compilers:
        for program in chosen.programs:
            if program == "coroutines.cpp" and not compiles(program, words.split()[0]):
                print(f"{words} does not know the coroutines of C++20", file=sys.stderr)
                continue
            for end, cell in measure(program, words, chosen.timeout):
                table.setdefault(end, {})[words] = cell
    print("|", " | ".join(["the program ends by", *chosen.compilers]), "|")
    print("|---" * (len(chosen.compilers) + 1) + "|")
    for end in dict.fromkeys(end for program in chosen.programs for end in ends(program) if end in table):
        print("|", " | ".join([end, *(table[end].get(words, "") for words in chosen.compilers)]), "|")
    common = {end for program in COMMON for end in ends(program)}
    for name, those in (("most frequent", table.keys() & common), ("rarer", table.keys() - common)):
        for words in chosen.compilers:
            cells = [table[end][words] for end in those if words in table[end]]
            exact = sum("exact" in cell for cell in cells)
            said = sum("exact" not in cell and "said" in cell for cell in cells)
            silent = len(cells) - exact - said
            print(f"{words}, {len(cells)} {name} ends: {exact} exact, {said} not exact and said, {silent} in silence")


if __name__ == "__main__":
    main()
