"""The import hook: it inserts probes into modules that are recorded."""

from __future__ import annotations

import ast
from array import array
from collections.abc import Callable, Collection, MutableSequence, Sequence
from types import CodeType
from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cache import CodeCache, Instrumented
from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.compiling import CompileHook
from suspectra_recorder.instrumentation.failure_guard import Guard
from suspectra_recorder.instrumentation.library_references import hashlib, os, sys
from suspectra_recorder.instrumentation.loaded_file import LoadedCode, LoadedFile, placeholder
from suspectra_recorder.instrumentation.loaders import LoaderHook
from suspectra_recorder.instrumentation.other_tools import ChangedTrees
from suspectra_recorder.instrumentation.standard_library import StandardLibrary

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.monitoring import Monitor

__builtins__ = library_references.builtins
__tracebackhide__ = True  # pytest omits these frames from tracebacks

TakeCells = Callable[[str, str, int, bytes], MutableSequence[int]]
"""Allocates cells, given a source's recorded name and digest, the number of cells, and the map of its probes."""


_DIGITS = bytes.maketrans(b"\0\1", b"01")


class ImportHook:
    """Instruments the files in a scope."""

    def __init__(
        self,
        scope: Callable[[str], str | None],
        cache: CodeCache | None = None,
        counting: bool = False,
        cells: TakeCells | None = None,
        monitor: Monitor | None = None,  # watches the probes instead of letting them store; it can't count
    ):
        self.scope = scope
        self.cache = cache  # the cache of instrumented code
        self.counting = counting  # whether to count how often each probe is passed
        self.take_cells = cells
        self.monitor = monitor
        self.files: list[LoadedFile] = []  # the files loaded so far
        self._by_key: dict[tuple[str, str], LoadedFile] = {}
        self.guard = Guard()  # has the files that could not be instrumented; they run without probes
        self.kept: dict[str, list[LoadedCode]] | None = None  # what was loaded, by recorded names, if it is to be kept
        self.settle: Callable[[], None] = lambda: None  # called before a harvest
        self.give_results: Callable[[LoadedFile], None] = lambda file: None  # called with each source that is loaded
        self._stand_in: Callable[[LoadedFile], MutableSequence[int]] | None = None
        self.trees = ChangedTrees(self._placed, counting=counting)  # instruments what other tools compile
        self._compiling = CompileHook(scope, self.code, self.guard, self.trees.code)
        self._loading = LoaderHook(scope, self.code, self.guard, self._compiling)
        self.readers = self._loading.readers

    def install(self) -> None:
        """Start instrumenting."""
        if self.installed:
            return
        self._loading.install()
        for file in self._by_key.values():
            self._find_by_name(file)
        self._compiling.install()

    @property
    def installed(self) -> bool:
        """Whether modules are being instrumented."""
        return self._loading.get_code is not None

    def uninstall(self) -> None:
        """Stop; instrumented modules keep their probes."""
        if self.installed:
            self._loading.uninstall()
            self._compiling.uninstall()

    def narrow(self, scope: Callable[[str], str | None], unwanted: Collection[str]) -> None:
        """Continue with another scope; only before the first harvest."""
        # code that was loaded keeps its probes, whose cells nobody harvests any more
        self.scope = self._loading.scope = self._compiling.scope = scope
        self.files = [file for file in self.files if file.path not in unwanted]
        self._by_key = {key: file for key, file in self._by_key.items() if file.path not in unwanted}

    def code(
        self,
        path: str,
        name: str,
        source: bytes,
        rewrite: Callable[[ast.Module], None] | None = None,
        variant: str = "",
        flags: int = 0,
    ) -> CodeType | None:
        """Make the code with probes for a source.

        None if the source can't be instrumented.
        """
        return self.guard.attempt(name, self._code, path, name, source, rewrite, variant, flags)

    def _code(
        self,
        path: str,
        name: str,
        source: bytes,
        rewrite: Callable[[ast.Module], None] | None,
        variant: str,
        flags: int,
    ) -> CodeType | None:
        # a file that changed is another one: a process may load both
        digest = hashlib.sha256(source).hexdigest()
        cells_name = placeholder(name, digest)
        try:
            item = self._instrumented(path, source, digest, cells_name, rewrite, variant, flags)
        except SyntaxError:
            return None  # let Python's own loader report it
        file = self._register(name, digest, item.cells, item.map)
        self.readers.instrumented(path, digest, flags)
        # the placeholder becomes the object with the cells, or stores become jumps
        place_cells = with_cells if self.monitor is None else self.monitor.watch
        code = place_cells(item.code, cells_name, file)
        if self.kept is not None:
            self.kept.setdefault(name, []).append(LoadedCode(path, source, code, file, variant))
        return code

    def _placed(self, code: CodeType, name: str, digest: str, cells: int, source_map: bytes) -> CodeType:
        place_cells = with_cells if self.monitor is None else self.monitor.watch
        return place_cells(code, placeholder(name, digest), self._register(name, digest, cells, source_map))

    def exchange(self, old: LoadedFile, new: LoadedFile) -> None:
        """Let a newer version of a source take the place of another one, from now on."""
        # under the number of the old one: what was written by now names it so
        self.files = [file for file in self.files if file is not new]
        self.files[next(n for n, file in enumerate(self.files) if file is old)] = new

    def add(self, file: LoadedFile) -> int:
        """Add a file without probes.

        Its index in harvests, in which it is never touched.
        """
        self.files.append(file)
        return next(n for n in reversed(range(len(self.files))) if self.files[n] is file)

    def harvest(self) -> tuple[list[int], bytes]:
        """Return which cells were passed since the last harvest, and reset them.

        Indices of files in which any probe was passed, ascending.

        Their cells in that order, one bit each, the first cell in the highest bit of the first byte; with counts, then
        the counts of the set cells as little-endian u64.
        """
        self.settle()
        if self.counting:
            return self._counted()
        touched: list[int] = []
        parts: list[bytes] = []
        for number, file in enumerate(self.files):
            # a search in bytes takes a fraction of one in a list of numbers
            cells = bytes(file.cells)
            if 1 in cells:
                file.cells[:] = file.untouched
                touched.append(number)
                parts.append(cells)
        # each probe has reported its first pass, and is to do so again for the next test
        if self.monitor is not None:
            self.monitor.rearm()
        if not parts:
            return touched, b""
        digits = b"".join(parts).translate(_DIGITS)
        return touched, int(digits, 2).to_bytes(len(digits) // 8, "big")

    def mark(self, touched: list[int], bits: bytes) -> None:
        """Add an earlier harvest to the cells."""
        start = 0
        size = sum(len(self.files[number].cells) // 8 for number in touched)
        counts = iter(_numbers(bits[size:]))
        for number in touched:
            cells = self.files[number].cells
            end = start + len(cells) // 8
            digits = bin(int.from_bytes(bits[start:end], "big"))[2:].zfill(len(cells))
            for cell, digit in enumerate(digits):
                if digit == "1":
                    cells[cell] = cells[cell] + next(counts) if self.counting else 1
            start = end

    def absorb(self, path: str, digest: str, source_map: bytes, cells: Sequence[int]) -> None:
        """Add the cells of another process."""
        file = self.known(path, digest, source_map, len(cells)) if any(cells) else None
        if file is not None:
            for cell, count in enumerate(cells):
                if count > 0:
                    file.cells[cell] = file.cells[cell] + count if self.counting else 1

    def known(self, path: str, digest: str, source_map: bytes, cells: int) -> LoadedFile | None:
        """Find a source that another process loaded.

        None if this process has not loaded it and has no map of it.
        """
        file = self._by_key.get((path, digest))
        if file is None and source_map:
            file = self._register(path, digest, cells, source_map)
        return file if file is not None and len(file.cells) == cells else None

    def store_into(self, stand_in: Callable[[LoadedFile], MutableSequence[int]] | None) -> None:
        """Redirect the stores of probes."""
        self._stand_in = stand_in
        # a copy, since another thread may load a file meanwhile
        for file in list(self._by_key.values()):
            self._expose(file)
        if self.monitor is not None:
            self.monitor.store_into(stand_in)

    def _find_by_name(self, file: LoadedFile) -> None:
        """Let unpickled code find a file, by an attribute of an object that every process has."""
        if self._loading.get_code is not None:
            setattr(self._loading.get_code, placeholder(file.path, file.digest), file)

    def _expose(self, file: LoadedFile) -> None:
        file.target = file.cells if self._stand_in is None else self._stand_in(file)

    def move(self, cells: TakeCells) -> None:
        """Replace the cells in a forked process; nothing more is harvested there."""
        self.take_cells = cells
        self.files = []
        for file in self._by_key.values():
            file.cells = cells(file.path, file.digest, len(file.cells), file.map)
            self._expose(file)
        if self.monitor is not None:
            self.monitor.rearm()

    def _counted(self) -> tuple[list[int], bytes]:
        touched: list[int] = []
        parts: list[bytes] = []
        counts = array("Q")
        for number, file in enumerate(self.files):
            if any(file.cells):
                # a thread that counts at the same time may make counts negative
                cells = [max(count, 0) for count in file.cells]
                file.cells[:] = file.untouched
                touched.append(number)
                parts.append(bytes(map(bool, cells)))
                counts.extend(filter(None, cells))
        if sys.byteorder == "big":
            counts.byteswap()
        digits = b"".join(parts).translate(_DIGITS)
        bits = int(digits, 2).to_bytes(len(digits) // 8, "big") if digits else b""
        return touched, bits + counts.tobytes()

    def _instrumented(
        self,
        path: str,
        source: bytes,
        digest: str,
        cells_name: str,
        rewrite: Callable[[ast.Module], None] | None,
        variant: str,
        flags: int,
    ) -> Instrumented:
        # everything on which the code depends has to be in the key of the cache
        # a scope may also know which files have tests beside the program
        mixed = bool(getattr(self.scope, "is_mixed", lambda path: False)(os.path.realpath(path)))
        variant = f"{variant}\0mixed" if mixed else variant
        variant = f"{variant}\0counts" if self.counting else variant
        variant = f"{variant}\0flags {flags}" if flags else variant
        key = self.cache.key(path, digest, f"{variant}\0{cells_name}") if self.cache else b""
        item = self.cache.load(path, key) if self.cache else None
        # a test may expect the warning, in each run
        if item is not None and item.warned:
            compile(source, path, "exec", flags, dont_inherit=True)  # to warn again
        if item is None:
            with StandardLibrary():  # slow to import, and usually not needed
                from suspectra_recorder.instrumentation.rewriting import instrument
                from suspectra_recorder.instrumentation.source import CompilerWarnings
            with CompilerWarnings(path, __name__) as warnings:
                with StandardLibrary():
                    tree, probes = instrument(
                        source,
                        path,
                        cells_name,
                        counting=self.counting,
                        asserts=rewrite is None,
                        mixed=mixed,
                        kept=True,
                    )
                if rewrite is not None:
                    rewrite(tree)
                code = compile(tree, path, "exec", flags, dont_inherit=True)
            item = Instrumented(code, probes.cells, probes.to_bytes(), warnings.issued)
            if self.cache:
                self.cache.store(path, key, item)
        return item

    def _register(self, name: str, digest: str, cells: int, source_map: bytes) -> LoadedFile:
        # without a lock, because a signal handler or a forked process may run this while it is locked
        known = self._by_key.get((name, digest))
        if known is not None:
            return known  # the same file with another module name, or loaded again
        size = -(-cells // 8) * 8
        take = self.take_cells
        room = [0] * size if take is None else take(name, digest, size, source_map)
        made = LoadedFile(name, digest, room, source_map)
        # in one step: another thread may load the same file
        file = self._by_key.setdefault((name, digest), made)
        self._expose(file)
        self.give_results(file)
        self._find_by_name(file)
        # cells that a child process allocates are read from its file, not harvested
        if file is made and take is None:
            self.files.append(file)
        return file


def bits(cells: Sequence[int]) -> int:
    """Encode which cells were passed.

    A bit for each cell, the first cell in the highest bit.
    """
    return int(bytes(map(bool, cells)).translate(_DIGITS), 2)


def _numbers(data: bytes) -> array[int]:
    numbers = array("Q")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
