"""Studies and counting on a cluster of separate processes, one of which dies."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from suspectra.base.errors import UsageError
from suspectra.cli.main import run
from suspectra.evaluation.corpus import read_index, read_subject
from suspectra.evaluation.study import StudiedTechnique, Study, StudyPlan
from suspectra.spectrum import Spectrum
from suspectra.spectrum.cluster import Cluster

TIMEOUT_S = 120
count = Cluster.count


class LocalCluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path, until):
        self.folder, self.workers = folder, []
        file = folder / "scheduler.json"
        self.scheduler = self.start("scheduler", "--port", "0", "--scheduler-file", str(file))
        until(file.exists, "the cluster does not start", TIMEOUT_S)
        for _ in range(2):
            arguments = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", str(file))
            self.workers.append(self.start("worker", *arguments))
        with Cluster(str(self.address)) as cluster:
            cluster._client.wait_for_workers(2, timeout=TIMEOUT_S)

    def start(self, kind: str, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "distributed.cli.dask_" + kind, "--host", "127.0.0.1", *arguments]
        if kind == "scheduler":
            command += ["--no-dashboard"]
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    @property
    def address(self) -> str:
        return json.loads((self.folder / "scheduler.json").read_text())["address"]

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def local_cluster(tmp_path_factory, until):
    """A cluster that goes on when a test has cost it a worker."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "deadly.py").write_text(DEADLY)
    cluster = LocalCluster(folder, until)
    yield cluster
    cluster.stop()


DEADLY = '''
"""Reads a subject; the first process that comes by dies of it."""
import os, signal
from suspectra.evaluation.corpus import read_subject


def read(subject):
    try:
        (subject.path.parent / "died").touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    except FileExistsError:
        pass
    return read_subject(subject)
'''


@pytest.mark.slow
def test_a_study_and_counting_survive_the_loss_of_a_worker(local_cluster, mini_corpus, monkeypatch, until):
    monkeypatch.syspath_prepend(local_cluster.folder)
    files, _ = read_index(mini_corpus)
    plan = StudyPlan((StudiedTechnique("ochiai"), StudiedTechnique("cp"), StudiedTechnique("op2")), (False, True))
    local = Study(plan, files, read_subject).run(jobs=1)
    with Cluster(local_cluster.address) as cluster:
        assert Study(plan, files, read_subject).run(cluster=cluster) == local
        dense = np.random.default_rng(1).random((60, 500)) < 0.2
        spectrum = Spectrum.from_matrix(dense, np.arange(60) % 7 == 0)
        counted = cluster.count(spectrum)
        assert (counted.failed, counted.passed) == (spectrum.counts.failed, spectrum.counts.passed)
        assert counted.ef.tolist() == spectrum.counts.ef.tolist()
        assert counted.ep.tolist() == spectrum.counts.ep.tolist()
        # a worker dies in the middle of a subject: the other one does it again
        assert Study(plan, files, importlib.import_module("deadly").read).run(cluster=cluster) == local
        until(lambda: any(worker.poll() is not None for worker in local_cluster.workers))
        assert sum(worker.poll() is None for worker in local_cluster.workers) == 1


def test_rank_counts_on_the_cluster_with_the_same_ranking(local_cluster, shop, capsys, monkeypatch):
    monkeypatch.chdir(shop)
    counted = []
    monkeypatch.setattr(
        Cluster, "count", lambda cluster, spectrum: counted.append(spectrum) or count(cluster, spectrum)
    )
    assert run(["rank", "--format", "json"]) == 0
    local = capsys.readouterr().out
    assert run(["rank", "--format", "json", "--scheduler", local_cluster.address]) == 0
    assert capsys.readouterr().out == local
    assert len(counted) == 1


def test_rank_says_that_no_scheduler_is_there(shop, capsys, monkeypatch):
    monkeypatch.chdir(shop)
    monkeypatch.setattr("suspectra.spectrum.cluster._CONNECT_TIMEOUT_S", 1)
    assert run(["rank", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no scheduler can be reached" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr("suspectra.spectrum.cluster._CONNECT_TIMEOUT_S", 1)
    with pytest.raises(UsageError, match="no scheduler can be reached"):
        Cluster("tcp://127.0.0.1:9")
