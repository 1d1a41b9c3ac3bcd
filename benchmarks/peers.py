"""The whole job beside other tools: run the tests, rank the lines, find a known fault.

FauxPy (its spectrum-based family), SFLKit (lines), FLOSS and coverage.py with pytest-cov come from PyPI, each in an
environment of its own. `peer_subjects.py` makes the subjects. Each job starts in a fresh copy. With `--experiments`,
FauxPy's predicate switching and its mutation analysis are measured beside our own experiments, on a few subjects.

    python benchmarks/peers.py --rounds 3
    python benchmarks/peers.py --subject small --tool suspectra --tool FauxPy
    python benchmarks/peers.py --experiments --rounds 1
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
import tempfile
import threading
import time
import venv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer_subjects import SUBJECTS, Subject

FASTER_THAN_FAUXPY, MANY_TESTS = 10, 1000  # the aim, on suites of at least so many tests
PYTEST = ("pytest>=8,<9",)  # the newest that all of them run with
EXPERIMENTS_ON = ("small", "r1", "r2")
INVESTIGATION_S = 20  # seconds that our own experiments get
Scores = Iterable[tuple[str, int, float]]  # file, line, suspiciousness
Commands = Callable[[Path, Path, Subject], list[list[str]]]  # interpreter, folder


# tools


@dataclass(frozen=True)
class Tool:
    """What is installed, what a job runs (a list of commands), and where it leaves its scores."""

    name: str
    packages: tuple[str, ...]
    commands: Commands
    scores: Callable[[Path, Subject], Scores] | None = None
    leaves: str = ""  # a file that is there when the job was done, for tools without scores
    experiments: bool = False  # runs altered programs


def _pytest(python: Path) -> list[str]:
    return [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]


def plain(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    return [_pytest(python)]


def suspectra(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
    ours = [sys.executable, "-m", "suspectra"]
    rank = [*ours, "rank", "--format", "json", "-o", "ranking.json"]
    return [[*ours, "record", "--", *_pytest(python)], rank]


def investigating(technique: str) -> Commands:
    """Recording, and experiments of one technique with all failing tests."""

    def commands(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
        ours = [sys.executable, "-m", "suspectra"]
        options = ["--technique", technique, "--seconds", str(INVESTIGATION_S), "--top", "1"]
        pytest = _pytest(python)[:-1]  # without tests
        rank = [*ours, "rank", "--technique", technique, "--format", "json", "-o", "ranking.json"]
        return [suspectra(python, folder, subject)[0], [*ours, "investigate", *options, "--", *pytest], rank]

    return commands


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


def fauxpy(family: str) -> Commands:
    def commands(python: Path, folder: Path, subject: Subject) -> list[list[str]]:
        return [[*_pytest(python), "--src", subject.source, "--family", family, "--granularity", "statement"]]

    return commands


def fauxpy_scores(table: str) -> Callable[[Path, Subject], Scores]:
    def scores(folder: Path, subject: Subject) -> Scores:
        paths = list(folder.parent.rglob(table))
        if not paths:
            raise FileNotFoundError(table)
        for path in paths:  # of predicate switching, one for each failing test
            with path.open(newline="") as file:
                for place, score in list(csv.reader(file))[1:]:
                    name, line = place.split("::")[:2]
                    yield os.path.relpath(name, folder) if os.path.isabs(name) else name, int(line), float(score)

    return scores


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


FAUXPY = ("fauxpy==0.7.0",)
TOOLS = (
    Tool("pytest", (), plain),
    Tool("suspectra", (), suspectra, suspectra_scores),
    Tool("coverage.py", ("coverage>=7.10", "pytest-cov>=6"), coverage, leaves=".coverage"),
    Tool("FLOSS", ("floss==0.1.0", "pytest-cov>=6"), floss, floss_scores),
    Tool("FauxPy", FAUXPY, fauxpy("sbfl"), fauxpy_scores("Scores_Ochiai.csv")),
    Tool("SFLKit", ("sflkit==0.5.7",), sflkit, sflkit_scores),
    Tool("suspectra switching", (), investigating("switching"), suspectra_scores, experiments=True),
    Tool("suspectra Metallaxis", (), investigating("metallaxis"), suspectra_scores, experiments=True),
    Tool("FauxPy switching", FAUXPY, fauxpy("ps"), fauxpy_scores("Scores_*.csv"), experiments=True),
    Tool("FauxPy Metallaxis", FAUXPY, fauxpy("mbfl"), fauxpy_scores("Scores_Metallaxis.csv"), experiments=True),
)


def environment_of(tool: Tool, cache: Path) -> Path:
    """The interpreter of a tool's environment, made once. Suspectra runs the tests of the plain one."""
    name = tool.name.split()[0].lower()
    name = "pytest" if name == "suspectra" else name
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
    parser.add_argument("--experiments", action="store_true", help="the tools that run altered programs")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "suspectra" / "benchmarks")
    options = parser.parse_args()
    wanted = options.tool or [t.name for t in TOOLS if t.experiments == options.experiments]
    tools = [t for t in TOOLS if t.name in (*wanted, "pytest")]
    for tool in tools:
        environment_of(tool, options.cache)
    results = {}
    for subject in SUBJECTS:
        few = EXPERIMENTS_ON if options.experiments else [s.name for s in SUBJECTS]
        if subject.name not in (options.subject or few):
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
