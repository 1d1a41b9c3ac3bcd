"""The whole job beside other tools: run the tests, rank the lines, find a known fault.

FauxPy (its spectrum-based family), SFLKit (lines), FLOSS and coverage.py with pytest-cov come from PyPI, each in an
environment of its own. The subjects are made from sdists, with one test or one character changed so that tests fail
because of a fault whose place is known, and a small one that this script writes. Each job starts in a fresh copy.

    python benchmarks/peers.py --rounds 3
    python benchmarks/peers.py --subject small --tool suspectra --tool FauxPy
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FASTER_THAN_FAUXPY, MANY_TESTS = 10, 1000  # the aim, on suites of at least so many tests
PYTEST = ("pytest>=8,<9",)  # the newest that all of them run with
Scores = Iterable[tuple[str, int, float]]  # file, line, suspiciousness


# subjects


@dataclass(frozen=True)
class Subject:
    """A project whose tests fail because of a fault that is known.

    `sdists` gives the source, and where a second is named, the tests. `package` lies in the sdist; `edits` are
    (file, old, new) with the old text found once, or nothing to add at the end; `faults` are files and lines.
    """

    name: str
    package: str
    make: Callable[[Path, Path, Subject], None]
    faults: tuple[tuple[str, int], ...]
    project: str = ""
    version: str = ""
    edits: tuple[tuple[str, str, str], ...] = ()
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()  # folders of the sdist that hold no tests

    @property
    def source(self) -> str:
        return Path(self.package).name


def from_sdist(folder: Path, python: Path, subject: Subject) -> None:
    """Package and tests side by side, whatever the layout of the sdist."""
    with tempfile.TemporaryDirectory() as scratch:
        wanted = f"{subject.project}=={subject.version}"
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "download"]
        subprocess.run([*pip, "--no-deps", "--no-binary", ":all:", "-d", scratch, wanted], check=True)
        with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as archive:
            archive.extractall(scratch, filter="data")
        (sdist,) = (p for p in Path(scratch).iterdir() if p.is_dir())
        shutil.copytree(sdist / subject.package, folder / subject.source)
        shutil.copytree(sdist / "tests", folder / "tests", ignore=shutil.ignore_patterns(*subject.without))
    for file, old, new in subject.edits:
        path = folder / file
        text = path.read_text() if path.exists() else ""
        if text.count(old) != 1 and old:
            sys.exit(f"{subject.name}: {old!r} is not found once in {file}")
        path.write_text(text.replace(old, new) if old else text + new)


def small(folder: Path, python: Path, subject: Subject) -> None:
    """Sixteen functions, forty tests; one of them has a wrong bound, and two tests see it."""
    (folder / "shapes").mkdir()
    (folder / "tests").mkdir()
    functions = [f"def clip_{n}(value, limit):\n{_body(n)}\n" for n in range(16)]
    (folder / "shapes" / "__init__.py").touch()
    (folder / "shapes" / "clip.py").write_text("\n\n".join(functions))
    tests = ["import pytest\n\nfrom shapes import clip\n"]
    values = {n: (0, 9) if n >= 8 else (0, 9, -3) for n in range(16)}
    values[5] = (0, 7, 10)  # the last two are within the bound and fail; 0 is far from it
    for n, given in values.items():
        cases = [(value, _right(n, value)) for value in given]
        tests.append(
            f"@pytest.mark.parametrize(('value', 'expected'), {cases})\n"
            f"def test_clip_{n}(value, expected):\n    assert clip.clip_{n}(value, {10 + n}) == expected\n"
        )
    (folder / "tests" / "test_clip.py").write_text("\n\n".join(tests))


def _body(n: int) -> str:
    wrong = n == 5  # takes what is up to ten below the bound for too much
    return (
        f"    if value < 0:\n        value = -value\n"
        f"    if value > limit{' - 10' if wrong else ''}:\n        value = limit\n    return value + {n}"
    )


def _right(n: int, value: int) -> int:
    return min(abs(value), 10 + n) + n


R1 = """

def test_comment_between_two_cte():
    (statement,) = sqlparse.parse("WITH a AS (), -- between\\n b AS () SELECT * FROM b;")
    assert statement.get_type() == "SELECT"
"""
R2 = """

def test_split_two_cases_in_begin():
    case = "x := CASE WHEN a THEN 1 ELSE 2 END;\\n"
    body = f"CREATE TRIGGER t AFTER UPDATE ON x FOR EACH ROW BEGIN\\n{case}{case}END;"
    assert len(sqlparse.split(body)) == 1
