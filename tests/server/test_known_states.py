"""The states of files that were looked at a moment before a ranking: it need not look again, and nothing is missed."""

import shutil
import subprocess
import sys

import pytest

from suspectra.base.cancellation import Token
from suspectra.evidence.discovery import usual_places
from suspectra_server.messages import FolderState
from suspectra_server.session.ranking import ranker as module
from suspectra_server.session.ranking.ranker import Ranker, RankingInput
from suspectra_server.session.ranking.watching import state_of
from suspectra_server.settings import Settings
from suspectra_server.state.documents import Disk


class Workspace:
    """A workspace that is ranked again and again."""

    def __init__(self, root, monkeypatch):
        self.root, self.searched = root, 0
        self.paths = frozenset(usual_places(root))
        self.ranker = Ranker(root, Disk(root))
        search = module.find_source

        def counted(*args, **kwargs):
            self.searched += 1
            return search(*args, **kwargs)

        monkeypatch.setattr(module, "find_source", counted)

    def states(self):
        return {path: state_of(path) for path in self.paths}

    def rank(self, known=None):
        return self.ranker.rank(RankingInput(Settings(), self.paths, ()), Token(), None, known or {})


@pytest.mark.slow
def test_evidence_is_searched_once_while_the_recording_is_the_only_one(shop, record, monkeypatch):
    workspace = Workspace(shop, monkeypatch)
    assert workspace.rank().ranking.state is FolderState.READY
    record(shop, "-k", "percent")
    assert workspace.rank(workspace.states()).ranking.state is FolderState.READY
    assert workspace.searched == 1


@pytest.mark.slow
def test_other_evidence_that_appears_is_found(shop, monkeypatch):
    workspace = Workspace(shop, monkeypatch)
    workspace.rank()
    (shop / ".coveragerc").write_text("[run]\ndynamic_context = test_function\n")
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "--junitxml=junit.xml"]
    subprocess.run(command, cwd=shop, stdout=subprocess.DEVNULL)
    ranking = workspace.rank(workspace.states()).ranking
    assert ranking.state is FolderState.READY
    assert ".coverage" in ranking.evidence.source  # it is newer than the recording


def test_a_recording_that_is_gone_is_no_evidence(shop, monkeypatch):
    workspace = Workspace(shop, monkeypatch)
    workspace.rank()
    shutil.rmtree(shop / ".suspectra")
    assert workspace.rank(workspace.states()).ranking.state is FolderState.NO_EVIDENCE
    assert workspace.searched == 2


def test_what_changed_after_the_look_is_ranked_again(shop, record, monkeypatch):
    workspace = Workspace(shop, monkeypatch)
    workspace.rank()
    known = workspace.states()
    record(shop, "-k", "percent")
    late = workspace.rank(known)
    assert known.items() <= late.states.items()
    assert late.growing  # so that the next look finds the difference
    now = workspace.rank(workspace.states())
    assert not known.items() <= now.states.items()
    assert not now.growing
