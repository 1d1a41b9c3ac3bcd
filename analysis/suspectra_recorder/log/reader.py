"""Reading a log: each record is passed to the method for its kind.

Ranking, test selection, merging and compaction need different parts of a record, and ignore most of a log. Each is a
subclass of `LogReader` with a method for each kind of record that it needs; the base decides what is damaged, which
source has which number, and where to go on. The head of a record is parsed at once, and the rest on demand: a choice
among 10,000 tests does not pay for what only a ranking shows.

Two modules read frames by themselves: `children/processes.py`, whose logs have other content and are temporary, and
`probe_choice.py`, which takes a sample of a log and skips most of its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from suspectra_recorder.errors import Problem
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.command import command_again
from suspectra_recorder.log.frames import DAMAGE, Frame, FrameKind, LogDamage, frames, inside, read_json, split_json
from suspectra_recorder.log.history import WholeFiles, passes
from suspectra_recorder.log.stack import Stack


class LoggedRun(NamedTuple):
    """The start of a section: one process's run."""

    name: str  # the same for all processes of one run
    started: int  # nanoseconds since the epoch
    head: dict[str, Any]  # all recorded fields, to copy the record

    @property
    def python(self) -> str:
        """The version of Python, empty if it is not known."""
        return str(self.head.get("python", ""))

    @property
    def packages(self) -> dict[str, str]:
        """The versions of the distributions that were installed, by name; empty where they were not recorded."""
        found = self.head.get("packages")
        return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}

    @property
    def command(self) -> tuple[str, ...]:
        """How such tests are run again, as :func:`command_again` says."""
        return command_again(self.head)

    @property
    def folder(self) -> str:
        """The folder from which they are run again, relative to the workspace; empty for the workspace itself."""
        return str(self.head.get("folder") or "")


class Source(NamedTuple):
    """A version of a source that a run loaded.

    Raises ValueError, LookupError, TypeError by each property, when its value is damaged.
    """

    head: dict[str, Any]  # the recorded fields
    map: bytes  # the compressed map of its cells
    payload: bytes  # head and map as in the log, to copy the record

    @property
    def path(self) -> str:
        """Relative to the workspace, and inside it."""
        return inside(self.head["path"])

    @property
    def digest(self) -> str:
        """SHA-256 of its bytes."""
        return str(self.head["digest"])

    @property
    def is_test(self) -> bool:
        """Whether it is test code."""
        return bool(self.head["is_test"])

    @property
    def traced(self) -> bool:
        """Whether it had probes."""
        return bool(self.head.get("traced", True))

    @property
    def modified(self) -> int:
        """When the file was written, in nanoseconds; 0 if that is not known."""
        return int(self.head.get("modified", 0))

    @property
    def cells(self) -> int:
        """The number of cells in its rows."""
        return int(self.head["cells"])


class LoggedOutcome(NamedTuple):
    """How a recorded test ended."""

    verdict: str  # the verdict, such as `passed` or `failed`
    phases: dict[str, str]  # how its setup, call and teardown ended
    message: str  # why it did not pass
    seconds: float  # how long it took
    flaky: bool  # whether it ended differently when it was run again
    location: tuple[str, int] | None  # file and line
    stack: Stack | None  # where it failed; None for a passed test, or if it is not known


