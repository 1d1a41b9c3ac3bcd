"""Which tests to run again after a change: those that failed, and those that the change can reach.

A change reaches a test if the test executed a function whose behaviour changed, if its own file or a ``conftest.py``
above it changed in more than other tests, if a file that it executed was removed, or if code that runs at import
changed in a module that a file of the test imports, directly or not. Tests that are not in the recording always run,
and are not listed here.

What changed is known for each test from the digests in the recording, whatever was committed in between; a git revision
can only add to that. The choice may have too many tests, but none too few, except for what docs/recording.md lists.

Which data files a test opens is not recorded: an audit hook can't be removed, runs for every event of the user's
process, and misses what C libraries open and what a fixture hands on. A list that is incomplete without a sign of it
would be worse than none. So data files count only where all files are compared anyway (`--since`).
"""

from __future__ import annotations

import os
import posixpath
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import or_

from suspectra.base.english import many, some
from suspectra.base.errors import Problem, UsageError
from suspectra.base.newer_syntax import is_newer, newer_syntax
from suspectra.selection.changes import Changes, WorkspaceFiles, changes, other_files
from suspectra.selection.importers import Importers
from suspectra.selection.recorded_tests import (
    KnownTest,
    PackedRows,
    RecordedSection,
    RecordedTests,
    RecordedVersion,
    recorded_tests,
)
from suspectra.selection.revision import Revision
from suspectra_recorder.instrumentation.outline import Difference
from suspectra_recorder.log.frames import DAMAGE
from suspectra_recorder.pytest.selection import SelectionFields
from suspectra_recorder.settings import recording_folder

FAILED = "failed last time"
_SHORTEST_S = 1e-4
"""That a test takes at least, for its order: times of shorter ones are no more than noise."""
_NEW_FAILURES = 50  # after these a run on save ends: more would tell nothing new
_EVERY = -1  # a mask that contains every cell


@dataclass(frozen=True)
class Selection:
    """The tests to run again."""

    known: int = 0  # the number of tests in the recording
    failed: tuple[str, ...] = ()  # the tests that failed last time
    # the other tests that the change reaches, each with the reasons
    affected: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # the tests that need not run, each with the version of Python in which it ran
    left_out: Mapping[str, str] = field(default_factory=dict)
    others: tuple[str, ...] = ()  # changed files that tests may have read; it is not known which tests
    unparsed: tuple[str, ...] = ()  # changed files of a newer Python, of which only whole files can be compared
    longest: float = 0.0  # how many seconds one of the tests took at most
    command: tuple[str, ...] = ("pytest",)  # how the tests are run, as in the newest run
    folder: str = ""  # from where, relative to the workspace; empty for the workspace itself
    reached: bool = False  # whether what changed reaches any of the tests, those that failed included

    def fields(self, *, live: bool) -> SelectionFields:
        """Return what pytest needs to know."""
        chosen = [*self.failed, *self.affected]
        fields: SelectionFields = {"left_out": dict(self.left_out), "chosen": chosen}
        return {**fields, "first": chosen, "most": len(self.failed) + _NEW_FAILURES} if live else fields

    def summary(self) -> str:
        """Say in one line which tests run."""
        if not self.known:
            return "nothing was recorded before, so all tests run"
        reasons = dict.fromkeys(reason for reasons in self.affected.values() for reason in reasons)
        why = f" ({some(list(reasons), '; ')})" if reasons else ""
        return (
            f"{many(self.known, 'known test')}: {len(self.failed)} failed last time, {len(self.affected)} reached by "
            f"what changed{why}; {self._running} run"
        )

    @property
    def _running(self) -> str:
        known = len(self.failed) + len(self.affected)
        return f"{many(known, 'test')} and new ones" if known else "only new ones"

    def notice(self) -> str:
        """Say in one line what the selection can't know.

        Empty if there is nothing to say.
        """
        sentences = []
        if self.unparsed:
            problem = newer_syntax(self.unparsed[0], "every test runs that uses any of it")
            sentences.append(str(problem))
        if self.others:
            sentences.append(self._notice_of_others())
        return "; ".join(sentences)

    def _notice_of_others(self) -> str:
        return (
            f"{many(len(self.others), 'other file')} changed ({some(self.others, ', ')}); which tests read "
            f"{'it' if len(self.others) == 1 else 'them'} is not known: run without --failed-and-affected if any does"
        )


