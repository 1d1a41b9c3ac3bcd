"""What the run of one failing test depended on: its nodes, with places, values and dependences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from suspectra.arrays import Bools, Ints
from suspectra.dependences.graph import DependenceGraph
from suspectra.program.decision_texts import OwnText


class Site(NamedTuple):
    """A place of the program that has nodes.

    Parameters
    ----------
    file : str
        Relative to the workspace.
    line, end_line : int
        From 1, both included.
    column : int
        In bytes, from 0.
    kind : str
        ``decision``; ``end``: that a ``for`` has no further round; ``value``: what is assigned, returned, yielded or
        passed; ``argument``: what is passed, without a number; ``parameter``: what no traced argument was found for;
        ``nothing``: that a function ended without returning a value, though it can return one;
        ``entry``: the beginning of a call; ``target``: what a loop, a pattern or ``with`` binds; ``native``: a call of
        code that is not traced; ``assert``; ``handler``; ``raise``: where an exception comes from; ``statement``:
        anything else.
    number : int
        Which decision or assigned value of its file it is, as altered runs number them; -1 for none.
    own : OwnText, optional
        Of a decision that is only a part of a line, or goes over several: where it begins, and its text.

    Examples
    --------
    >>> Site("shop/cart.py", 8, 8, 4, "decision", 0).place
    ('shop/cart.py', 8, 0, '')
    """

    file: str
    line: int
    end_line: int
    column: int
    kind: str
    number: int
    own: OwnText | None = None

    @property
    def place(self) -> tuple[str, int, int, str]:
        """What names it: file, line, and of a decision that its line does not name the column and the text."""
        return self.file, *(self.own or (self.line, 0, ""))


@dataclass(frozen=True, eq=False)
class DependenceTrace:
    """The run of one failing test.

    Parameters
    ----------
    test : str
        Its name.
    sites : tuple of Site
        The places that `graph` names.
    graph : DependenceGraph
        Instances of the places, and what each of them depends on.
    call : ndarray of int32, shape (nodes,)
        The number of the call that each node belongs to.
    outcome : ndarray of int8, shape (nodes,)
        How each decision came out: 0 false, 1 true; -1 for a node that is no decision.
    value : sequence of str, length nodes
        Short literals; the name of the type where a value has none; empty for nodes without value.
    failure : int
        The node at which the test fails; -1 if it passes.
    is_test : ndarray of bool, shape (nodes,)
        Whether each node is in test code, which counts as right.
    left_out : tuple of str
        What is missing, in sentences.

    Examples
    --------
    >>> import numpy as np
    >>> graph = DependenceGraph.from_edges(2, [(0, 1, 0)])
    >>> sites = (Site("a.py", 1, 1, 0, "value", 0), Site("test_a.py", 3, 3, 4, "assert", -1))
    >>> calls, no = np.zeros(2, np.int32), np.full(2, -1, np.int8)
    >>> trace = DependenceTrace("test_a", sites, graph, calls, no, ["3", ""], 1, np.array([False, True]), ())
    >>> trace.sites[trace.graph.site[trace.failure]].line
    3
    """

    test: str
    sites: tuple[Site, ...]
    graph: DependenceGraph
    call: Ints
    outcome: Ints
    value: Sequence[str]
    failure: int
    is_test: Bools
    left_out: tuple[str, ...]

    def without_values(self) -> DependenceTrace:
        """The same run, where values of the program must not be shown.

        Returns
        -------
        DependenceTrace
            Without values. How decisions came out is still in it.

        Examples
        --------
        >>> import numpy as np
        >>> graph, one = DependenceGraph.from_edges(1, []), np.zeros(1, np.int32)
        >>> DependenceTrace("t", (), graph, one, one, ["secret"], 0, one > 0, ()).without_values().value
        ('',)
        """
        return replace(self, value=("",) * len(self.value))
