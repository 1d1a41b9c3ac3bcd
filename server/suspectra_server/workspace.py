"""The workspace folders: each with its evidence, its localizer and the snapshot that the features read."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from suspectra.cancellation import Token
from suspectra.errors import EvidenceError, NothingToRank, Problem
from suspectra.evidence.discovery import C_LOG, COVERAGE, RECORDING, RECORDING_C, find_source, recorded_by
from suspectra.evidence.evidence import Evidence, EvidenceSource
from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra.markov.learning import JumpHabit
from suspectra.recording.collection import CollectionError
from suspectra_server.convert import path_of
from suspectra_server.documents import Document, Placement, Texts, Version, moved_code
from suspectra_server.guidance import Guidance
from suspectra_server.guide import Guides, Terms
from suspectra_server.jobs import Jobs
from suspectra_server.project_tests import ctest_build, has_python_tests
from suspectra_server.protocol import State
from suspectra_server.settings import Settings
from suspectra_server.snapshot import ErrorMark, Mark, Place, Ranking, Snapshot
from suspectra_server.watching import Settling, Watcher, state_of

log = logging.getLogger(__name__)

QUIET = 0.2  # seconds without a change after which a file that is rewritten as a whole is taken as complete
GROWING_QUIET = 0.001  # a recording grows by whole records: any moment will do, but events come in bursts
NOTICED = 0.15  # seconds after which a ranking that still runs is worth a word
EDIT_QUIET = 0.1  # seconds without typing after which marks are published again
REST = 3.0  # an update is followed by a pause of this many times its own length, so that a test run is not slowed
LONGEST_REST = 2.0  # seconds
MOST_TEXTS = 1_000  # files whose texts are kept to follow later edits


class Folder:
    """One workspace folder.

    Everything but `_rank`, `_load`, `_edged`, `read_texts` and what they call runs in the server's loop; those run in
    the worker thread, one at a time, and alone touch the sources and the localizer.

    Parameters
    ----------
    uri : str
        As the client names it.
    root : Path
    settings : Settings
    jobs : Jobs
    watcher : Watcher
    changed : callable
        Called with the folder when it has a new snapshot.
    working : callable
        Called when a ranking takes long enough to be noticed.
    habit : callable
        What was learned of the reader so far.
    carried : callable
        Called with the folder and a function that follows places into the run whose ranking comes next.

    Attributes
    ----------
    guidance : Guidance
        Where to look next.
    """

    def __init__(
        self,
        uri: str,
        root: Path,
        settings: Settings,
        jobs: Jobs,
        watcher: Watcher,
        changed: Callable[[Folder], None],
        working: Callable[[], None],
        habit: Callable[[], JumpHabit],
        carried: Callable[[Folder, Callable[[Place], Place | None]], None],
    ):
        self.uri = uri
        self.root = root
        self.settings = settings
        self.texts = Texts(root)
        self.snapshot = Snapshot(Ranking(State.RANKING, "Looking for a test run", settings.make_technique()))
        self.chosen: tuple[str, bool] | None = None
        self._loop = asyncio.get_running_loop()
        self._jobs = jobs
        self._watcher = watcher
        self._changed = changed
        self._working = working
        self._habit = habit
        self._carried = carried
        self._examined: frozenset[Place] = frozenset()
        self._innocent: frozenset[Place] = frozenset()
        self._source: EvidenceSource | None = None
        self._source_of_edges: RecordingSource | None = None
        self.guidance = Guidance(uri, jobs, Guides(self._edged), self._terms, self._lay_out)
        self._localizer: Localizer | None = None
        self._last_read: tuple[EvidenceSource, object, Evidence] | None = None
        self._ranked_state: dict[str, object] = {}  # of the evidence files, when they were last ranked from
        self._rested = 0.0  # loop time from which evidence may be looked at again
        self._resting: asyncio.TimerHandle | None = None
        self._evidence = Settling(self._loop, self._evidence_state, self._rest_then_rank)
        self._edits = Settling(self._loop, lambda: None, self._lay_out)
        self._watch_evidence(self._candidates())

    # evidence in

    def rank(self) -> None:
        """Look at the evidence now and rank."""
        self._wait_no_more()
        self.guidance.hold()
        self._jobs.submit(("rank", self.uri), self._rank, self._ranked)
        self._loop.call_later(NOTICED, lambda: self.busy and self._working())

    @property
    def busy(self) -> bool:
        """Whether a ranking is being made."""
        return self._jobs.busy(("rank", self.uri))

    @property
    def unsettled(self) -> bool:
        """Whether a run is still being recorded, or has ended and its ranking comes."""
        source = self._source
        growing = isinstance(source, RecordingSource) and source.growing()
        return growing or self.busy or self._behind()

    def evidence_changed(self) -> None:
        """A watched evidence file changed: rank when it is complete."""
        self._evidence.touched(GROWING_QUIET if self._grew() else QUIET)

    def sources_changed(self) -> None:
        """A source file changed on disk: read it again, and move the marks."""
        self._jobs.submit(("load", self.uri), self._load, self._loaded)

    def configure(self, settings: Settings) -> None:
        """Take new settings, and rank again where they matter to the ranking."""
        before, self.settings = self.settings, settings
        if (before.technique, before.clone_failed) != (settings.technique, settings.clone_failed):
            self.chosen = None
        matters = ("technique", "clone_failed", "top", "include_tests", "coverage", "junit")
        if any(getattr(before, name) != getattr(settings, name) for name in matters):
            self.rank()
        else:
            self.snapshot = replace(self.snapshot, by_steps=settings.order == "steps")
            self.guidance.renew(after=0)
            self._changed(self)

    def choose(self, technique: str, clone_failed: bool | None) -> None:
        """Rank with another technique than the settings', until those change; without a word on clones as before."""
        before = self.chosen[1] if self.chosen else self.settings.clone_failed
        self.chosen = (technique, before if clone_failed is None else clone_failed)
        self.rank()

    @property
    def test_arguments(self) -> tuple[str, ...]:
        """What of the command line records the tests.

        Where nothing is set, CTest's tests are taken of a build folder in the workspace if C or C++ was recorded last,
        or if nothing was and there is no test of Python.
        """
        if self.settings.c_tests:
            return ("record-c", *self.settings.c_tests)
        recorder = recorded_by(self._source)
        unset = not recorder and self.settings.test_command == Settings.test_command
        wanted = recorder == "record-c" or (unset and not has_python_tests(self.root))
        if wanted and (build := ctest_build(self.root)):
            return ("record-c", "--make", shlex.join(["cmake", "--build", build]), "--ctest", build)
        python = self.settings.test_interpreter
        interpreter = ("--python", python) if python else ()
        fewer = ("--failed-and-affected",) if self.settings.affected_only else ()
        return ("record", *interpreter, *fewer, "--", *self.settings.test_command)

    def close(self) -> None:
        """Stop everything."""
        self._wait_no_more()
        self._edits.stop()
        self.guidance.close()
        self._jobs.cancel(("rank", self.uri))
        self._jobs.cancel(("load", self.uri))
        self._watcher.watch(("evidence", self.uri), ())
        self._watcher.watch(("sources", self.uri), ())

    # documents and reading marks

    def path_in(self, uri: str) -> str | None:
        """The path of a document relative to this folder, with forward slashes; None when it is outside."""
        path = path_of(uri)
        if path is None:
            return None
        for base in (self.root, Path(os.path.realpath(self.root))):
            if path.is_relative_to(base):
                return path.relative_to(base).as_posix()
        return None

    def opened(self, path: str, document: Document) -> None:
        """A document of this folder was opened."""
        self.texts.opened(path, document)
        if file := self.snapshot.ranking.files.get(path):
            self.texts.load(file)
            self._lay_out()

    def edited(self, path: str) -> None:
        """A document of this folder changed."""
        if self._shows(path):
            self._edits.touched(EDIT_QUIET)

    def closed(self, path: str) -> None:
        """A document of this folder was closed."""
        self.texts.closed(path)
        if self._shows(path):
            self.sources_changed()

    def _shows(self, path: str) -> bool:
        """Whether anything may be shown in a file."""
        ranking = self.snapshot.ranking
        return path in ranking.files or any(error.file == path for error in ranking.collection_errors)

    def current(self) -> Snapshot:
        """The snapshot, after any edit that waits to be followed."""
        if self._edits.waiting:
            self._edits.stop()
            self._lay_out()
        return self.snapshot

    def uri_of(self, path: str) -> str:
        """The URI of a file: the client's own while it is open."""
        document = self.texts.document(path)
        return document.uri if document else (self.root / path).as_uri()

    def place_of(self, element: int) -> Place:
        """Where an element of the ranking stands, in the lines of the run."""
        elements = self.snapshot.ranking.report.spectrum.elements
        return elements.files[elements.file[element]], int(elements.line[element])

    def element_of(self, place: Place) -> int | None:
        """The element of the ranking at a place."""
        report = self.snapshot.ranking.report
        return report.spectrum.elements.at(*place) if report is not None else None

    def placement(self, path: str) -> Placement | None:
        """Where the lines of a file stand, whether it holds suspects or not; None where its text was never seen."""
        file = self.snapshot.ranking.files.get(path)
        return self.texts.placement(file) if file else None

    def examine(self, mark: Mark) -> None:
        """Take a suspect off the marks."""
        self._examined |= {mark.place}
        self._cleared()

    def acquit(self, elements: Iterable[int]) -> None:
        """Take statements off the marks that are not at fault."""
        self._innocent |= {self.place_of(element) for element in elements}
        self._cleared()

    def clear_examined(self) -> None:
        """Bring all examined and innocent suspects back."""
        self._examined = self._innocent = frozenset()
        self._cleared()

    def _cleared(self) -> None:
        self._lay_out()
        self.guidance.renew(after=0)

    def _terms(self) -> Terms | None:
        """What the guide follows from."""
        ranking, settings = self.snapshot.ranking, self.settings
        if ranking.report is None:
            return None
        done = (self.element_of(place) for place in self._examined | self._innocent)
        learned = round(self._habit().estimate(settings.p_jump), 2) if settings.learn_jumps else None
        return Terms(
            ranking, frozenset(element for element in done if element is not None), settings.jump_model(learned)
        )

    # in the worker thread

    def _rank(self, token: Token) -> tuple[Ranking, list[str], float]:
        started = time.monotonic()
        self._ranked_state = state = self._evidence_state()
        settings = self.settings
        name, clone = self.chosen or (settings.technique, settings.clone_failed)
        technique = replace(settings, technique=name, clone_failed=clone).make_technique()
        watched: list[str] = []
        try:
            source = self._find(settings, edges=technique.info.needs != "lines")
            watched = list(source.watched())
            state |= {path: state_of(path) for path in {*watched, *self._candidates()} - state.keys()}
            evidence = self._read(source, watched)
            token.check()
            if self._localizer is None:
                self._localizer = Localizer(technique)
            self._localizer.technique = technique
            self._localizer.include_tests = settings.include_tests
            report = self._localizer.update(evidence)
            token.check()
            ranking = Ranking.of(technique, evidence, report, self._localizer.problems(), settings.top)
            self._read_texts(ranking, token)
        except EvidenceError as error:
            there = any(os.path.exists(path) for path in watched)
            state = State.ERROR if there else State.NO_EVIDENCE
            ranking = Ranking(state, str(error.problem), technique, (error.problem,))
        except NothingToRank as error:
            state = _state_without_ranking(evidence)
            # that no test fails any more is what the reader was after: no problem to tell them
            errors = evidence.collection_errors  # which are shown in places of their own
            own = () if state is State.NO_FAILING_TESTS or errors else (error.problem,)
            problems = (*own, *evidence.problems)
            ranking = Ranking(state, error.problem.cause, technique, problems, evidence, collection_errors=errors)
            self._read_failed(ranking, token)
        return ranking, watched, time.monotonic() - started

    def _find(self, settings: Settings, edges: bool) -> EvidenceSource:
        """The source to read: the one in use, with all it remembers, as long as it is still the one to use."""
        given = {
            name: Path(path) for name, path in (("coverage", settings.coverage), ("junit", settings.junit)) if path
        }
        found = find_source(self.root, **given)
        used = self._source
        if used is not None and type(used) is type(found) and list(used.watched()) == list(found.watched()):
            found = used
        if edges and isinstance(found, RecordingSource) and not found.edges:
            found = RecordingSource(found.workspace, found.folder, edges=True)
        self._source = found
        return found

    def _edged(self) -> EvidenceSource | None:
        """The recording with its edges, read beside the ranking's own source so as not to delay rankings."""
        used = self._source
        if not isinstance(used, RecordingSource) or used.edges:
            return None
        kept = self._source_of_edges
        if kept is None or kept.folder != used.folder:
            folder = used.folder if used.given else None
            self._source_of_edges = RecordingSource(used.workspace, folder, edges=True)
        return self._source_of_edges

    def read_texts(self, paths: Iterable[str]) -> None:
        """Read files that a reader may go to."""
        for path in paths:
            if file := self.snapshot.ranking.files.get(path):
                self.texts.load(file)

    def _read(self, source: EvidenceSource, watched: list[str]) -> Evidence:
        """The evidence; what was read before as long as its files are the same.

        Reading again could only mistake sources that were edited since for those that ran.
        """
        state = [state_of(path) for path in watched]
        known = self._last_read
        if known is None or known[0] is not source or known[1] != state:
            known = self._last_read = (source, state, source.read())
        return known[2]

    def _read_texts(self, ranking: Ranking, token: Token) -> None:
        self.texts.forget_except([*ranking.files.values(), *map(_failed, ranking.collection_errors)])
        self._read_failed(ranking, token)
        for path in {*(suspect.location.file for suspect in ranking.suspects), *self.texts.open_paths()}:
            token.check()
            if file := ranking.files.get(path):
                self.texts.load(file)

    def _read_failed(self, ranking: Ranking, token: Token) -> None:
        """Read the files that keep tests from being collected."""
        for version in {_failed(error) for error in ranking.collection_errors if error.file}:
            token.check()
            self.texts.load(version)

    def _load(self, token: Token) -> None:
        """Read the texts the marks need, then those that a later edit will be compared with."""
        ranking = self.snapshot.ranking
        self._read_texts(ranking, token)
        if ranking.report is None:
            return
        elements = ranking.report.spectrum.elements
        executed = set(elements.file[ranking.report.spectrum.counts.ef > 0].tolist())
        for index in sorted(executed)[:MOST_TEXTS]:
            token.check()
            self.texts.load(ranking.files[elements.files[index]])

    # back in the loop

    def _ranked(self, result: object) -> None:
        if isinstance(result, Exception):
            problem = Problem("", "", f"the ranking failed: {result}", "see the server's log, and report this")
            result = Ranking(State.ERROR, str(problem), self.settings.make_technique(), (problem,)), [], 0.0
        ranking, watched, seconds = result
        self._rested = self._loop.time() + min(REST * seconds, LONGEST_REST)
        last = self.snapshot.ranking
        if ranking.report is None and last.report is not None and ranking.state is not State.NO_FAILING_TESTS:
            ranking = last.with_trouble(ranking)
        self._carry(ranking)
        self._lay_out(ranking)
        self._watch_evidence({*watched, *self._candidates()})
        shown = {
            *(suspect.location.file for suspect in ranking.suspects),
            *(error.file for error in ranking.collection_errors if error.file),
        }
        self._watcher.watch(("sources", self.uri), {str(self.root / file) for file in shown})
        self.sources_changed()
        self.guidance.renew()

    def _loaded(self, result: object) -> None:
        self._lay_out()

    def _lay_out(self, ranking: Ranking | None = None) -> None:
        """Make the snapshot of this moment, and say so if it differs."""
        before = self.snapshot
        ranking = ranking or before.ranking
        wanted = {*(suspect.location.file for suspect in ranking.suspects), *self.texts.open_paths()}
        placements = {
            path: placement
            for path in wanted
            if (file := ranking.files.get(path)) and (placement := self.texts.placement(file))
        }
        guide, by_steps = self.guidance.guide_of(ranking), self.settings.order == "steps"
        errors = tuple(
            ErrorMark.of(error, self.texts.placement(_failed(error)) if error.file else None)
            for error in ranking.collection_errors
        )
        after = Snapshot(ranking, placements, self._examined, self._innocent, guide, by_steps, errors)
        if _differ(before, after):
            self.snapshot = after
            self._changed(self)

    def _carry(self, ranking: Ranking) -> None:
        """Follow places into a new run, as lines may have moved; a line that was edited is worth another look."""
        lines: dict[str, list[int] | None] = {}

        def moved(place: Place) -> Place | None:
            file, line = place
            if file not in lines:
                lines[file] = self._moved_lines(file, ranking)
            if lines[file] is None:
                return place
            return (
                (file, lines[file][line - 1] + 1) if line <= len(lines[file]) and lines[file][line - 1] >= 0 else None
            )

        self._examined = frozenset(filter(None, map(moved, self._examined)))
        self._innocent = frozenset(filter(None, map(moved, self._innocent)))
        self._carried(self, moved)

    def _moved_lines(self, file: str, ranking: Ranking) -> list[int] | None:
        """For each line of a file as it was run before its index now, -1 for none; None where nothing changed."""
        before, after = self.snapshot.ranking.files.get(file), ranking.files.get(file)
        if before is None or after is None or before.digest == after.digest:
            return None
        old, new = self.snapshot.placements.get(file), self.texts.as_run(after)
        return moved_code(old.run, new, file) if old and new else []

    # watching

    def _watch_evidence(self, paths: set[str]) -> None:
        self._watched = paths
        self._watcher.watch(("evidence", self.uri), paths)

    def _candidates(self) -> set[str]:
        """Where evidence may appear."""
        given = [path for path in (self.settings.coverage, self.settings.junit) if path]
        return {str(self.root / path) for path in given or (RECORDING, RECORDING_C / C_LOG, COVERAGE)}

    def _grew(self) -> bool:
        """Whether all that happened to a recording since the last ranking is that records were added to it."""
        if not recorded_by(self._source):
            return False
        before, now = _inodes(self._ranked_state), _inodes(self._evidence_state())
        return before.items() <= now.items()

    def _evidence_state(self) -> dict[str, object]:
        return {path: state_of(path) for path in self._watched}

    def _behind(self) -> bool:
        """Whether evidence files are others than those that were ranked from."""
        return any(self._ranked_state.get(path) != state for path, state in self._evidence_state().items())

    def _rest_then_rank(self) -> None:
        if self._resting is None and self._behind():
            self._resting = self._loop.call_at(max(self._rested, self._loop.time()), self.rank)

    def _wait_no_more(self) -> None:
        self._evidence.stop()
        if self._resting:
            self._resting.cancel()
            self._resting = None


