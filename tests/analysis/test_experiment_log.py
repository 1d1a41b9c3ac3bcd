"""The log of experiments: what is read of it, and what is refused."""

import os
import shutil
from dataclasses import replace
from hashlib import sha256

import pytest

from suspectra.base.errors import EvidenceError
from suspectra.evidence.logs.experiments import read_experiments
from suspectra.experiments.log import ExperimentLog
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra_recorder.folders import RecordingError


def test_experiments_are_void_once_a_source_changes(tmp_path):
    made = Experiment("test_a", "switch", "cart.py", 1, 1, 0, "if", EVERY, "false", ExperimentOutcome.PASSED, 0.01)
    source = tmp_path / "cart.py"
    source.write_bytes(b"total = 0")
    digests = {"cart.py": sha256(b"total = 0").hexdigest()}
    with ExperimentLog(tmp_path) as log:
        log.add(made, digests)
        log.add(replace(made, outcome=ExperimentOutcome.FAILED), digests)
        log.add(replace(made, instance=2), digests)
    assert [one.outcome for one in read_experiments(tmp_path)[0]] == [
        ExperimentOutcome.FAILED,
        ExperimentOutcome.PASSED,
    ]
    source.write_bytes(b"total = 1")
    found, problems = read_experiments(tmp_path)
    assert not found
    assert "2 experiments were made with other sources" in problems[0].cause
    with ExperimentLog(tmp_path) as log:
        log.add(made, {"cart.py": sha256(b"total = 1").hexdigest()})
    assert read_experiments(tmp_path) == ((made,), ()), "nothing is to be done about the other one"
    source.write_bytes(b"total = 0")
    assert [one.instance for one in read_experiments(tmp_path)[0]] == [EVERY, 2]


def test_experiments_with_other_sources_than_were_recorded_do_not_count(tmp_path):
    made = Experiment("test_a", "switch", "cart.py", 1, 1, 0, "if", EVERY, "false", ExperimentOutcome.PASSED, 0.01)
    (tmp_path / "cart.py").write_bytes(b"total = 0")
    now = sha256(b"total = 0").hexdigest()
    with ExperimentLog(tmp_path) as log:
        log.add(made, {"cart.py": now})
    assert read_experiments(tmp_path, {"cart.py": now, "tax.py": "0"})[0] == (made,)
    found, problems = read_experiments(tmp_path, {"cart.py": sha256(b"total = 1").hexdigest()})
    assert not found
    assert "1 experiment was made with other sources" in problems[0].cause


def test_a_log_that_was_cut_off_keeps_what_was_whole(tmp_path):
    made = Experiment("test_a", "switch", "cart.py", 1, 1, 0, "if", EVERY, "false", ExperimentOutcome.PASSED, 0.01)
    (tmp_path / "cart.py").write_bytes(b"")
    digests = {"cart.py": sha256(b"").hexdigest()}
    with ExperimentLog(tmp_path) as log:
        log.add(made, digests)
        log.add(replace(made, instance=1), digests)
    path = tmp_path / ".suspectra" / "experiments" / "log.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    with ExperimentLog(tmp_path) as log:
        log.add(replace(made, instance=2), digests)
    found, problems = read_experiments(tmp_path)
    assert [one.instance for one in found] == [EVERY, 2]
    assert "1 line of it can't be read" in problems[0].cause


HOSTILE = [
    b"[" * 100_000,
    b'{"sources": "n", "digests": {"../../etc/passwd": "d", "/dev/zero": "d"}}',
    b'{"with": "n", "test": 3}',
    b'{"with": ["n"], "test": "t", "kind": "switch", "file": "f", "line": true}',
    b"\xff\x00",
    b"null",
]


def test_any_log_is_read_or_refused_in_words(tmp_path):
    folder = tmp_path / ".suspectra" / "experiments"
    folder.mkdir(parents=True)
    log = folder / "log.jsonl"
    log.write_bytes(b"\n".join(HOSTILE))
    found, problems = read_experiments(tmp_path)
    assert not found
    assert "can't be read" in problems[0].cause
    log.unlink()
    os.mkfifo(log)
    assert "not a regular file" in read_experiments(tmp_path)[1][0].cause
    log.unlink()
    log.symlink_to("/etc/passwd")
    assert "leads out of the workspace" in read_experiments(tmp_path)[1][0].cause
    with pytest.raises(EvidenceError, match="can't be kept"):
        ExperimentLog(tmp_path)
    shutil.rmtree(folder)
    folder.symlink_to("/tmp")
    with pytest.raises(RecordingError):
        ExperimentLog(tmp_path)


# mutants


def test_a_value_of_a_whole_statement_is_what_that_gives():
    made = Experiment(
        "test_a", "value", "cart.py", 1, 1, 0, "this", 2, "state", ExperimentOutcome.PASSED, 0.01, detail="(0, 5)"
    )
    assert str(made) == "cart.py:1: test_a passes if this gives (0, 5) the 2nd time"
