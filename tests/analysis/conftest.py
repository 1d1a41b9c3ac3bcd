import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from suspectra.cli.main import run
from suspectra.dependences.trace import DependenceTrace
from suspectra.experiments.alterations.alternates import Alternate
from suspectra.experiments.alterations.replacing import Replacement, ValuePlace
from suspectra.experiments.alterations.switching import SwitchedDecision
from suspectra.experiments.altered_runs import Alteration
from suspectra.experiments.run_answers import DecisionSite
from suspectra.program import Program
from suspectra.program.flow_graph import FlowGraph
from suspectra.spectrum import EdgeKind, Edges, Elements, Function, Spectrum

FIXTURES = Path(__file__).parents[1] / "fixtures"


def run_pytest(folder: Path, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess:
    """Run pytest as a user would."""
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def measured_shops(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes the shop with `.coverage` and `results.xml`; one run of its tests for each set of arguments."""
    made: dict[tuple[str, ...], Path] = {}

    def make(*arguments: str) -> Path:
        if arguments not in made:
            folder = tmp_path_factory.mktemp("shop") / "shop"
            shutil.copytree(FIXTURES / "shop", folder)
            reports = "--cov=src", "--cov=tests", "--junit-xml=results.xml"
            done = run_pytest(folder, "-p", "rerunfailures", *reports, *arguments)
            assert (folder / ".coverage").exists(), done.stdout + done.stderr
            made[arguments] = folder
        return made[arguments]

    return make


@pytest.fixture
def shop(measured_shops: Callable[..., Path], tmp_path: Path) -> Path:
    """A copy of the shop after a run with branches and contexts, to be damaged at will."""
    measured, folder = measured_shops("--cov-branch", "--cov-context=test"), tmp_path / "shop"
    shutil.copytree(measured, folder)
    with closing(sqlite3.connect(folder / ".coverage")) as db, db:
        db.execute("update file set path = replace(path, ?, ?)", (str(measured), str(folder)))
    return folder


@pytest.fixture
def asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict]:
    """Records the failing tests of a folder, and gives the JSON that a command prints about them."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]

    def ask(*arguments: str) -> dict:
        record = [sys.executable, "-m", "suspectra", "record", "--", *command, "-q"]
        assert subprocess.run(record, cwd=tmp_path, capture_output=True, check=False).returncode == 1
        run([*arguments, "--format", "json", "--workspace", str(tmp_path), "--", *command])
        return json.loads(capsys.readouterr().out)

    return ask


@pytest.fixture(scope="session")
def processes_with() -> Callable[[str], list[int]]:
    """Finds the processes whose command line contains a text, but for this one and those that have ended."""

    def find(mark: str) -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if mark in words and state not in "ZX" and folder.name != str(os.getpid()):
                found.append(int(folder.name))
        return found

    return find


# paper 000, Figure 1: blocks b1 to b4 (after entry 0 and exit 1), edges e1 to e6, which of seven tests takes which
BLOCKS = {2: [1], 3: [2, 3, 4, 5], 4: [6, 7, 8], 5: [9]}
EDGES = {(0, 2): "1234567", (2, 3): "1356", (2, 5): "247", (3, 4): "3", (3, 5): "156", (4, 5): "3"}
FAILED = "36"


@pytest.fixture(scope="session")
def recorded_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in Python with a recording of its tests; not to be changed."""
    folder = tmp_path_factory.mktemp("recorded") / "ledger"
    example = Path(__file__).parents[2] / "examples" / "ledger"
    shutil.copytree(example, folder, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    command = [sys.executable, "-m", "suspectra", "record", "--", sys.executable, "-m", "pytest", "-q"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    return folder


@pytest.fixture
def figure_1() -> tuple[Spectrum, Program]:
    """The excerpt of `schedule`: statement s1 is line 1, and so on."""
    runs = [[e for e, taken in EDGES.items() if t in taken] for t in "1234567"]
    column = {edge: i for i, edge in enumerate(EDGES)}
    lines = [sorted(line for block in {target for _, target in run} for line in BLOCKS[block]) for run in runs]
    line, zeros = np.arange(1, 10, dtype=np.int32), np.zeros(9, np.int32)
    spectrum = Spectrum(
        tuple(f"t{t}" for t in "1234567"),
        np.array([t in FAILED for t in "1234567"]),
        Elements(("schedule.c",), zeros, line, line, zeros, (Function(0, "upgrade_prio", 1, 9),)),
        tuple(np.array(run, np.int32) - 1 for run in lines),
        np.ones(9, bool),
        Edges(zeros[:6], *np.array(list(EDGES), np.int32).T, zeros[:6], EdgeKind.BLOCK),
        tuple(np.array(sorted(column[edge] for edge in run), np.int32) for run in runs),
    )
    edges = [(*edge, i) for i, edge in enumerate(EDGES)]
    executed = [(block, line - 1) for block, lines in BLOCKS.items() for line in lines]
    return spectrum, Program((), (FlowGraph.from_edges(0, 6, edges, executed),))


def rows_of(name: str, runs: list[list[int]]) -> dict[str, np.ndarray]:
    """The arrays of a corpus for one row of columns a run; equal rows are stored once."""
    unique = sorted({tuple(sorted(run)) for run in runs})
    return {
        f"{name}_row": np.array([unique.index(tuple(sorted(run))) for run in runs], np.int32),
        f"{name}_indptr": np.cumsum([0, *map(len, unique)]).astype(np.int32),
        f"{name}_indices": np.array([column for row in unique for column in row], np.uint16),
    }


@pytest.fixture
def mini_corpus(tmp_path: Path) -> Path:
    """Three subjects: Figure 1 as compiled code, a Python function with arcs, and lines without edges."""
    folder = tmp_path / "corpus"
    (folder / "small").mkdir(parents=True)
    runs = ["1234567".index(t) for t in "1234567"]
    edges = list(EDGES)
    taken = [[i for i, edge in enumerate(edges) if t in EDGES[edge]] for t in "1234567"]
    np.savez_compressed(
        folder / "small" / "schedule.npz",
        tests=np.array([f"t{t}" for t in "1234567"]),
        outcomes=np.array([t in FAILED for t in "1234567"], np.uint8),
        elements=np.array([f"schedule.c:{line}" for line in range(1, 10)]),
        faulty=np.array([1], np.int32),
        functions=np.array(["upgrade_prio|schedule.c|1|9"]),
        edges=np.array([(0, *edge) for edge in edges], np.int32),
        block_lines=np.array([(0, block, line) for block, lines in BLOCKS.items() for line in lines], np.int32),
        **rows_of("cov", [[line - 1 for edge in taken[run] for line in BLOCKS[edges[edge][1]]] for run in runs]),
        **rows_of("edge", taken),
    )
    arcs = [(-1, 2), (2, 3), (3, 4), (3, 6), (4, 7), (6, 7), (7, -1)]
    high, low = [0, 1, 2, 4, 6], [0, 1, 3, 5, 6]
    np.savez_compressed(
        folder / "small" / "price.npz",
        outcomes=np.array([1, 0, 0], np.uint8),
        elements=np.array([f"shop.py:{line}" for line in (7, 1, 2, 3, 4, 6, 10)]),  # in no order
        faulty=np.array([4], np.int32),
        functions=np.array(["shop.py", "unused.py"]),
        edges=np.array([(0, *arc) for arc in arcs], np.int32),
        **rows_of("cov", [[0, 2, 3, 4], [0, 2, 3, 5], [0, 2, 3, 4, 5]]),
        **rows_of("edge", [high, low, [*high, 3, 5]]),
    )
    np.savez_compressed(
        folder / "small" / "lines.npz",
        outcomes=np.array([1, 0], np.uint8),
        elements=np.array(["a.c:5", "a.c:9", "b.c:2"]),
        faulty=np.array([0, 2], np.int32),
        **rows_of("cov", [[0, 1], [1]]),
    )
    names = [("compiled", "schedule"), ("python", "price"), ("bare", "lines")]
    index = "".join(f"{family},{name},small/{name}.npz\n" for family, name in names)
    (folder / "index.csv").write_text("family,subject,path\n" + index)
    return folder


@pytest.fixture
def versions_of_one_program(tmp_path: Path) -> Path:
    """Three versions with equal statements, each of which fails a test that no other fails."""
    folder = tmp_path / "versions"
    folder.mkdir()
    covered = [[0, 1, 2], [0, 2, 3], [0, 4], [0, 1, 2, 3, 4]]
    for name, faulty, failing in (("v1", 1, (0,)), ("v2", 3, (1,)), ("v3", 4, (2, 3))):
        np.savez_compressed(
            folder / f"{name}.npz",
            tests=np.array(list("abcd")),
            outcomes=np.array([test in failing for test in range(4)], np.uint8),
            elements=np.array([f"m.c:{line}" for line in range(1, 6)]),
            faulty=np.array([faulty], np.int32),
            **rows_of("cov", covered),
        )
    index = "".join(f"program,{name},{name}.npz\n" for name in ("v1", "v2", "v3"))
    (folder / "index.csv").write_text("family,subject,path\n" + index)
    return folder


@pytest.fixture(scope="session")
def altered() -> Callable[[DependenceTrace, int], Alteration | None]:
    """Gives the other outcome of a decision, or another text or number; None where a node of a trace has neither."""

    def other(trace: DependenceTrace, node: int) -> Alteration | None:
        site, instance = trace.sites[trace.graph.site[node]], int(trace.graph.instance[node])
        if site.number < 0 or trace.is_test[node]:
            return None
        if site.kind == "decision":
            return SwitchedDecision(
                DecisionSite(site.file, site.number, "if", site.line, site.column, site.end_line, False), instance
            )
        value = trace.value[node]
        if not (value.isdecimal() or value.startswith("'")):
            return None
        place = ValuePlace(site.file, site.number, "assignment", "", site.line, site.column, site.end_line)
        return Replacement(place, instance, (), Alternate("other", "other" if value[0] == "'" else int(value) + 7))

    return other
