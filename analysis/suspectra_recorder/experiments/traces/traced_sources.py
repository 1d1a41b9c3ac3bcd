"""What is known of a source before it runs: its sites, with the variables that each reads and binds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from suspectra_recorder.experiments.messages import SourceTable
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

Variable = tuple[int, str]
"""The number of a scope, and a name in it; other names than Python's stand for what has no name."""


class TracedSite(NamedTuple):
    """A place of a source that has nodes."""

    line: int  # the first one, from 1
    end_line: int  # the last one, included
    column: int  # in bytes, from 0
    kind: str  # as `suspectra.dependences.trace.Site` has it
    number: int  # which decision or assigned value of the source; -1 for none
    frame: int  # the scope in whose calls it is executed
    uses: list[Variable]  # what it reads
    defines: list[Variable]  # what it binds


@dataclass
class TracedSource:
    """A source of this process that is traced."""

    path: str  # relative to the workspace, forward slashes
    first: int  # the number of its first site, of all sites of the process
    is_test: bool  # whether it is test code
    module: int  # the scope of the module
    sites: list[TracedSite] = field(default_factory=list)  # by number from `first` on
    # for each scope the module, function or generator expression in whose calls it is executed
    frames: dict[int, int] = field(default_factory=dict)

    @property
    def numbers(self) -> range:
        """The numbers of its sites."""
        return range(self.first, self.first + len(self.sites))

    @cached_property
    def table(self) -> SourceTable:
        """What a machine answers about it, once it is whole. Variables are numbered, since they are named often."""
        numbers: dict[Variable, int] = {}

        def numbered(variables: list[Variable]) -> list[int]:
            return [numbers.setdefault(variable, len(numbers)) for variable in variables]

        sites = [
            (
                one.line,
                one.end_line,
                one.column,
                one.kind,
                one.number,
                one.frame,
                numbered(one.uses),
                numbered(one.defines),
            )
            for one in self.sites
        ]
        return {
            "path": self.path,
            "first": self.first,
            "test": self.is_test,
            "module": self.module,
            "frames": list(self.frames.items()),
            "sites": sites,
            "scopes": [scope for scope, _ in numbers],
            "names": [name for _, name in numbers],
        }