def _state_without_ranking(evidence: Evidence) -> State:
    """Why readable evidence gave no ranking."""
    if evidence.collection_errors:
        return State.ERROR
    if not evidence.tests:
        return State.NO_EVIDENCE
    # with a failing test at hand it is the technique that wants more than the evidence holds
    failing = any(test.verdict.failing for test in evidence.tests)
    return State.ERROR if failing else State.NO_FAILING_TESTS


def _failed(error: CollectionError) -> Version:
    """The text in which an error stands."""
    return Version(error.file, error.digest)


def _differ(one: Snapshot, other: Snapshot) -> bool:
    same = one.ranking is other.ranking and one.guide is other.guide
    names = ("placements", "examined", "innocent", "by_steps", "errors")
    return not (same and all(getattr(one, name) == getattr(other, name) for name in names))


class Folders:
    """All workspace folders, by URI."""

    def __init__(self) -> None:
        self._folders: dict[str, Folder] = {}

    def __iter__(self) -> Iterator[Folder]:
        return iter(self._folders.values())

    def __len__(self) -> int:
        return len(self._folders)

    def add(self, folder: Folder) -> None:
        """Add a folder, closing one of the same URI."""
        self.remove(folder.uri)
        self._folders[folder.uri] = folder

    def remove(self, uri: str) -> None:
        """Close a folder and forget it."""
        if folder := self._folders.pop(uri, None):
            folder.close()

    def get(self, uri: str) -> Folder | None:
        """The folder of that URI."""
        return self._folders.get(uri)

    def of(self, uri: str) -> tuple[Folder, str] | None:
        """The innermost folder that holds a document, and the document's path in it."""
        holding = [(folder, path) for folder in self if (path := folder.path_in(uri)) is not None]
        return min(holding, key=lambda found: len(found[1]), default=None)


def _inodes(states: dict[str, object]) -> dict[str, int]:
    """The inodes of all files, out of the states of files and of folders."""
    found: dict[str, object] = {}
    for path, state in states.items():
        if isinstance(state, tuple) and state:
            found.update(state if isinstance(state[0], tuple) else {path: state})
    return {path: signature[-1] for path, signature in found.items() if signature}