"""
SUBJECTS = (
    Subject("small", "shapes", small, (("shapes/clip.py", 44),)),
    Subject(
        "r1",
        "sqlparse",
        from_sdist,
        tuple(("sqlparse/sql.py", line) for line in (431, 432, 434)),
        "sqlparse",
        "0.4.3",
        (("tests/test_regressions.py", "", R1),),
    ),
    Subject(
        "r2",
        "sqlparse",
        from_sdist,
        (("sqlparse/engine/statement_splitter.py", 66), ("sqlparse/engine/statement_splitter.py", 71)),
        "sqlparse",
        "0.5.0",
        (("tests/test_split.py", "", R2),),
    ),
    Subject(
        "m1",
        "more_itertools",
        from_sdist,
        (("more_itertools/more.py", 1960),),
        "more-itertools",
        "10.5.0",
        (("more_itertools/more.py", "q + 1 if i <= r else q", "q + 1 if i < r else q"),),
    ),
    Subject(
        "large",
        "src/marshmallow",
        from_sdist,
        (("marshmallow/validate.py", 441),),
        "marshmallow",
        "3.26.1",
        (("marshmallow/validate.py", "length > self.max", "length >= self.max"),),
        ("simplejson",),
        ("mypy_test_cases",),
    ),
    Subject(
        "toml",
        "tomlkit",
        from_sdist,
        (("tomlkit/parser.py", 967),),
        "tomlkit",
        "0.15.2",
        (("tomlkit/parser.py", "if len(close) >= 6:", "if len(close) > 6:"),),
    ),
)


# tools


@dataclass(frozen=True)
class Tool:
    """What is installed, what a job runs (a list of commands), and where it leaves its scores."""

    name: str
    packages: tuple[str, ...]
    commands: Callable[[Path, Path, Subject], list[list[str]]]
    scores: Callable[[Path, Subject], Scores] | None = None
    leaves: str = ""  # a file that is there when the job was done, for tools without scores


def _pytest(python: Path) -> list[str]:
    return [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]


def plain(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    return [_pytest(python)]


def suspectra(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    ours = [sys.executable, "-m", "suspectra"]
    rank = [*ours, "rank", "--format", "json", "-o", "ranking.json"]
    return [[*ours, "record", "--", *_pytest(python)], rank]


def suspectra_scores(folder: Path, subject: Subject) -> Scores:
    for suspect in json.loads((folder / "ranking.json").read_text())["suspects"]:
        yield suspect["file"], suspect["line"], suspect["score"]


def coverage(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    config = folder.parent / "coverage.ini"  # nothing of the project's own settings
    config.write_text("[run]\nbranch = true\n")
    options = [
        f"--cov={subject.source}",
        "--cov-branch",
        "--cov-context=test",
        "--cov-report=",
        f"--cov-config={config}",
    ]
    return [[*_pytest(python), *options, "--junit-xml=results.xml"]]


def fauxpy(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    return [[*_pytest(python), "--src", subject.source, "--family", "sbfl", "--granularity", "statement"]]


def fauxpy_scores(folder: Path, subject: Subject) -> Scores:
    (path,) = folder.parent.rglob("Scores_Ochiai.csv")
    with path.open(newline="") as file:
        for place, score in list(csv.reader(file))[1:]:
            name, line = place.split("::")[:2]
            yield os.path.relpath(name, folder) if os.path.isabs(name) else name, int(line), float(score)


def floss(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    command = [str(python.parent / "floss"), "run", "-s", subject.source, "-t", "tests", "-f", "ochiai"]
    return [[*command, "-o", "report.json"]]


def floss_scores(folder: Path, subject: Subject) -> Scores:
    for file, found in json.loads((folder / "report.json").read_text())["files"].items():
        for line, scores in found.get("suspiciousness", {}).items():
            yield file, int(line), float(scores["ochiai"])


def sflkit(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    work = folder.parent
    (work / "sflkit.ini").write_text(
        f"[target]\npath={folder}\nlanguage=python\n"
        f"[events]\npredicates=line\nmetrics=Ochiai\npassing={work}/events/passing\nfailing={work}/events/failing\n"
        f"mapping={work}/mapping.json\n"
        f"[instrumentation]\npath={work}/instrumented\ninclude={subject.source}\n[test]\nrunner=pytest_runner\n"
    )
    command, config = str(python.parent / "sflkit"), f"{work}/sflkit.ini"
    # the command `sflkit run` of 0.5.7 ends with a TypeError, so the tests are run by the function behind it
    script = "import sys, pathlib; from sflkit.runners.run import PytestRunner; "
    script += "PytestRunner().run(*map(pathlib.Path, sys.argv[1:]))"
    return [
        [command, "instrument", "-c", config],
        [str(python), "-c", script, f"{work}/instrumented", f"{work}/events"],
        [command, "analyze", "-c", config, "-o", f"{work}/out.json"],
    ]


def sflkit_scores(folder: Path, subject: Subject) -> Scores:
    for suggestion in json.loads((folder.parent / "out.json").read_text())["LINE"]["Ochiai"]:
        for place in suggestion["locations"]:
            file, _, line = place.rpartition(":")
            yield file, int(line), suggestion["suspiciousness"]


TOOLS = (
    Tool("pytest", (), plain),
    Tool("suspectra", (), suspectra, suspectra_scores),
    Tool("coverage.py", ("coverage>=7.10", "pytest-cov>=6"), coverage, leaves=".coverage"),
    Tool("FLOSS", ("floss==0.1.0", "pytest-cov>=6"), floss, floss_scores),
    Tool("FauxPy", ("fauxpy==0.7.0",), fauxpy, fauxpy_scores),
    Tool("SFLKit", ("sflkit==0.5.7",), sflkit, sflkit_scores),
)


def environment_of(tool: Tool, cache: Path) -> Path:
    """The interpreter of a tool's environment, made once. Suspectra runs the tests of the plain one."""
    name = "pytest" if tool.name == "suspectra" else tool.name.lower()
    home = cache / "peers" / f"{name}-py{sys.version_info[0]}{sys.version_info[1]}"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"installing {name} …", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        needs = {need for subject in SUBJECTS for need in subject.needs}
        packages = [*tool.packages, *PYTEST, *sorted(needs)]
        subprocess.run(
            [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", *packages], check=True
        )
        (home / "ready").touch()
    return python


# measuring


@dataclass
class Job:
    """What one job took; `ended` says how, where it did not end as it should."""

    seconds: float
    cpu: float
    megabytes: float
    ended: str = ""
    ranks: tuple[int, int] | None = None


def run(commands: list[list[str]], folder: Path, environment: dict[str, str], timeout: float, log: Path) -> Job:
    """Run the commands of a job one after the other, as long as the time lasts.

    Peak memory is that of the largest process, as the kernel counts it for a process and those it waited for.
    """
    job, end = Job(0, 0, 0), time.monotonic() + timeout
    with log.open("wb") as out:
        for command in commands:
            started = time.perf_counter()
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            alarm = threading.Timer(max(0.1, end - time.monotonic()), os.killpg, (process.pid, signal.SIGKILL))
            alarm.start()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            alarm.cancel()
            job.seconds += time.perf_counter() - started
            job.cpu += used.ru_utime + used.ru_stime
            job.megabytes = max(job.megabytes, used.ru_maxrss / 1024)
            if process.returncode < 0:
                job.ended = f"> {timeout:.0f} s" if time.monotonic() >= end else f"signal {-process.returncode}"
                break
            if process.returncode > 1:
                job.ended = f"status {process.returncode}"
                break
    return job


def rank_of(scores: Scores, faults: set[tuple[str, int]], source: str) -> tuple[int, int] | None:
    """Best and worst rank of the best faulty line among the lines of the package."""
    scored: dict[tuple[str, int], float] = {}
    for file, line, score in scores:
        if file.startswith(source + "/"):
            scored[file, line] = max(score, scored.get((file, line), score))
    best = max((scored[place] for place in faults if place in scored), default=None)
    if best is None:
        return None
    return 1 + sum(s > best for s in scored.values()), sum(s >= best for s in scored.values())


def jobs(tool: Tool, subject: Subject, original: Path, cache: Path, timeout: float) -> Job:
    python = environment_of(tool, cache)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / subject.name
        shutil.copytree(original, folder)
        path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV", "PYTHON", "SUSPECTRA"))
        }
        job = run(
            tool.commands(python, folder, subject), folder, environment | {"PATH": path}, timeout, folder.parent / "log"
        )
        if not job.ended and not (folder / tool.leaves).exists():
            job.ended = f"left no {tool.leaves}"
        if tool.scores and not job.ended:
            try:
                job.ranks = rank_of(tool.scores(folder, subject), set(subject.faults), subject.source)
                job.ended = "" if job.ranks else "fault not ranked"
            except (OSError, ValueError, KeyError, TypeError) as error:
                job.ended = "no ranking"
                print(f"    {tool.name} left no ranking of {subject.name}: {error!r}", flush=True)
        if job.ended and not job.ended.startswith(">"):
            kept = cache / "peers" / f"{tool.name}-{subject.name}.log"
            shutil.copy(folder.parent / "log", kept)
            print(f"    its output: {kept}", flush=True)
    return job


