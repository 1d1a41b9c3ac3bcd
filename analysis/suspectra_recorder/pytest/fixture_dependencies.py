"""Dependencies of tests besides the code that they execute themselves.

These are the files of the tests, the ``conftest.py`` files above them, and the setup of shared fixtures, which earlier
tests executed. Rankings do not use them, but they tell which tests a change can affect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cache import Instrumented
from suspectra_recorder.instrumentation.library_references import hashlib, os
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.probes import ModuleMap
from suspectra_recorder.instrumentation.standard_library import StandardLibrary
from suspectra_recorder.recorder import Recorder
from suspectra_recorder.unrecorded_modules import imported_files

if TYPE_CHECKING:
    import pytest

__builtins__ = library_references.builtins

_CONFTEST = "conftest.py"
_VARIANT = "a file of tests"


class TestFiles:
    """The files that contain tests."""

    __test__ = False

    def __init__(self, recorder: Recorder):
        self.recorder = recorder  # the recorder to which they are written
        self._numbers: dict[tuple[str, bool], int | None] = {}
        self._of: dict[tuple[str, bool], tuple[int, ...]] = {}
        self._above: dict[str, tuple[int, ...]] = {}

    def numbers(self, path: str, *, parted: bool) -> tuple[int, ...]:
        """Return the indices of a test's own file and of the conftests above it.

        Indices in the recording, the test's own file first; without files outside the workspace.
        """
        key = path, parted
        if key not in self._of:
            path = os.path.realpath(key[0])
            own = self._number(path, parted=key[1])
            above = self._conftests(os.path.dirname(path))
            self._of[key] = above if own is None or own in above else (own, *above)
        return self._of[key]

    def imported(self) -> None:
        """Record also test modules without tests, since other modules may import them."""
        scope = self.recorder.scope
        for path in imported_files():
            if path.endswith(".py") and scope.is_test_module(path) and scope.name(path) is not None:
                real = os.path.realpath(path)
                if scope.contains(os.path.dirname(real)):
                    self._number(real, parted=True)

    def _conftests(self, folder: str) -> tuple[int, ...]:
        if folder not in self._above:
            number = self._number(os.path.join(folder, _CONFTEST), parted=True)
            higher = os.path.dirname(folder)
            inside = self.recorder.scope.name(folder) is not None and higher != folder
            above = self._conftests(higher) if inside else ()
            self._above[folder] = above if number is None else (number, *above)
        return self._above[folder]

    def _number(self, path: str, *, parted: bool) -> int | None:
        """The index of a file; `parted` to distinguish its functions."""
        if (path, parted) not in self._numbers:
            self._numbers[path, parted] = self._record(path, parted)
        return self._numbers[path, parted]

    def _record(self, path: str, parted: bool) -> int | None:
        name = self.recorder.scope.name(path)
        try:
            with open(path, "rb") as stream:
                source = stream.read()
        except OSError:
            return None
        if name is None:
            return None
        digest = hashlib.sha256(source).hexdigest()
        return self.recorder.file_without_probes(name, digest, self._map(path, source, digest, parted))

    def _map(self, path: str, source: bytes, digest: str, parted: bool) -> bytes:
        if not parted:
            return ModuleMap().to_bytes()
        cache = self.recorder.hook.cache
        place = f"{path}\0{_VARIANT}"
        key = cache.key(place, digest, _VARIANT) if cache else b""
        item = cache.load(place, key) if cache else None
        if item is None:
            with StandardLibrary():
                from suspectra_recorder.instrumentation.source import parse  # seldom needed, and slow to import
            try:
                outline = Outline.from_tree(parse(source), tests=True)
            except (SyntaxError, ValueError, RecursionError):
                outline = None  # then any change affects all of its tests
            # the cache takes only code
            item = Instrumented(compile("", path, "exec"), 0, ModuleMap(outline=outline).to_bytes())
            if cache:
                cache.store(place, key, item)
        return item.map


class SharedSetup:
    """Setup of fixtures that one test executes and later tests use."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder  # the recorder to which it is written
        self._fixtures: dict[int, tuple[pytest.FixtureDef[object], str]] = {}  # by id, with its name

    def made(self, fixture: pytest.FixtureDef[object]) -> None:
        """Record the setup of a fixture, which is almost always the first thing that its test executes.

        Everything that the test executed so far counts for the fixture, since it may be another fixture that this one
        uses.
        """
        # a fixture of this scope belongs to one test, whose rows have its setup
        if fixture.scope != "function" and (name := self.recorder.share(self.recorder.passed())):
            # with the fixture, so that no other one gets its identity
            self._fixtures[id(fixture)] = fixture, name

    def gone(self, fixture: pytest.FixtureDef[object]) -> None:
        """Forget a fixture that was torn down."""
        self._fixtures.pop(id(fixture), None)

    def used_by(self, item: pytest.Item) -> tuple[str, ...]:
        """Return the shared fixtures that a test uses."""
        asked = set(getattr(item, "fixturenames", ()))
        asked.update(getattr(getattr(item, "_request", None), "_fixture_defs", ()))  # those requested by name
        return tuple(name for fixture, name in self._fixtures.values() if fixture.argname in asked)
