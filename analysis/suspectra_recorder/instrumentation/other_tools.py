"""Instrumenting what other tools compile from trees of a source that they have changed, such as checks of types."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib
from suspectra_recorder.instrumentation.loaded_file import placeholder
from suspectra_recorder.instrumentation.standard_library import StandardLibrary

if TYPE_CHECKING:
    from suspectra_recorder.instrumentation.changed_trees import ProbedTree

__builtins__ = library_references.builtins

GiveCells = Callable[[CodeType, str, str, int, bytes], CodeType]
"""Gives code its cells: the code, the name and the digest of its source, the number of cells, and the map of probes."""


class _Probed(NamedTuple):
    name: str
    digest: str
    tree: ProbedTree
    cells: int
    map: bytes


class ChangedTrees:
    """Makes the code of changed trees, with the probes of their sources."""

    def __init__(self, give_cells: GiveCells, *, counting: bool):
        # by the recorded names of sources: which tool compiles them, where that can't be instrumented
        self.unknown: dict[str, str] = {}
        self._give_cells, self._counting = give_cells, counting
        self._last: _Probed | None = None  # some tools compile a tree for each function of a source

    def code(self, path: str, name: str, tree: ast.Module, flags: int, tool: str) -> CodeType | None:
        """Make the code of a tree.

        None if it can't be instrumented.
        """
        probed = None if self._counting else self._probed(path, name)
        changed = None if probed is None else probed.tree.put_into(tree)
        if probed is None or changed is None:
            self.unknown[name] = tool
            return None
        code = compile(changed, path, "exec", flags, dont_inherit=True)
        return self._give_cells(code, name, probed.digest, probed.cells, probed.map)

    def _probed(self, path: str, name: str) -> _Probed:
        with StandardLibrary():  # seldom needed, and slow to import
            from suspectra_recorder.instrumentation.changed_trees import ProbedTree
            from suspectra_recorder.instrumentation.rewriting import instrument
        with open(path, "rb") as stream:
            source = stream.read()
        digest = hashlib.sha256(source).hexdigest()
        if self._last is None or (self._last.name, self._last.digest) != (name, digest):
            tree, module_map = instrument(source, path, placeholder(name, digest))
            self._last = _Probed(name, digest, ProbedTree(tree), module_map.cells, module_map.to_bytes())
        return self._last
