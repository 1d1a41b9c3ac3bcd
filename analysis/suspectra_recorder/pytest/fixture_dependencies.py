"""Dependencies of tests besides the code that they execute themselves.

These are the files of the tests and the ``conftest.py`` files above them, which tell which tests a change can affect,
and the setup of shared fixtures, which counts for each test that uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from functools import partial
from inspect import isgeneratorfunction
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeAlias

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cache import Instrumented
from suspectra_recorder.instrumentation.library_references import hashlib, os
from suspectra_recorder.instrumentation.outline import Outline
from suspectra_recorder.instrumentation.probes import ModuleMap
from suspectra_recorder.instrumentation.standard_library import StandardLibrary
from suspectra_recorder.recorder import Apart, Recorder, Rows
from suspectra_recorder.unrecorded_modules import imported_files

if TYPE_CHECKING:
    import pytest

Fixture: TypeAlias = "pytest.FixtureDef[object]"
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
            # most modules are not of the workspace, which is the quickest to find out
            if path.endswith(".py") and scope.name(path) is not None and scope.is_test_module(path):
                real = scope.real(path)
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
    """What fixtures that several tests use execute to be set up and torn down, fixture by fixture."""

    def __init__(self, recorder: Recorder, attempt: Callable[..., object]):
        self.recorder = recorder  # the recorder to which it is written
        self._attempt = attempt
        self._names: dict[int, str] = {}  # of what shared fixtures executed, by the id of the fixture that is set up
        self._uses: dict[int, list[Fixture]] = {}  # the fixtures that a fixture uses, by its id
        self._closing: dict[int, Apart] = {}  # by the id of the fixture that is torn down
        self._torn_down: list[tuple[Fixture, Rows]] = []

    def begin(self) -> None:
        """Begin a test."""
        self._torn_down.clear()

    def set_up(self, fixture: Fixture, request: pytest.FixtureRequest) -> Generator[None, object, None]:
        """Record the setup of a fixture, which runs meanwhile."""
        used = self._uses[id(fixture)] = [defs for name in fixture.argnames if (defs := _active(request, name))]
        # a fixture of this scope belongs to one test, whose rows have its setup
        if fixture.scope == "function":
            yield
            return
        if "request" in fixture.argnames:
            _note_requests(request, used)
        began = self.recorder.begin_apart()
        yield
        self._names[id(fixture)] = self.recorder.end_setup(began, always=isgeneratorfunction(fixture.func))
        fixture.addfinalizer(partial(self._attempt, "a finalizer", self._tear_down, fixture))  # it is called first

    def _tear_down(self, fixture: Fixture) -> None:
        self._closing[id(fixture)] = self.recorder.begin_apart()

    def torn_down(self, fixture: Fixture) -> None:
        """End the teardown of a fixture."""
        name = self._names.pop(id(fixture), "")
        if began := self._closing.pop(id(fixture), None):
            self._torn_down.append((fixture, self.recorder.end_teardown(began, name)))

    def failed(self, raised_in: Collection[CodeType]) -> None:
        """Let a teardown count for the test that is running, because it failed at that."""
        torn_down, self._torn_down = self._torn_down, []
        failed = [(f, rows) for f, rows in torn_down if getattr(f.func, "__code__", None) in raised_in]
        for _, rows in failed or torn_down:  # a finalizer may be any function
            self.recorder.hook.mark(*rows)

    def used_by(self, item: pytest.Item) -> tuple[str, ...]:
        """Return what the shared fixtures that a test uses executed to be set up."""
        found: dict[int, None] = {}
        waiting = _requested(item)
        while waiting:
            fixture = waiting.pop()
            if id(fixture) not in found:
                found[id(fixture)] = None
                waiting += self._uses.get(id(fixture), ())
        return tuple(name for fixture, name in self._names.items() if name and fixture in found)


def _requested(item: pytest.Item) -> list[Fixture]:
    """The fixtures that a test has requested so far, up to one whose setup failed."""
    defined = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    found = dict(getattr(getattr(item, "_request", None), "_fixture_defs", {}))
    for name in getattr(item, "fixturenames", ()):
        fixture = defined[name][-1] if name not in found and defined.get(name) else None
        if fixture is not None and fixture.cached_result is not None and fixture.cached_result[2] is not None:
            found[name] = fixture
            break
    return list(found.values())


def _active(request: Any, name: str) -> Fixture | None:
    found: Fixture | None = getattr(request, "_fixture_defs", {}).get(name)
    return found


def _note_requests(request: Any, used: list[Fixture]) -> None:
    """Note the fixtures that a fixture requests by name while it is set up."""
    request_fixture = request.getfixturevalue

    def getfixturevalue(argname: str) -> Any:
        __tracebackhide__ = True
        value = request_fixture(argname)
        if (fixture := _active(request, argname)) is not None:
            used.append(fixture)
        return value

    request.getfixturevalue = getfixturevalue
