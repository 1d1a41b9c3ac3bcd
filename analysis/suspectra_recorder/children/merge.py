"""Adding what child processes ran to the tests that started them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, MutableSequence, Sequence

from suspectra_recorder.children.child import (
    follow_forks,  # not only where it is needed: a forked child had better not import
)
from suspectra_recorder.children.child_log import ChildLog, report_failure
from suspectra_recorder.children.processes import ChildOfTest, ChildrenOfTests
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.first_imports import FirstImports
from suspectra_recorder.instrumentation.imports import ImportHook
from suspectra_recorder.instrumentation.library_references import os
from suspectra_recorder.instrumentation.loaded_file import LoadedFile

__builtins__ = library_references.builtins

Imported = tuple[str, Mapping[LoadedFile, Sequence[int]]]
"""The path of a module, and the cells that its first import set."""


class ChildProcessMerge:
    """Merges the child processes of tests into these tests."""

    def __init__(
        self, hook: ImportHook, imports: FirstImports, children: ChildrenOfTests, imported: Callable[[Imported], None]
    ):
        self.hook = hook  # the import hook of this process; the cells of children are added to its cells
        self.imports = imports  # the first imports of this process
        self.children = children  # the folder to which children write what they ran
        self.imported = imported  # called with `Imported` for each first import in a child
        self._numbers: list[int] = []  # numbers with which the current test starts children
        self._setups: set[int] = set()  # numbers of what several tests use
        self._written: dict[int, int] = {}  # by number: position in the log of the test that started the children

    def start(self, when_forked: Callable[[], None]) -> None:
        """Record processes that are started from now on."""
        self.children.inject_env(os.environ)

        def forked() -> None:
            if self.children.closed:
                return  # the run is over, or this is a child of a child, which `follow_forks` handles
            # the log belongs to the process that this one was forked from
            when_forked()
            self.children.release()
            self._become_child()

        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=forked)

    def _become_child(self) -> None:
        try:
            log = ChildLog(self.children.folder, self.children.number, self.hook.counting)
        except OSError as error:
            report_failure(self.children.folder, error)
            self.hook.uninstall()
            return
        # the process that runs the tests has the maps of these
        known = {(file.path, file.digest) for file in self.hook.files}

        def take(path: str, digest: str, cells: int, source_map: bytes) -> MutableSequence[int]:
            return log.take(path, digest, cells, b"" if (path, digest) in known else source_map)

        self.hook.move(take)
        if self.hook.monitor is not None and self.children.number not in self._numbers:
            self.hook.monitor.once = False
        self.imports.move(log.imported, log.room)
        follow_forks(self.hook, self.imports, log)

    # a test from its begin to its end

    def begin(self) -> None:
        """Begin a test, to which processes that are started from now on belong."""
        self._numbers = [self.children.next_number()]

    def begin_apart(self) -> int:
        """Begin what several tests use, and return the number of what is interrupted."""
        self._take_lasting()
        before = self.children.number
        self._setups.add(self.children.next_number())
        return before

    def end_apart(self, before: int) -> None:
        """Add what its finished children ran to the cells, and go on with what was interrupted."""
        self._take({self.children.number})
        self._take_lasting()
        self.children.use_number(before)

    def restart_attempt(self) -> None:
        """Drop the children of the attempt."""
        self._numbers = [self.children.next_number()]

    def discard(self) -> None:
        """Drop the children of a test that did not end."""
        self._numbers = []
        self.children.use_number(0)

    def end(self) -> None:
        """Add what children ran during the test to the cells: its own, and those that last."""
        self._take(set(self._numbers))
        self._take_lasting()

    def written(self, at: int) -> None:
        """Note the position in the log at which the finished test will be written."""
        self._written.update(dict.fromkeys(self._numbers, at))
        self.discard()

    # between tests

    def outside(self, *, everything: bool = False) -> None:
        """Add what children ran that no test started."""
        self._take({0}, everything=everything)
        self._take_lasting({0})

    def late(self, *, everything: bool = False) -> Iterator[int]:
        """Add what children ran that finished after their test, test by test.

        The caller must harvest the cells before it asks for the next test.

        The position of the test's frame in the log, in bytes; what its children ran is in the cells.
        """
        # a child may end long after its test, which is then written again
        for at in sorted({self._written[n] for n in self.children.numbers() if n in self._written}):
            numbers = {n for n, place in self._written.items() if place == at}
            if self._take(numbers, everything=everything):
                yield at

    def moved(self, before: int, after: int) -> None:
        """Note that a test was written again at another position of the log."""
        for number, at in self._written.items():
            if at == before:
                self._written[number] = after

    def stop(self) -> None:
        """Stop recording children; what running ones still write is ignored."""
        self.children.remove_env(os.environ)
        self.children.close()

    def _take(self, numbers: set[int], *, everything: bool = False) -> int:
        """Add the cells of finished children, or of all; return their number."""
        children = [child for child in self.children.started_by(numbers) if everything or not child.runs]
        for child in children:
            self._add(child)
            child.remove()
        return len(children)

    def _take_lasting(self, numbers: Container[int] | None = None) -> None:
        """Add what children ran that still run, or that tests used which did not start them."""
        for child in self.children.all():
            if numbers is not None and child.number not in numbers:
                continue
            if child.runs:
                child.lasts = child.lasts or child.number not in self._numbers
                self._add(child, everything=False)
            elif child.lasts or child.number in self._setups:
                self._add(child)
                child.remove()

    def _add(self, child: ChildOfTest, *, everything: bool = True) -> None:
        files, imports = child.take(everything=everything)
        for file in files:
            self.hook.absorb(file.path, file.digest, file.map, file.cells)
        for path, ran in imports:
            known = {self.hook.known(f.path, f.digest, f.map, len(f.cells)): f.cells for f in ran}
            self.imported((path, {file: cells for file, cells in known.items() if file is not None}))
