"""The params of `suspectra/status`, over all folders."""

from __future__ import annotations

from suspectra_server.messages import FolderState, InvestigationMessage, Progress, Status
from suspectra_server.safe_text import plain
from suspectra_server.session.experiments.experiment_run import ExperimentRun
from suspectra_server.session.folder import Folder
from suspectra_server.session.folders import Folders
from suspectra_server.session.tests.test_run import TestRun
from suspectra_server.settings import Settings

_MOST_URGENT_FIRST = (
    FolderState.RUNNING_TESTS,
    FolderState.RANKING,
    FolderState.ERROR,
    FolderState.STALE,
    FolderState.READY,
    FolderState.NO_FAILING_TESTS,
)


def status_of(folders: Folders, run: TestRun, experiments: ExperimentRun) -> Status:
    """The most urgent state of a folder, and sums over all folders."""
    states = {folder: state_of(folder, run) for folder in folders}
    state = next((state for state in _MOST_URGENT_FIRST if state in states.values()), FolderState.NO_EVIDENCE)
    urgent = next((folder for folder in folders if states[folder] is state), None)
    message = urgent.snapshot.message if urgent else "No folder is open"
    if state in (FolderState.RUNNING_TESTS, FolderState.RANKING):
        preliminary = urgent is not None and urgent.snapshot.ranking.preliminary
        ranking = f"Ranking: {message}" if preliminary else "Ranking"
        which = "tests that failed or that the save can affect" if run.on_save else "the tests"
        message = f"Running {which}: {run.progress}" if state is FolderState.RUNNING_TESTS else ranking
    named = urgent or next(iter(folders), None)
    technique = named.snapshot.ranking.technique if named else Settings().make_technique()
    recorded = {folder.rankings.recorded_by for folder in folders if folder.rankings.recorded_by}
    return {
        "state": state,
        "message": plain(message),
        "technique": technique.name,
        "title": technique.info.title,
        "suspects": sum(len(folder.snapshot.marks) for folder in folders),
        "failed": sum(folder.snapshot.ranking.failed for folder in folders),
        "passed": sum(folder.snapshot.ranking.passed for folder in folders),
        "compiled": bool(recorded) and recorded == {"record-c"},
        "onlyRead": recorded == {"record-c"} and not any(folder.rankings.build for folder in folders),
        "collectionErrors": sum(len(folder.snapshot.errors) for folder in folders),
        "progress": _progress(run) if state is FolderState.RUNNING_TESTS else None,
        "investigation": _investigation(experiments) if experiments.in_the_way else None,
    }


def _progress(run: TestRun) -> Progress:
    done, failed, total = run.progress.done, run.progress.failed, run.progress.total
    return {"done": done, "failed": failed, "total": total, "onSave": run.on_save}


def _investigation(experiments: ExperimentRun) -> InvestigationMessage:
    shown = experiments.shown
    return {
        "runs": shown.runs if shown else 0,
        "test": plain(shown.test) if shown else "",
        "share": shown.share if shown else 0.0,
        "found": plain(shown.found) if shown else "",
    }


def state_of(folder: Folder, run: TestRun) -> FolderState:
    """What a folder is doing, or the state of its ranking."""
    if run.runs(folder):
        return FolderState.RUNNING_TESTS
    return FolderState.RANKING if folder.rankings.busy else folder.snapshot.state
