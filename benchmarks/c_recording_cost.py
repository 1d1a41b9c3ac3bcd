"""What recording costs for short tests of C: 100 tests of 10 ms, by gcc and by clang, as ratios to the plain suite.

Times are of the processor, with all that is started: the plain suite is a loop of the shell over the same commands.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS, ROUNDS = 100, 3

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double used(void) { return (double)clock() / CLOCKS_PER_SEC; }
static int half(int n) {
    if (n % 2)
        return n / 2 + 1; /* fault */
    return n / 2;
}
int main(int count, char **words) {
    int n = count > 1 ? atoi(words[1]) : 0;
    while (used() < MILLISECONDS / 1000.0)
        ;
    return half(n) != n / 2;
}
"""


def processor_seconds(command: list[str], folder: Path) -> float:
    """The processor time of a command with all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(compiler: str, milliseconds: int, folder: Path) -> tuple[float, float]:
    """The least seconds of the plain suite and of its recording."""
    (folder / "main.c").write_text(PROGRAM)
    flags = ["-O0", "-g", f"-DMILLISECONDS={milliseconds}", "main.c", "-o"]
    subprocess.run([compiler, *flags, "plain"], cwd=folder, check=True)
    subprocess.run([compiler, "--coverage", *flags, "counted"], cwd=folder, check=True)
    commands = [f"./counted {n}" for n in range(TESTS)]
    (folder / "tests.tsv").write_text("".join(f"{n}\t{command}\n" for n, command in enumerate(commands)))
    (folder / "plain.sh").write_text("".join(f"sh -c './plain {n}'\n" for n in range(TESTS)))
    record = [sys.executable, "-m", "suspectra", "record-c", "--shell", "tests.tsv", "--jobs", "1"]
    plain, recorded = [], []
    for _ in range(ROUNDS):
        plain.append(processor_seconds(["sh", "plain.sh"], folder))
        shutil.rmtree(folder / ".suspectra", ignore_errors=True)
        recorded.append(processor_seconds(record, folder))
    return min(plain), min(recorded)


def main() -> None:
    """Print a line for each compiler and length of tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compilers", nargs="*", default=["gcc", "clang-14"])
    parser.add_argument("--milliseconds", nargs="*", type=int, default=[10, 1])
    chosen = parser.parse_args()
    print(f"{os.cpu_count()} processors; {TESTS} tests; least of {ROUNDS} rounds, in seconds of the processor")
    for compiler in chosen.compilers:
        for milliseconds in chosen.milliseconds:
            with tempfile.TemporaryDirectory() as folder:
                plain, recorded = measure(compiler, milliseconds, Path(folder))
            ratio = f"plain {plain:5.2f}, recorded {recorded:5.2f}: {recorded / plain:.2f}x"
            print(f"{compiler:10} {milliseconds:3} ms a test: {ratio}", flush=True)


if __name__ == "__main__":
    main()
