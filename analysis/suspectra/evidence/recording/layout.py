"""The columns of a recording: one version of each source, and its edges."""

from __future__ import annotations

import numpy as np

from suspectra.base.arrays import Ints
from suspectra.base.cancellation import check, checked
from suspectra.evidence.evidence import join_files
from suspectra.evidence.recording.source_map import SourceMap
from suspectra.spectrum import Edges


class Layout:
    """The columns of a recording: the statements of one version of each source, and its edges."""

    def __init__(self, versions: dict[str, SourceMap], edges: bool):
        self.versions = versions  # the version of each source, by path
        self.files = tuple(m.measured for m in versions.values())
        sizes = [len(file.line) for file in self.files]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.columns = int(starts[-1])
        self.start = {path: int(start) for path, start in zip(versions, starts, strict=False)}
        self.size = dict(zip(versions, sizes, strict=True))
        self.with_edges = edges
        self.edge_start: dict[str, int] = {}
        self.edge_size: dict[str, int] = {}
        self.edges_of: dict[str, tuple[Ints, Ints]] = {}  # cells, and the edge of each
        if edges:
            self.edge_table = self._edges()

    def _edges(self) -> Edges:
        functions = join_files(self.files).functions
        offsets = np.searchsorted([f.file for f in functions], np.arange(len(self.files)))
        parts: list[Ints] = []
        count = 0
        for number, (path, source) in enumerate(checked(self.versions.items())):
            cells, inverse, table, function = source.arcs
            function = np.where(function >= 0, function + offsets[number], -1)
            parts.append(np.column_stack([np.full(len(table), number), table, function]))
            self.edges_of[path] = cells, inverse + count
            self.edge_start[path], self.edge_size[path] = count, len(table)
            count += len(table)
        check()
        columns = np.concatenate(parts) if parts else np.zeros((0, 4))
        conditions = tuple(source.conditions for source in self.versions.values())
        given = conditions if any(map(len, conditions)) else ()
        file, source_line, target, function = columns.astype(np.int32).T.copy()
        return Edges(file, source_line, target, function, complete=False, conditions=given)