def prepare(subject: Subject, cache: Path) -> tuple[Path, dict[str, int]]:
    """The subject's folder, made anew, and how many of its tests there are and fail."""
    folder = cache / "peers" / "subjects" / subject.name
    python = environment_of(TOOLS[0], cache)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subject.make(folder, python, subject)
    (folder / "conftest.py").touch()  # so that a bare `pytest`, which some of the tools start, finds the package
    command = [*_pytest(python), "--junit-xml=../counts.xml"]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    from defusedxml import ElementTree

    suite = next(ElementTree.parse(folder.parent / "counts.xml").iter("testsuite"))
    tests, failures, errors = (int(suite.get(name, "0")) for name in ("tests", "failures", "errors"))
    counts = {"tests": tests, "failing": failures + errors}
    if not 0 < counts["failing"] < counts["tests"] / 10:
        sys.exit(f"{subject.name}: {counts['failing']} of {counts['tests']} tests fail, which is not as planned")
    for left in folder.rglob("__pycache__"):
        shutil.rmtree(left)
    return folder, counts


def figures(found: list[Job], plain_jobs: list[Job]) -> dict[str, Any]:
    ended = [job.ended for job in found if job.ended]
    seconds = statistics.median(job.seconds for job in found)
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(statistics.median(job.cpu for job in found), 2),
        "peak_mb": round(statistics.median(job.megabytes for job in found)),
        "over_plain": round(seconds / statistics.median(job.seconds for job in plain_jobs), 2),
        "rank": found[-1].ranks,
        "ended": ended[0] if ended else "",
    }


