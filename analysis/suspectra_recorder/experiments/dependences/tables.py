"""What is known of a source before it runs: its sites, with the variables that each reads and binds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from suspectra_recorder.experiments.exchange import SourceTable
from suspectra_recorder.instrumentation import own

__builtins__ = own.builtins

Variable = tuple[int, str]
"""The number of a scope, and a name in it; other names than Python's stand for what has no name."""


class TracedSite(NamedTuple):
    """A place of a source that has nodes.

    Parameters
    ----------
    line, end_line, column : int
        Lines from 1, both included; the column in bytes from 0.
    kind : str
        As `suspectra.dependences.trace.Site` has it.
    number : int
        Which decision or assigned value of the source; -1 for none.
    frame : int
        The scope in whose calls it is executed.
    uses, defines : list of Variable
        What it reads, and what it binds.

    Examples
    --------
    >>> site = TracedSite(2, 2, 4, "value", 0, 1, uses=[(0, "rate")], defines=[(1, "vat")])
    >>> site.kind, site.defines
    ('value', [(1, 'vat')])
    """

    line: int
    end_line: int
    column: int
    kind: str
    number: int
    frame: int
    uses: list[Variable]
    defines: list[Variable]


@dataclass
class TracedSource:
    """A source of this process that is traced.

    Parameters
    ----------
    path : str
        Relative to the workspace, forward slashes.
    first : int
        The number of its first site, of all sites of the process.
    is_test : bool
        Whether it is test code.
    module : int
        The scope of the module.
    sites : list of TracedSite
        By number from `first` on.
    frames : dict of int to int
        For each scope the module, function or generator expression in whose calls it is executed.

    Examples
    --------
    >>> site = TracedSite(1, 1, 0, "value", 0, 0, uses=[(0, "rate")], defines=[(0, "vat")])
    >>> source = TracedSource("price.py", first=10, is_test=False, module=0, sites=[site])
    >>> source.numbers
    range(10, 11)
    >>> source.table["sites"]
    [(1, 1, 0, 'value', 0, 0, [0], [1])]
    """

    path: str
    first: int
    is_test: bool
    module: int
    sites: list[TracedSite] = field(default_factory=list)
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
        }