def select(root: str, since: str | None = None) -> Selection:
    """Select the tests of a workspace that have to run again.

    Raises UsageError when git does not know the revision.
    """
    root = os.path.realpath(root)
    revision = Revision.from_name(root, since) if since is not None else None
    folder = os.path.realpath(recording_folder(root))
    if os.path.commonpath((folder, root)) != root:
        cause = "the folder of the recording leads outside the workspace"
        raise UsageError(Problem(recording_folder(root), "", cause, "remove the link and record again"))
    recorded = recorded_tests(folder)
    workspace = WorkspaceFiles(root)
    versions = recorded.versions()
    found = changes(workspace, versions, revision)
    newer = {s for t in recorded.tests.values() if is_newer((s := t.rows.section).python)}
    ran = {v.path for s in newer for v in s.versions if v is not None}
    changed = sorted({v.path for v in found.differences if v.path in ran and v.path.endswith(".py")})
    unparsed = tuple(path for path in changed if workspace.content(path) is not None and workspace.tree(path) is None)
    selection = replace(chosen(recorded, found, workspace.age), unparsed=unparsed)
    after = min((recorded.tests[name].time for name in selection.left_out), default=None)
    if after is None:
        return selection
    others = other_files(workspace, {v.path for v in versions}, after, revision)
    return replace(selection, others=tuple(others))


def chosen(recorded: RecordedTests, changed: Changes, age: Callable[[str], int] = lambda path: -1) -> Selection:
    """Select tests, given the recorded tests and the changes.

    `others` is empty.
    """
    importers = Importers(changed.imports, {v.path for v in recorded.versions()})
    views = {s: _View(s, recorded, changed, importers, age) for s in {t.rows.section for t in recorded.tests.values()}}
    failed: list[str] = []
    affected: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, str] = {}
    reached = False
    for name, test in recorded.tests.items():
        if changed.gone and views[test.rows.section].lost(test):
            continue
        reasons = tuple(dict.fromkeys(views[test.rows.section].reasons(test)))
        reached = reached or bool(reasons)
        if test.failing:
            failed.append(name)
        elif reasons:
            affected[name] = reasons
        else:
            left_out[name] = test.rows.section.python
    _join_files(failed, affected, left_out)
    use = {name: views[(test := recorded.tests[name]).rows.section].use(test) for name in affected}
    affected = {name: affected[name] for name in sorted(affected, key=lambda name: -use[name])}
    longest = max((test.seconds for test in recorded.tests.values()), default=0.0)
    known = len(failed) + len(affected) + len(left_out)
    return Selection(
        known, tuple(failed), affected, left_out, (), (), longest, recorded.command, recorded.folder, reached
    )


def _join_files(failed: Iterable[str], affected: dict[str, tuple[str, ...]], left_out: dict[str, str]) -> None:
    """Let the tests of a file that is no Python run together: cells of a notebook, or examples, share their state."""
    running = {file for name in (*failed, *affected) if not (file := name.partition("::")[0]).endswith(".py")}
    for name in [name for name in left_out if name.partition("::")[0] in running]:
        del left_out[name]
        affected[name] = (f"{name.partition('::')[0]}: its tests share their state",)