def rows(results: dict[str, Any]) -> Iterator[str]:
    yield "| subject | tool | seconds | × plain | peak MB | rank of the fault |"
    yield "|---|---|---:|---:|---:|---:|"
    for subject, result in results.items():
        for tool, found in result["tools"].items():
            late = found["ended"].startswith(">")
            seconds = found["ended"] if late else f"{found['seconds']:.2f}"
            ratio = f"> {found['over_plain']:.0f}" if late else f"{found['over_plain']:.2f}"
            rank = "–".join(map(str, sorted(set(found["rank"])))) if found["rank"] else ("" if late else found["ended"])
            title = f"{subject} ({result['tests']} tests, {result['failing']} fail)"
            yield f"| {title} | {tool} | {seconds} | {ratio} | {found['peak_mb']} | {rank} |"


def verdict(results: dict[str, Any]) -> dict[str, Any]:
    """The two aims: against FauxPy on large suites, and against coverage.py with contexts everywhere."""

    def ratio(result: dict[str, Any], tool: str) -> float | None:
        seconds: dict[str, float] = {name: found["seconds"] for name, found in result["tools"].items()}
        if tool not in seconds or "suspectra" not in seconds:
            return None
        return round(seconds[tool] / seconds["suspectra"], 2)  # at least, where it ran out of time

    faux = {name: ratio(r, "FauxPy") for name, r in results.items() if r["tests"] >= MANY_TESTS}
    cover = {name: ratio(r, "coverage.py") for name, r in results.items()}
    return {"fauxpy_over_suspectra": faux, "coverage_over_suspectra": cover}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=600, help="seconds a job may take")
    parser.add_argument("--subject", action="append", choices=[s.name for s in SUBJECTS])
    parser.add_argument("--tool", action="append", choices=[t.name for t in TOOLS])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    tools = [t for t in TOOLS if not options.tool or t.name in (*options.tool, "pytest")]
    for tool in tools:
        environment_of(tool, options.cache)
    results = {}
    for subject in SUBJECTS:
        if options.subject and subject.name not in options.subject:
            continue
        original, counts = prepare(subject, options.cache)
        found: dict[str, list[Job]] = {tool.name: [] for tool in tools}
        for _ in range(options.rounds):
            for tool in tools:
                if any(job.ended.startswith(">") for job in found[tool.name]):
                    continue  # out of time once is enough
                job = jobs(tool, subject, original, options.cache, options.timeout)
                found[tool.name].append(job)
                print(f"  {subject.name:6} {tool.name:12} {job.seconds:8.2f} s {job.ended}", flush=True)
        results[subject.name] = counts | {"tools": {n: figures(j, found["pytest"]) for n, j in found.items()}}
    print("\n".join(rows(results)))
    aims = verdict(results)
    for name, ratio in aims["fauxpy_over_suspectra"].items():
        if ratio:
            print(f"FauxPy takes {ratio:.1f}× as long as Suspectra on {name} (aim: at least {FASTER_THAN_FAUXPY}×)")
    for name, ratio in aims["coverage_over_suspectra"].items():
        if ratio:
            print(f"coverage.py with contexts, without a ranking, takes {ratio:.2f}× as long on {name} (aim: above 1)")
    print(
        json.dumps(
            {"benchmark": "peers", "rounds": options.rounds, "timeout": options.timeout, **aims, "subjects": results}
        )
    )


if __name__ == "__main__":
    main()
