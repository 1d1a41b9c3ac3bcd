"""Building evidence from profiles of C and C++ tests; parts that did not change are reused."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.english import many
from suspectra.base.errors import Problem
from suspectra.evidence.c.exclusions import NO_EXCLUSIONS, Exclusions
from suspectra.evidence.c.tables import CTables, TestRow, read_objects
from suspectra.evidence.evidence import EdgeEvidence, Evidence, TestResult
from suspectra.evidence.merged_problems import merged
from suspectra.evidence.source_paths import SourcePaths
from suspectra.program.c.ending import BlockEnd
from suspectra.program.c.object import CObject

NOTHING = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class TestProfile:
    """One test's counters.

    Two profiles with equal `key` contain the same counters.
    """

    __test__ = False

    result: TestResult  # how the test ended
    key: Hashable  # identifies the content of the profile
    counters: Mapping[str, Ints]  # arrays of int64 of shape (counters of the object,), by the name of the object
    # the blocks in which functions of an object ended that had not returned at a crash
    ends: Mapping[str, Sequence[BlockEnd]] = field(default_factory=dict)


class CAssembler:
    """Builds evidence from profiles. After a change, only the changed parts are built again.

    Tables are reused while the objects and digests are the same, rows while the tables and the test's key are.
    """

    def __init__(self, paths: SourcePaths):
        self.paths = paths  # maps the compiler's paths to this machine
        self._tables: CTables | None = None
        self._damage: list[Problem] = []
        self._objects: dict[str, CObject] = {}
        self._known_facts: tuple[Mapping[str, str], Exclusions] = {}, NO_EXCLUSIONS
        self._measured: dict[tuple[str, Hashable], TestRow] = {}

    def evidence(
        self,
        source: str,
        objects: Mapping[str, CObject],
        digests: Mapping[str, str],
        profiles: Sequence[TestProfile],  # one for each test, in the order of the evidence
        problems: Iterable[Problem],
        exclusions: Exclusions = NO_EXCLUSIONS,
    ) -> Evidence:
        """Build evidence from the current profiles; rows of unchanged tests are the same objects as before."""
        tables = self._lay_out(objects, digests, exclusions)
        wanted = {(profile.result.name, profile.key): profile for profile in profiles}
        new = [key for key in wanted if key not in self._measured]
        known = set(tables.objects)
        counters = [{path: c for path, c in wanted[key].counters.items() if path in known} for key in new]
        ends = [{path: found for path, found in wanted[key].ends.items() if path in known} for key in new]
        self._measured.update(zip(new, tables.measure(counters, ends), strict=True))
        self._measured = {key: self._measured[key] for key in wanted}
        measured = [self._measured[profile.result.name, profile.key] for profile in profiles]
        edges = EdgeEvidence(
            tables.edges,
            tuple(one.edge_row for one in measured),
            tuple(one.edge_counts for one in measured),
            tables.graphs,
        )
        found = [*problems, *self._damage, *tables.problems, *self.paths.problems(source)]
        found += _not_conserved(source, tables, profiles, measured)
        return Evidence(
            source,
            tuple(profile.result for profile in profiles),
            tables.files,
            tuple(one.row for one in measured),
            NOTHING,
            edges,
            tuple(merged(found)),
        )

    def _lay_out(self, objects: Mapping[str, CObject], digests: Mapping[str, str], exclusions: Exclusions) -> CTables:
        known = self._objects
        same = known.keys() == objects.keys() and all(known[path] is compiled for path, compiled in objects.items())
        if self._tables is None or not same or (digests, exclusions) != self._known_facts:
            self._tables, self._damage = read_objects(objects, self.paths, digests, exclusions)
            self._objects, self._known_facts = dict(objects), (dict(digests), exclusions)
            self._measured = {}
        return self._tables


def _not_conserved(
    source: str, tables: CTables, profiles: Sequence[TestProfile], measured: Sequence[TestRow]
) -> list[Problem]:
    names = [p.result.name for p, one in zip(profiles, measured, strict=True) if not one.conserved]
    if not names or all(compiled.compiler.is_clang for compiled in tables.objects.values()):
        return []
    some = ", ".join(names[:3])
    cause = (
        f"in {many(len(names), 'test')} ({some}) some counts come out negative, so a few lines may be wrong: the "
        "program crashed, jumped with longjmp, or its threads counted at the same time"
    )
    return [Problem(source, "", cause, "for threads, build with -fprofile-update=atomic")]