class RecordedTest(NamedTuple):
    """A test that ran.

    Raises ValueError, LookupError, TypeError by `verdict`, `shares` and `outcome`, when the value is damaged.
    """

    name: str  # its node id
    time: int  # when it ended, in nanoseconds since the epoch
    head: dict[str, Any]  # the recorded fields
    rows: bytes  # what it executed, compressed
    payload: bytes  # head and rows as in the log, to copy the record

    @property
    def verdict(self) -> str:
        """How it ended."""
        return str(self.head["verdict"])

    @property
    def passed(self) -> bool:
        """Whether it passed at its first attempt."""
        return passes(str(self.head.get("verdict")), flaky=bool(self.head.get("flaky")))

    @property
    def failed(self) -> bool:
        """Whether it failed, in whatever phase."""
        return self.head.get("verdict") in ("failed", "error")

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of shared rows: setups that it uses, and explanations of its failed assertions."""
        shares = self.head.get("shares")
        return tuple(map(str, shares)) if shares else ()

    def outcome(self) -> LoggedOutcome:
        """Parse how the test ended."""
        head = self.head
        location = None
        if (place := head.get("location")) is not None:
            file, line = place
            location = inside(file), int(line)
        stack = head.get("stack")
        return LoggedOutcome(
            str(head["verdict"]),
            {str(phase): str(outcome) for phase, outcome in dict(head["phases"]).items()},
            str(head["message"]),
            float(head["seconds"]),
            bool(head["flaky"]),
            location,
            Stack.from_dict(stack) if stack is not None else None,
        )


class Shared(NamedTuple):
    """Rows that tests share: a setup or its teardown, an explanation of failed assertions, or a first import."""

    name: str  # empty for a first import; several may have one name
    module: str  # the path of the imported module; empty if it is outside the workspace
    setup: bool  # whether it counts for each test that names it; other rows only tell which tests a change can affect
    rows: bytes  # what was executed, compressed
    payload: bytes  # the record as in the log, to copy it


class LogReader:
    """Parses a log; a subclass overrides the methods for the kinds of records that it needs.

    If one record is damaged, only that record is lost. A source that can't be read keeps its index, which rows use.
    """

    def __init__(self) -> None:
        self.rewind()

    def rewind(self) -> None:
        """Start again from the beginning of the log."""
        self.offset = 0
        self._run: str | None = None  # the name of the one that is being read

    def read(self, data: bytes, watch: Callable[[Iterable[Frame]], Iterable[Frame]] = iter) -> None:
        """Parse the records after :attr:`offset`.

        Raises LogDamage when the log can't be read from some byte on; everything before it was read.
        """
        start = self.offset
        takers: dict[int, Callable[[bytes], None]] = {
            FrameKind.TEST: self._test,
            FrameKind.FILE: self._source,
            FrameKind.OUTSIDE: self.on_outside,
            FrameKind.SHARED: self._shared,
            FrameKind.SCOPE: self._collection,
            FrameKind.PROBLEM: self._problem,
            FrameKind.ERROR: self._collection_error,
            FrameKind.PLAN: self._plan,
            FrameKind.END: self._end,
        }
        try:
            for kind, payload, end in watch(frames(data, header=not start)):
                try:
                    if kind == FrameKind.RUN:
                        self._start(payload)
                    elif self._begun() and (take := takers.get(kind)) is not None:
                        take(payload)
                    else:
                        self.on_unknown(kind)
                except DAMAGE as error:
                    self.on_damage(start + end, error)
                self.offset = start + end
        except LogDamage as damage:
            raise LogDamage(start + damage.offset, damage.cause) from None

    def _begun(self) -> bool:
        if self._run is None:
            raise ValueError("no run before it")
        return True

    def _start(self, payload: bytes) -> None:
        head = read_json(payload)
        run = LoggedRun(str(head["run"]), int(head["started"]), head)
        self.on_run(run)
        # only when the subclass has taken it: a damaged head must not give its records to a run
        self._run = run.name

    def _source(self, payload: bytes) -> None:
        try:
            self.on_source(Source(*split_json(payload), payload))
        except DAMAGE:
            # rows refer to sources by their position
            self.on_lost_source(payload)
            raise

    def _test(self, payload: bytes) -> None:
        head, rows = split_json(payload)
        self.on_test(RecordedTest(str(head["name"]), int(head["time"]), head, rows, payload))

    def _shared(self, payload: bytes) -> None:
        head, rows = split_json(payload)
        if not rows:
            raise ValueError("nothing that is shared")
        setup = bool(head.get("setup", False))
        self.on_shared(Shared(str(head["name"]), str(head.get("module", "")), setup, rows, payload))

    def _collection(self, payload: bytes) -> None:
        self.on_collection(WholeFiles.from_payload(payload, self._run or ""))

    def _problem(self, payload: bytes) -> None:
        head = read_json(payload)
        self.on_problem(Problem(*(str(head[key]) for key in ("file", "place", "cause", "cure"))))

    def _collection_error(self, payload: bytes) -> None:
        self.on_collection_error(CollectionError.from_dict(read_json(payload)))

    def _plan(self, payload: bytes) -> None:
        self.on_plan(int(read_json(payload)["tests"]))

    def _end(self, payload: bytes) -> None:
        if read_json(payload)["ended"] is True:
            self.on_end()

    # methods for subclasses to override; by default records are ignored

    def on_run(self, run: LoggedRun) -> None:
        """Handle the start of a run, to which all following records belong."""

    def on_source(self, source: Source) -> None:
        """Handle a source, which has the next index of its run."""

    def on_lost_source(self, payload: bytes) -> None:
        """Handle a damaged source, which has the next index; :meth:`on_source` may have raised."""

    def on_test(self, test: RecordedTest) -> None:
        """Handle a test."""

    def on_outside(self, rows: bytes) -> None:
        """Handle rows of code outside tests."""

    def on_shared(self, shared: Shared) -> None:
        """Handle shared rows, or those of a first import."""

    def on_collection(self, collection: WholeFiles) -> None:
        """Handle a collection."""

    def on_problem(self, problem: Problem) -> None:
        """Handle a problem of the recorder."""

    def on_collection_error(self, error: CollectionError) -> None:
        """Handle a collection error."""

    def on_plan(self, tests: int) -> None:
        """Handle how many tests the process is about to run."""

    def on_end(self) -> None:
        """Handle that the run ended by itself."""

    def on_unknown(self, kind: int) -> None:
        """Handle a record of an unknown kind."""

    def on_damage(self, end: int, error: Exception) -> None:
        """Handle a damaged record."""
