"""What the texts of sources tell of lines in notes, while they are still those that were compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from suspectra.evidence.opening import read_evidence
from suspectra.evidence.source_paths import SourcePaths
from suspectra.evidence.sources import MAX_SOURCE
from suspectra.program.c.object import INITIALIZER, CFunction, CObject
from suspectra.program.c.source_text import code_lines, operand_lines

Places = frozenset[tuple[str, int]]
"""Lines, each with the path of its source in the workspace."""


class ToldLines:
    """Reads each source once."""

    def __init__(self, paths: SourcePaths):
        self._paths = paths
        self._known: dict[tuple[str, str], frozenset[int]] = {}

    def foreign(self, notes: CObject, digests: Mapping[str, str]) -> Places:
        """Lines of global variables on which the source has no code: clang up to 16 takes lines of headers for them."""
        computed = [function for function in notes.functions if function.name.startswith(INITIALIZER)]
        in_code = self._those(notes, computed, digests, code_lines)
        return self._places(notes, computed, digests) - in_code

    def operands(self, notes: CObject, digests: Mapping[str, str]) -> Places:
        """The lines that hold nothing but an operand, where gcc did not optimise."""
        if notes.compiler.is_clang:
            return frozenset()
        return self._those(notes, notes.functions, digests, operand_lines)

    def _those(
        self,
        notes: CObject,
        functions: Iterable[CFunction],
        digests: Mapping[str, str],  # of the sources that are still those that were compiled
        kind: Callable[[str], frozenset[int]],
    ) -> Places:
        """The lines of functions that are among those that a text has of a kind."""
        places = self._places(notes, functions, digests)
        return frozenset(
            (source, line) for source, line in places if line in self._lines(source, digests[source], kind)
        )

    def _places(self, notes: CObject, functions: Iterable[CFunction], digests: Mapping[str, str]) -> Places:
        named = {(file, line) for function in functions for _, file, line in function.lines}
        resolved = ((self._paths.resolve(file, notes.folder), line) for file, line in named)
        return frozenset((source, line) for source, line in resolved if source is not None and source in digests)

    def _lines(self, source: str, digest: str, kind: Callable[[str], frozenset[int]]) -> frozenset[int]:
        key = digest, kind.__name__
        if key not in self._known:
            text = b""
            with suppress(OSError, ValueError):
                text = read_evidence(os.path.join(self._paths.workspace, source), limit=MAX_SOURCE)
            self._known[key] = kind(text.decode("utf-8", "replace"))
        return self._known[key]
