"""The faulty programs of the benchmark: each names a statement, and their results are counted as they should be."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suspectra.evaluation.faults import FaultList

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import state_based

    return state_based


def statements(path: Path) -> set[int]:
    """The first lines of the statements in functions."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inner = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, functions))
    lines = {node.lineno for function in inner for node in ast.walk(function) if isinstance(node, ast.stmt)}
    handlers = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ExceptHandler))
    return lines | {handler.lineno for handler in handlers}


def test_every_program_names_statements_of_functions_and_a_kind(benchmark):
    subjects = list(benchmark.subjects(["small"], [], Path(), None))
    assert len(subjects) >= 25
    for subject in subjects:
        for fault in FaultList.read(subject.folder / "faults.txt").faults:
            for place in fault:
                assert place.first in statements(subject.folder / place.file), subject.name
        assert subject.kind
        assert list(subject.folder.glob("test_*.py")), subject.name


@pytest.mark.slow
def test_the_fix_of_each_small_program_makes_its_tests_pass(benchmark, tmp_path):
    folders = []
    for subject in benchmark.subjects(["small"], [], Path(), None):
        folders.append(str(shutil.copytree(subject.folder, tmp_path / subject.folder.name)))
        subprocess.run(["patch", "-s", "-p1", "-i", "fix.diff"], cwd=folders[-1], check=True)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *folders],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-2000:]


def test_each_fault_of_a_classic_program_changes_one_place(benchmark):
    import classic_subjects

    for name, classic in classic_subjects.CLASSICS.items():
        correct = (classic_subjects.PROGRAMS / f"{name}.py").read_text("utf-8")
        for old, new in classic.faults:
            assert correct.count(old) == 1, (name, old)
            compile(correct.replace(old, new), name, "exec")


def test_the_test_of_a_classic_program_compares_with_the_correct_one(benchmark, tmp_path, monkeypatch):
    import classic_subjects

    monkeypatch.setattr(classic_subjects, "CLASSICS", {"roman": classic_subjects.CLASSICS["roman"]})
    (first, second) = benchmark.subjects(["classic"], [], tmp_path, None)
    assert (first.name, second.name) == ("classic/roman-0", "classic/roman-1")
    assert (first.folder / "faults.txt").read_text("utf-8") == "roman.py:10  # seeded fault\n"
    test = (first.folder / "test_roman.py").read_text("utf-8")
    assert "assert roman.to_int(text) == test_correct_roman.to_int(text)" in test


def test_only_the_subjects_whose_name_fits(benchmark):
    names = [subject.name for subject in benchmark.subjects(["small"], ["qu*"], Path(), None)]
    assert names == ["small/quota"]


def test_a_folder_without_faults_is_refused(benchmark, tmp_path):
    with pytest.raises(SystemExit, match=r"contains no faults\.txt"):
        list(benchmark.subjects([str(tmp_path)], [], tmp_path, None))


def test_mutants_need_a_corpus(benchmark, tmp_path):
    with pytest.raises(SystemExit, match="--corpus"):
        list(benchmark.subjects(["mutants"], [], tmp_path, None))


def result(rank, runs=None):
    made = {} if runs is None else {"runs": runs, "seconds": 2.0, "complete": True}
    return {"rank": rank, **made}


def test_figures_count_ties_at_their_middle(benchmark):
    found = benchmark.figures([result(1.0, 10), result(1.5, 30), result(3.5), result(6.0)])
    assert (found["mean_rank"], found["top_1"], found["top_3"], found["top_5"]) == (3.0, 1, 2, 3)
    assert (found["runs"], found["seconds"], found["rate"], found["complete"]) == (40, 4.0, 10.0, 2)


def test_harm_is_a_rank_behind_the_baseline(benchmark):
    baseline = {"a": result(1.0), "b": result(2.0), "c": result(3.0)}
    assert benchmark.harmed({"a": result(1.5), "b": result(2.0), "c": result(1.0)}, baseline) == {"a": (1.0, 1.5)}


def test_results_are_kept_until_a_file_of_the_subject_changes(benchmark, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "faults.txt").write_text("one.py:1  # wrong value: 2 is right")
    (subject,) = benchmark.subjects([str(tmp_path)], [], tmp_path, None)
    benchmark.Results(tmp_path / "results", again=False).add(subject, "switching", 20, result(2.0, 5))
    kept = benchmark.Results(tmp_path / "results", again=False)
    assert kept.for_subject(subject, "switching", 20)["rank"] == 2.0
    assert kept.missing(subject, ["switching"], 20) == []
    assert kept.missing(subject, ["switching"], 5) == ["switching"]
    (tmp_path / "one" / "one.py").write_text("value = 1")
    assert kept.missing(subject, ["switching"], 20) == ["switching"]
    assert benchmark.Results(tmp_path / "results", again=True).found == {}