class _View:
    """The changes relative to one run, by the versions that it ran."""

    def __init__(
        self,
        section: RecordedSection,
        recorded: RecordedTests,
        changed: Changes,
        importers: Importers,
        age: Callable[[str], int],
    ):
        self.section, self.recorded, self.changed = section, recorded, changed
        self.importers, self.age = importers, age
        self.versions = {n: v for n, v in enumerate(section.versions) if v is not None}  # the others are damaged
        self.paths = {v.path for v in self.versions.values()}
        self.differences: dict[int, Difference] = {
            number: changed.differences[v] for number, v in self.versions.items() if v in changed.differences
        }
        self.rewritten = sorted({v.path for v in self.versions.values() if v in changed.rewritten})
        self.gone = {n for n, v in self.versions.items() if v.path in changed.gone}
        self.blind: set[str] = set()  # files with changed functions that have no cells
        traced = [n for n in self.differences if self.versions[n].traced and n not in self.gone]
        self.masks = {n: self._masks(n, self.differences[n]) for n in traced}
        self._shared: dict[str, tuple[str, ...]] = {}

    def lost(self, test: KnownTest) -> bool:
        """Whether the file of the test was removed."""
        try:
            own = [self.versions[n].path for n in self._own(test.rows.touched())]
        except (ValueError, struct.error):
            return False
        return any(p in self.changed.gone for p in own if posixpath.basename(p) != "conftest.py")

    def reasons(self, test: KnownTest) -> Iterator[str]:
        """The reasons why a change reaches a test."""
        try:
            touched = test.rows.touched()
            if any(number not in self.versions for number in touched):
                raise ValueError("a source whose map is damaged")
            yield from self._executed(test.rows, touched)
            for name in test.shares:
                yield from self._shared_reasons(name)
            yield from self._files(test, touched)
            yield from self._imports(touched, self.reached_by_import, "{}: what runs at import")
            if self.rewritten and self._reads_sources(test, touched):
                yield from (f"{path}: its text may be read" for path in self.rewritten)
        except (ValueError, struct.error):
            yield "what it executed is not known"

    def _reads_sources(self, test: KnownTest, touched: tuple[int, ...]) -> bool:
        """Whether a test executed a function that may read source text, or is one."""
        unit = test.name.partition("::")[2].partition("[")[0].replace("::", ".")
        for number in self._own(touched):
            version = self.versions[number]
            names = self.changed.readers.get(version.path, frozenset())
            if unit in names or names - version.tests:  # a fixture or a helper, which has no cells
                return True
        if self._reading.keys().isdisjoint(touched):
            return False
        return any(bits & self._reading[n] for n, bits in test.rows.numbered() if n in self._reading)

    @cached_property
    def _reading(self) -> dict[int, int]:
        """The cells of functions that may read source text, by the number of their source."""
        found = {}
        for number, version in self.versions.items():
            names = self.changed.readers.get(version.path, frozenset())
            if names and version.traced:
                with suppress(*DAMAGE):
                    masks = [mask for (name, _), mask in version.masks().items() if name in names]
                    found[number] = reduce(or_, masks, 0)
        return found

    def use(self, test: KnownTest) -> float:
        """How much of what a test executed has changed, for each second that it takes."""
        masks = {self.versions[n]: self.masks[n] for n in self.masks}
        hits = all_cells = 0
        try:
            for version, bits in test.rows.bits():
                all_cells += bits.bit_count()
                hits += sum((bits & mask).bit_count() for mask in masks.get(version, {}).values())
        except (ValueError, struct.error):
            return 0.0
        return hits / max(1, all_cells) / max(test.seconds, _SHORTEST_S)

    def _masks(self, number: int, difference: Difference) -> dict[str, int]:
        """The changed functions of a source, with their cells."""
        version = self.versions[number]
        if difference.whole:
            return {"": _EVERY}
        try:
            masks = version.masks()
        except DAMAGE:
            return {"": _EVERY}
        found = {key: masks[key] for key in sorted(difference.bodies) if key in masks}
        if not all(found.values()):
            self.blind.add(version.path)
        named: dict[str, int] = {}
        for (name, _), mask in found.items():
            named[name] = named.get(name, 0) | mask
        return named

    def _executed(self, rows: PackedRows, touched: Iterable[int]) -> Iterator[str]:
        """The changed functions and the removed files in rows."""
        for number in self.gone.intersection(touched):
            yield f"{self.versions[number].path} is gone"
        for version, name in self._changed_functions(rows, touched):
            yield f"{version.path}: {name}" if name else version.path

    def _changed_functions(self, rows: PackedRows, touched: Iterable[int]) -> Iterator[tuple[RecordedVersion, str]]:
        if self.masks.keys().isdisjoint(touched):
            return
        masks = {self.versions[n]: self.masks[n] for n in self.masks}
        for version, bits in rows.bits():
            for name, mask in masks.get(version, {}).items():
                if bits & mask:
                    yield version, name

    def _shared_reasons(self, name: str) -> tuple[str, ...]:
        if name not in self._shared:
            parts = [rows for rows in self.recorded.shared.get(name, ()) if rows.section is self.section]
            reasons = (reason for rows in parts for reason in self._executed(rows, rows.touched()))
            self._shared[name] = tuple(reasons) if parts else ("what its fixtures executed is not known",)
        return self._shared[name]

    def _files(self, test: KnownTest, touched: tuple[int, ...]) -> Iterator[str]:
        """The changes of a test's own file, and of the fixtures above it."""
        own = self._own(touched)
        unit = test.name.partition("::")[2].partition("[")[0].replace("::", ".")
        if not own:
            yield "the file it is in was not recorded"
        for number in own:
            version = self.versions[number]
            difference = self.differences.get(number)
            conftest = posixpath.basename(version.path) == "conftest.py"
            if difference and (conftest or _concerns(difference, unit)):
                yield f"{version.path} changed"
            elif not conftest and version.outline and unit not in version.units:
                yield from self._imports(touched, self.reached_by_tests, "{} changed")  # it is inherited
        known = {self.versions[n].path for n in own}
        for path in self.changed.conftests - known:
            folder = posixpath.dirname(path)
            if any(not folder or k.startswith(f"{folder}/") for k in known):
                yield f"{path} is new"

    def _own(self, touched: Iterable[int]) -> list[int]:
        return [n for n in touched if (v := self.versions.get(n)) is not None and not v.traced]

    def _imports(self, touched: Iterable[int], reached: Mapping[str, str], reason: str) -> Iterator[str]:
        if reached:
            paths = (v.path for n in touched if (v := self.versions.get(n)) is not None)
            yield from (reason.format(reached[path]) for path in paths if path in reached)

    @cached_property
    def reached_by_import(self) -> dict[str, str]:
        """For each file that imports a module whose import changed, that module."""
        seeds = {self.versions[n].path for n, d in self.differences.items() if self._runs_at_import(n, d)}
        seeds |= self.blind | self._imported()
        return self.importers.reached_from({**self._appeared(), **{seed: seed for seed in seeds}})

    @cached_property
    def reached_by_tests(self) -> dict[str, str]:
        """The same for test files with any change."""
        versions = (self.versions[n] for n in self.differences)
        return self.importers.reached_from({v.path: v.path for v in versions if not v.traced and v.outline})

    def _runs_at_import(self, number: int, difference: Difference) -> bool:
        version = self.versions[number]
        if version.traced:
            return difference.around and version.path not in self._own_paths
        if version.outline is None:
            return False  # a document, or a module with doctests, whose probes tell more
        used_elsewhere = not self.importers.names.isdisjoint(unit.partition(".")[0] for unit in difference.units)
        return difference.around or bool(difference.helpers) or used_elsewhere

    @cached_property
    def _own_paths(self) -> set[str]:
        """Test files, which are compared test by test even if they have probes."""
        return {v.path for v in self.versions.values() if not v.traced and v.outline}

    def _imported(self) -> set[str]:
        """Modules whose import called changed functions; the functions' own modules if it is not known which did."""
        found: set[str] = set()
        for imported in self.recorded.imported:
            rows = imported.rows
            if rows.section is self.section:
                try:
                    changed = {version.path for version, _ in self._changed_functions(rows, rows.touched())}
                except (ValueError, struct.error):
                    return self.paths  # anything may have run
                if changed and imported.module in self.paths:
                    changed = {imported.module}
                found |= changed
        return found

    def _appeared(self) -> dict[str, str]:
        """Files that import a module that did not exist when they ran but exists now, with that module."""
        if not self.section.started:
            return {}
        wanted = self.importers.elsewhere(self.paths)
        return {
            importer: path
            for path, importers in wanted.items()
            if self.age(path) > self.section.started
            for importer in importers
        }


def _concerns(difference: Difference, unit: str) -> bool:
    """Whether a change of a test file concerns one of its tests."""
    return difference.whole or difference.around or bool(difference.helpers) or unit in difference.units
