"""Reading a log: its records, each handed to the method for its kind.

This is the one place that takes frames apart. Those who rank, choose tests, merge recordings and tidy logs each want
something else of a record, and most of what a log holds they never look at. So a record says what it is at once, and
reads the rest when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from suspectra_recorder.errors import Problem
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import DAMAGE, Frame, FrameKind, LogDamage, frames, inside, read_json, split_json
from suspectra_recorder.log.history import WholeFiles
from suspectra_recorder.log.stack import Stack


class Run(NamedTuple):
    """The start of a section: one process's run.

    Parameters
    ----------
    name : str
        The same for all processes of one run.
    started : int
        Nanoseconds since the epoch.
    head : dict
        All that was recorded of it, for those who copy it.
    """

    name: str
    started: int
    head: dict[str, Any]

    @property
    def python(self) -> str:
        """The interpreter, empty where it is not known."""
        return str(self.head.get("python", ""))


class Source(NamedTuple):
    """A version of a source that a run loaded.

    Parameters
    ----------
    head : dict
        What is said of it.
    map : bytes
        What its cells mean, compressed.
    payload : bytes
        Head and map as they are recorded, for those who copy them.

    Raises
    ------
    ValueError, LookupError, TypeError
        By each property, when what it gives is damaged.
    """

    head: dict[str, Any]
    map: bytes
    payload: bytes

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
    def cells(self) -> int:
        """How many cells its rows have."""
        return int(self.head["cells"])


class Outcome(NamedTuple):
    """How a recorded test ended.

    Parameters
    ----------
    verdict : str
        Passed, failed, and so on, as pytest has it.
    phases : dict of str to str
        How its setup, call and teardown ended.
    message : str
        Why it did not pass.
    seconds : float
        How long it took.
    flaky : bool
        Whether it ended differently when it was run again.
    location : (str, int) or None
        File and line.
    stack : Stack or None
        Where it failed; None for a test that passed, and where that is not known.
    """

    verdict: str
    phases: dict[str, str]
    message: str
    seconds: float
    flaky: bool
    location: tuple[str, int] | None
    stack: Stack | None


class RecordedTest(NamedTuple):
    """A test that ran.

    Parameters
    ----------
    name : str
        Its node id.
    time : int
        When it ended, in nanoseconds since the epoch.
    head : dict
        What is said of it.
    rows : bytes
        What it executed, compressed.
    payload : bytes
        Head and rows as they are recorded, for those who copy them.

    Raises
    ------
    ValueError, LookupError, TypeError
        By `verdict`, `shares` and `outcome`, when what they give is damaged.
    """

    name: str
    time: int
    head: dict[str, Any]
    rows: bytes
    payload: bytes

    @property
    def verdict(self) -> str:
        """How it ended."""
        return str(self.head["verdict"])

    @property
    def shares(self) -> tuple[str, ...]:
        """Names of what earlier tests ran for it, and of what explained its failed assertions."""
        shares = self.head.get("shares")
        return tuple(map(str, shares)) if shares else ()

    def outcome(self) -> Outcome:
        """Give all that is known of how it ended.

        Returns
        -------
        Outcome
            Checked.
        """
        head = self.head
        location = None
        if (place := head.get("location")) is not None:
            file, line = place
            location = inside(file), int(line)
        stack = head.get("stack")
        return Outcome(
            str(head["verdict"]),
            {str(phase): str(outcome) for phase, outcome in dict(head["phases"]).items()},
            str(head["message"]),
            float(head["seconds"]),
            bool(head["flaky"]),
            location,
            Stack.from_dict(stack) if stack is not None else None,
        )


class Shared(NamedTuple):
    """What a test ran for later tests too, what explained its failed assertions, or what a first import ran.

    Parameters
    ----------
    name : str
        Empty for a first import.
    module : str
        The path of the imported module; empty where it lies elsewhere.
    rows : bytes
        What was executed, compressed.
    payload : bytes
        All of it as it is recorded, for those who copy it.
    """

    name: str
    module: str
    rows: bytes
    payload: bytes


class LogReader:
    """Takes a log apart; a subclass has a method for each kind of record that it wants.

    Damage in one record loses that record alone: the reader goes on behind it, and a source that can't be read keeps
    its number, by which rows name it.

    Attributes
    ----------
    offset : int
        How far the log has been read. A log that has grown is read on from there.
    """

    def __init__(self) -> None:
        self.rewind()

    def rewind(self) -> None:
        """Begin again at the start of the log."""
        self.offset = 0
        self._run: str | None = None  # the name of the one that is being read

    def read(self, data: bytes, watch: Callable[[Iterable[Frame]], Iterable[Frame]] = iter) -> None:
        """Take apart what follows :attr:`offset`.

        Parameters
        ----------
        data : bytes
            The log from there on.
        watch : callable
            Is given the frames and gives them on, for those who may be interrupted. Then the reader has to begin
            again: a frame may stand for an earlier one.

        Raises
        ------
        LogDamage
            When nothing can be read from some byte of the log on; all before it was read.
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
        run = Run(str(head["run"]), int(head["started"]), head)
        self.on_run(run)
        self._run = run.name

    def _source(self, payload: bytes) -> None:
        try:
            self.on_source(Source(*split_json(payload), payload))
        except DAMAGE:
            self.on_lost_source(payload)
            raise

    def _test(self, payload: bytes) -> None:
        head, rows = split_json(payload)
        self.on_test(RecordedTest(str(head["name"]), int(head["time"]), head, rows, payload))

    def _shared(self, payload: bytes) -> None:
        head, rows = split_json(payload)
        if not rows:
            raise ValueError("nothing that is shared")
        self.on_shared(Shared(str(head["name"]), str(head.get("module", "")), rows, payload))

    def _collection(self, payload: bytes) -> None:
        self.on_collection(WholeFiles.from_payload(payload, self._run or ""))

    def _problem(self, payload: bytes) -> None:
        head = read_json(payload)
        self.on_problem(Problem(*(str(head[key]) for key in ("file", "place", "cause", "cure"))))

    def _collection_error(self, payload: bytes) -> None:
        self.on_collection_error(CollectionError.from_dict(read_json(payload)))

    # what a subclass may want; by itself the reader takes no interest in anything

    def on_run(self, run: Run) -> None:
        """Take the start of a run, to which all belongs that follows.

        Parameters
        ----------
        run : Run
            Its name and when it began.
        """

    def on_source(self, source: Source) -> None:
        """Take a source, which has the next number of its run.

        Parameters
        ----------
        source : Source
            Path, digest and map.
        """

    def on_lost_source(self, payload: bytes) -> None:
        """Take a source that can't be read, or that :meth:`on_source` found damaged; it has the next number.

        Parameters
        ----------
        payload : bytes
            What is recorded of it, damaged.
        """

    def on_test(self, test: RecordedTest) -> None:
        """Take a test.

        Parameters
        ----------
        test : RecordedTest
            Name, time, outcome and rows.
        """

    def on_outside(self, rows: bytes) -> None:
        """Take what ran outside of any test.

        Parameters
        ----------
        rows : bytes
            Compressed.
        """

    def on_shared(self, shared: Shared) -> None:
        """Take what tests share, or what a first import ran.

        Parameters
        ----------
        shared : Shared
            Name or module, and rows.
        """

    def on_collection(self, collection: WholeFiles) -> None:
        """Take what was collected.

        Parameters
        ----------
        collection : WholeFiles
            The files that were collected as a whole.
        """

    def on_problem(self, problem: Problem) -> None:
        """Take what the recorder had to say.

        Parameters
        ----------
        problem : Problem
            With its cure.
        """

    def on_collection_error(self, error: CollectionError) -> None:
        """Take what could not be collected.

        Parameters
        ----------
        error : CollectionError
            The exception and its place.
        """

    def on_unknown(self, kind: int) -> None:
        """Take note of a record of which this version knows nothing.

        Parameters
        ----------
        kind : int
            The number of its kind.
        """

    def on_damage(self, end: int, error: Exception) -> None:
        """Take note of a record that does not hold what it should.

        Parameters
        ----------
        end : int
            The offset behind it.
        error : Exception
            One of `DAMAGE`, which the reader or the method for the record raised.
        """
