"""The import hook: wanted modules get probes when they are loaded, by whatever finder found them.

Every loader of Python files is a :class:`importlib.machinery.SourceFileLoader`; its ``get_code`` is replaced
while the hook is installed. Module specs and loaders stay what they are, and modules that are loaded by path,
by editable installs or by ``runpy`` are seen like any other.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import sys
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType

from suspectra.instrumentation.cache import CodeCache, Instrumented
from suspectra.instrumentation.rewriting import instrument

_DIGITS = bytes.maketrans(b"\0\1", b"01")


@dataclass(eq=False)
class LoadedFile:
    """An instrumented source of this process.

    Parameters
    ----------
    path : str
        As the scope named it: relative to the workspace, forward slashes.
    digest : str
        SHA-256 of the source, hexadecimal.
    cells : list of int
        What the probes set or count; its length is a multiple of eight.
    map : bytes
        The compressed :class:`~suspectra.instrumentation.probes.ModuleMap`.
    """

    path: str
    digest: str
    cells: list[int]
    map: bytes
    untouched: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.untouched = list(self.cells)


class ImportHook:
    """Instruments what `scope` wants.

    Parameters
    ----------
    scope : callable
        Gives the name to record for an absolute path, or None when the file is not wanted.
    cache : CodeCache, optional
    on_load : callable, optional
        Called with each :class:`LoadedFile` before its code runs.
    on_failure : callable, optional
        Called with the recorded name and the exception when a file could not be instrumented.
    counting : bool
        Count how often each probe is passed.
    """

    def __init__(
        self,
        scope: Callable[[str], str | None],
        cache: CodeCache | None = None,
        on_load: Callable[[LoadedFile], None] | None = None,
        on_failure: Callable[[str, Exception], None] | None = None,
        counting: bool = False,
    ):
        self.scope = scope
        self.cache = cache
        self.on_load = on_load
        self.on_failure = on_failure
        self.counting = counting
        self.files: list[LoadedFile] = []
        self._by_key: dict[tuple[str, str], LoadedFile] = {}
        self._lock = threading.Lock()
        self._original: Callable | None = None

    def install(self) -> None:
        """Start instrumenting what is loaded from now on."""
        if self._original is not None:
            return
        original = self._original = SourceFileLoader.get_code
        plain = SourceFileLoader.source_to_code

        def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
            # a loader with its own way to make code is another tool's hook: what it does must stay
            if type(loader).source_to_code is plain:
                path = loader.get_filename(fullname)
                name = self.scope(path)
                if name is not None:
                    code = self.code(path, name, loader.get_data(path))
                    if code is not None:
                        return code
            return original(loader, fullname)

        SourceFileLoader.get_code = get_code  # type: ignore[method-assign]

    @property
    def installed(self) -> bool:
        """Whether modules are being instrumented."""
        return self._original is not None

    def uninstall(self) -> None:
        """Stop; modules that were instrumented stay so."""
        if self._original is not None:
            SourceFileLoader.get_code = self._original  # type: ignore[method-assign]
            self._original = None

    def code(
        self,
        path: str,
        name: str,
        source: bytes,
        rewrite: Callable[[ast.Module], None] | None = None,
        variant: str = "",
    ) -> CodeType | None:
        """Code with probes for a source, or None when it can't have them.

        `rewrite` may change the instrumented tree further; `variant` tells its results apart in the cache.
        """
        digest = hashlib.sha256(source).hexdigest()
        cells_name = _cells_name(name, digest)
        try:
            item = self._instrumented(path, source, digest, cells_name, rewrite, variant)
        except SyntaxError:
            return None  # Python's own loader reports it best
        except Exception as error:
            if self.on_failure is not None:
                self.on_failure(name, error)
            return None
        self._register(name, digest, cells_name, item)
        return item.code

    def harvest(self) -> tuple[list[int], bytes]:
        """What passed since the last harvest, and start again.

        Returns
        -------
        touched : list of int
            Numbers of the files in which any probe fired, ascending.
        bits : bytes
            Their cells in that order, one bit each, the first cell in the highest bit of the first byte; when
            counting, then the numbers in the cells that are set, as little-endian u64.
        """
        if self.counting:
            return self._counted()
        touched: list[int] = []
        parts: list[bytes] = []
        for number, file in enumerate(self.files):
            cells = bytes(file.cells)
            if 1 in cells:
                file.cells[:] = file.untouched
                touched.append(number)
                parts.append(cells)
        if not parts:
            return touched, b""
        digits = b"".join(parts).translate(_DIGITS)
        return touched, int(digits, 2).to_bytes(len(digits) // 8, "big")

    def mark(self, touched: list[int], bits: bytes) -> None:
        """Set the cells that an earlier harvest found set."""
        start = 0
        size = sum(len(self.files[number].cells) // 8 for number in touched)
        counts = iter(_numbers(bits[size:]))
        for number in touched:
            cells = self.files[number].cells
            end = start + len(cells) // 8
            digits = bin(int.from_bytes(bits[start:end], "big"))[2:].zfill(len(cells))
            for cell, digit in enumerate(digits):
                if digit == "1":
                    cells[cell] = next(counts, 1)
            start = end

    def _counted(self) -> tuple[list[int], bytes]:
        touched: list[int] = []
        parts: list[bytes] = []
        counts = array("Q")
        for number, file in enumerate(self.files):
            if any(file.cells):
                # a thread that counts at the same time may leave less than nothing behind a guard
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
    ) -> Instrumented:
        variant = f"{variant}\0counts" if self.counting else variant
        key = self.cache.key(path, digest, f"{variant}\0{cells_name}") if self.cache else b""
        item = self.cache.load(path, key) if self.cache else None
        if item is None:
            tree, module_map = instrument(source, path, cells_name, counting=self.counting)
            if rewrite is not None:
                rewrite(tree)
            code = compile(tree, path, "exec", dont_inherit=True)
            item = Instrumented(code, module_map.cells, module_map.to_bytes())
            if self.cache:
                self.cache.store(path, key, item)
        return item

    def _register(self, name: str, digest: str, cells_name: str, item: Instrumented) -> None:
        with self._lock:
            if (name, digest) in self._by_key:
                return  # the same file under a second module name, or loaded again
            file = LoadedFile(name, digest, [0] * (-(-item.cells // 8) * 8), item.map)
            setattr(builtins, cells_name, file.cells)
            self._by_key[name, digest] = file
            self.files.append(file)
            if self.on_load is not None:
                self.on_load(file)


def _numbers(data: bytes) -> array[int]:
    numbers = array("Q")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _cells_name(name: str, digest: str) -> str:
    unique = hashlib.sha256(f"{name}\0{digest}".encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"__suspectra_{unique}__"
