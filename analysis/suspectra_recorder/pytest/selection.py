"""Which of the tests that were collected are to run, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, sys

if TYPE_CHECKING:
    import pytest

__builtins__ = library_references.builtins


class _Fields(TypedDict):
    left_out: dict[str, str]
    chosen: list[str]


class SelectionFields(_Fields, total=False):
    """The fields of a `ChosenTests`, as JSON."""

    only: list[str]
    known: list[str]
    first: list[str]
    most: int


@dataclass(frozen=True)
class ChosenTests:
    """The tests to run, as the command that started pytest or unittest has chosen them."""

    left_out: Mapping[str, str]  # tests that need not run, each with the version of Python in which it ran last
    chosen: Sequence[str]  # the other tests that were recorded
    only: Sequence[str] | None = None  # the only tests to run, whatever was recorded
    known: Sequence[str] = ()  # all tests that were recorded, where only some are to run
    # tests that run before the others, in this order: those that failed last time, then those that will most probably
    # tell something. Tests that share a fixture stay together
    first: Sequence[str] = ()
    most: int = 0  # after how many failures a run on save ends; 0 for another run

    @classmethod
    def read(cls, path: str) -> ChosenTests | None:
        """Read a selection from a file.

        None if all tests run.

        Raises OSError when the file can't be read.
        """
        if not path:
            return None
        with open(path, encoding="utf-8") as stream:
            return cls.from_fields(json.load(stream))

    @classmethod
    def from_fields(cls, fields: SelectionFields) -> ChosenTests:
        """Make a selection from its fields."""
        return cls(
            fields["left_out"],
            tuple(fields["chosen"]),
            tuple(fields["only"]) if "only" in fields else None,
            tuple(fields.get("known", ())),
            tuple(fields.get("first", ())),
            fields.get("most", 0),
        )

    @property
    def by_itself(self) -> bool:
        """Whether an editor runs these tests, of which nobody expects the reports that a run of all tests writes."""
        return self.only is not None or self.most > 0

    def shorten(self, config: pytest.Config) -> None:
        """Let a run on save end after some failures, and show a line for each, unless pytest is told otherwise."""
        if self.most:
            if not getattr(config.option, "maxfail", 0):
                config.option.maxfail = self.most
            if getattr(config.option, "tbstyle", "auto") == "auto":
                config.option.tbstyle = "line"

    def apply(self, items: list[pytest.Item], config: pytest.Config, name_of: Callable[[pytest.Item], str]) -> int:
        """Deselect tests that need not run, and put the others in order."""
        python = sys.version.split()[0]
        if self.only is not None:
            only = set(self.only)
            needless = [item for item in items if name_of(item) not in only]
        else:
            # only tests that ran last with this Python
            needless = [item for item in items if self.left_out.get(name_of(item)) == python]
        if needless:
            gone = set(map(id, needless))
            # pytest counts them, and other plugins may want to know
            config.hook.pytest_deselected(items=needless)
            items[:] = [item for item in items if id(item) not in gone]
        if self.first:
            _order(items, self.first, name_of)
        known = {*self.left_out, *self.chosen}
        return 0 if self.only is not None else sum(name_of(item) not in known for item in items)


def _order(items: list[pytest.Item], first: Sequence[str], name_of: Callable[[pytest.Item], str]) -> None:
    """Sort tests by a list of names; those that share a fixture come together, where the first of them comes."""
    places = {name: number for number, name in enumerate(first)}
    # a fixture of a module would be set up again for each part of it
    units = {id(item): _unit(item) for item in items}
    earliest: dict[str, int] = {}
    for item in items:
        unit, place = units[id(item)], places.get(name_of(item), len(places))
        earliest[unit] = min(place, earliest.get(unit, place))
    items.sort(key=lambda item: earliest[units[id(item)]])


def _unit(item: pytest.Item) -> str:
    """What a test can't be separated from: the tests of its class or file where they share a fixture, else itself."""
    definitions: Any = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    scopes = {found[-1].scope for found in definitions.values() if found and not _does_nothing(item, found[-1])}
    parts = item.nodeid.split("::")
    if scopes & {"module", "package"}:
        return parts[0]
    return "::".join(parts[:-1]) if "class" in scopes and len(parts) > 2 else item.nodeid


def _does_nothing(item: pytest.Item, fixture: Any) -> bool:
    """Whether it is the fixture that pytest makes of ``setUpClass`` for a class that has none of its own."""
    cls: Any = getattr(item, "cls", None)
    if "setUpClass" not in fixture.argname or "unittest" not in sys.modules or cls is None:
        return False
    plain = sys.modules["unittest"].TestCase
    names = ("setUpClass", "tearDownClass")
    return all(getattr(getattr(cls, n, None), "__func__", None) is getattr(plain, n).__func__ for n in names)
