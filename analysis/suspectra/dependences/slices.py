"""Slices of a run as trees: what led to a node, what it influenced, and what lies between two places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from suspectra.arrays import Bools, Ints
from suspectra.dependences.graph import DependenceKind
from suspectra.dependences.shown_links import HIDDEN, Direction, ShownLinks
from suspectra.dependences.trace import DependenceTrace


class Step(NamedTuple):
    """A node of a slice, as it is shown.

    Parameters
    ----------
    node : int
        Its number in the trace.
    file : str
        Relative to the workspace.
    line, end_line : int
        From 1, both included.
    column : int
        In bytes, from 0.
    kind : str
        As :class:`~suspectra.dependences.trace.Site` has it.
    instance : int
        How often its place had been executed, from 1; 0 while its module was imported.
    value : str
        A short literal, or the name of a type; empty for none.
    outcome : bool or None
        How a decision came out; None for anything else.
    is_test : bool
        Whether it is in test code.
    operand : str, optional
        The text of a decision that is only a part of its line, or goes over several; empty for anything else.

    Examples
    --------
    >>> Step(4, "cart.py", 8, 8, 4, "value", 1, "30", None, False).place
    'cart.py:8'
    >>> Step(5, "cart.py", 9, 9, 4, "decision", 1, "", True, False).result
    'true'
    """

    node: int
    file: str
    line: int
    end_line: int
    column: int
    kind: str
    instance: int
    value: str
    outcome: bool | None
    is_test: bool
    operand: str = ""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    @property
    def result(self) -> str:
        """The value, or the outcome of a decision."""
        return self.value if self.outcome is None else str(self.outcome).lower()


class Branch(NamedTuple):
    """A step of a tree, and what follows it.

    Parameters
    ----------
    step : Step
        What is shown.
    why : DependenceKind or None
        How it is related to the step above; None for a root.
    branches : tuple of Branch
        Below it.
    more : int
        How many steps below it are not in the tree, since they are nearer to another step or there are too many.

    Examples
    --------
    >>> branch = Branch(Step(4, "cart.py", 8, 8, 4, "value", 1, "30", None, False), DependenceKind.FLOW, (), 2)
    >>> branch.more, branch.to_json()["why"]
    (2, 'flow')
    """

    step: Step
    why: DependenceKind | None
    branches: tuple[Branch, ...]
    more: int

    def to_json(self) -> dict[str, object]:
        """Return what JSON can contain.

        Returns
        -------
        dict
            The fields of the step, ``why`` in lower case, ``branches`` and ``more``.
        """
        step: dict[str, object] = dict(self.step._asdict())
        why = None if self.why is None else self.why.name.lower()
        return {**step, "why": why, "branches": [branch.to_json() for branch in self.branches], "more": self.more}


@dataclass(frozen=True, eq=False)
class Slice:
    """A part of a run: some nodes, and what they depend on, or what depends on them.

    Parameters
    ----------
    trace : DependenceTrace
        The run.
    direction : Direction
        Which way its tree goes.
    roots : tuple of int
        The nodes where the tree begins.
    members : ndarray of bool, shape (nodes,)
        Whether each node is in the slice.

    Examples
    --------
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> from suspectra.dependences.trace import Site
    >>> graph = DependenceGraph.from_edges(3, [(0, 2, 0)])
    >>> sites = tuple(Site("a.py", line, line, 0, "value", line) for line in (1, 2, 3))
    >>> one = np.zeros(3, np.int32)
    >>> trace = DependenceTrace("t", sites, graph, one, one - 1, ["1", "2", "3"], 2, one > 0, ())
    >>> found = backward(trace)
    >>> found.lines(), [branch.step.value for branch in found.tree()[0].branches]
    ({'a.py': [1, 3]}, ['1'])
    >>> [step.line for step in found.chain(0)], found.to_json()["nodes"]
    ([1, 3], 2)
    """

    trace: DependenceTrace
    direction: Direction
    roots: tuple[int, ...]
    members: Bools

    def __len__(self) -> int:
        return int(np.count_nonzero(self.members))

    def step(self, node: int) -> Step:
        """Return a node as it is shown.

        Parameters
        ----------
        node : int
            Its number.

        Returns
        -------
        Step
            With its place and value.
        """
        trace = self.trace
        site = trace.sites[trace.graph.site[node]]
        line, column, operand = site.own or (site.line, site.column, "")
        outcome = int(trace.outcome[node])
        return Step(
            node,
            site.file,
            line,
            site.end_line,
            column,
            site.kind,
            int(trace.graph.instance[node]),
            trace.value[node],
            bool(outcome) if outcome >= 0 else None,
            bool(trace.is_test[node]),
            operand,
        )

    @cached_property
    def links(self) -> ShownLinks:
        """What follows each node in the tree.

        Examples
        --------
        >>> from suspectra.dependences.graph import DependenceGraph
        >>> one = np.zeros(1, np.int32)
        >>> trace = DependenceTrace("t", (), DependenceGraph.from_edges(1, []), one, one - 1, ["1"], 0, one > 0, ())
        >>> Slice(trace, Direction.BACKWARD, one == 0, (0,)).links.after(0)
        []
        """
        return ShownLinks(self.trace, self.direction, self.members)

    def tree(self, limit: int = 200) -> tuple[Branch, ...]:
        """Compute the tree: each node once, as near to a root as it is.

        Parameters
        ----------
        limit : int, optional
            How many steps it has at most.

        Returns
        -------
        tuple of Branch
            One for each root.
        """
        below: dict[int, list[tuple[int, DependenceKind]]] = {}
        left: dict[int, int] = {}
        known = set(self.roots)
        level = list(self.roots)
        while level:
            following: list[int] = []
            for node in level:
                after = self.links.after(node)
                new = [(other, why) for other, why in after if other not in known][: max(limit - len(known), 0)]
                below[node], left[node] = new, len(after) - len(new)
                known.update(other for other, _ in new)
                following += [other for other, _ in new]
            level = following
        return tuple(self._branches(below, left))

    def _branches(self, below: dict[int, list[tuple[int, DependenceKind]]], left: dict[int, int]) -> Iterator[Branch]:
        """Build the tree from its leaves up, since it may be deep."""
        made: dict[int, tuple[Branch, ...]] = {}
        for node in reversed(below):
            made[node] = tuple(
                Branch(self.step(other), why, made.pop(other), left[other]) for other, why in below[node]
            )
        for root in self.roots:
            yield Branch(self.step(root), None, made[root], left[root])

    def chain(self, node: int) -> list[Step]:
        """Return the shortest chain of dependences from a node to a root, or from a root to it.

        Parameters
        ----------
        node : int
            A member of the slice.

        Returns
        -------
        list of Step
            From what came first to what came last.
        """
        came: dict[int, int] = {root: root for root in self.roots}
        level = list(self.roots)
        while level and node not in came:
            following = []
            for one in level:
                for other, _ in self.links.after(one):
                    if other not in came:
                        came[other] = one
                        following.append(other)
            level = following
        if node not in came:
            return []
        way = [node]
        while came[way[-1]] != way[-1]:
            way.append(came[way[-1]])
        return [self.step(one) for one in (way if self.direction is Direction.BACKWARD else way[::-1])]

    def lines(self, *, tests: bool = True) -> dict[str, list[int]]:
        """Return the lines of the slice.

        Parameters
        ----------
        tests : bool, optional
            Whether to include those of test code.

        Returns
        -------
        dict of str to list of int
            By file, ascending.
        """
        wanted = self.members if tests else self.members & ~self.trace.is_test
        found: dict[str, set[int]] = {}
        for number in np.unique(self.trace.graph.site[wanted]).tolist():
            site = self.trace.sites[number]
            if site.kind != "entry":
                found.setdefault(site.file, set()).update(range(site.line, site.end_line + 1))
        return {file: sorted(lines) for file, lines in sorted(found.items())}

    def to_json(self, limit: int = 200) -> dict[str, object]:
        """Return what JSON can contain.

        Parameters
        ----------
        limit : int, optional
            How many steps the tree has at most.

        Returns
        -------
        dict
            ``test``, ``direction``, ``nodes``: how many there are, ``lines``, ``tree`` and ``left_out``.
        """
        return {
            "test": self.trace.test,
            "direction": self.direction.value,
            "nodes": len(self),
            "lines": self.lines(),
            "tree": [branch.to_json() for branch in self.tree(limit)],
            "left_out": list(self.trace.left_out),
        }


def nodes_at(trace: DependenceTrace, file: str, line: int) -> Ints:
    """Find the nodes of a line.

    Parameters
    ----------
    trace : DependenceTrace
        A run.
    file : str
        Relative to the workspace.
    line : int
        From 1.

    Returns
    -------
    ndarray of int64, shape (k,)
        In the order in which they were made, without those that only pass something on.

    Examples
    --------
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> from suspectra.dependences.trace import Site
    >>> one = np.zeros(1, np.int32)
    >>> graph, sites = DependenceGraph.from_edges(1, []), (Site("a.py", 1, 2, 0, "value", 0),)
    >>> trace = DependenceTrace("t", sites, graph, one, one - 1, ["1"], 0, one > 0, ())
    >>> nodes_at(trace, "a.py", 2).tolist(), nodes_at(trace, "a.py", 3).tolist()
    ([0], [])
    """
    here = [site.file == file and site.line <= line <= site.end_line for site in trace.sites]
    shown = [site.kind not in HIDDEN for site in trace.sites]
    return np.flatnonzero(np.array(here, bool)[trace.graph.site] & np.array(shown, bool)[trace.graph.site])


def backward(trace: DependenceTrace, ends: Sequence[int] | None = None) -> Slice:
    """Find what led to some nodes.

    Parameters
    ----------
    trace : DependenceTrace
        A run.
    ends : sequence of int, optional
        The nodes; the failure unless given.

    Returns
    -------
    Slice
        Everything that they depend on, directly or not.

    Examples
    --------
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> one = np.zeros(1, np.int32)
    >>> trace = DependenceTrace("t", (), DependenceGraph.from_edges(1, []), one, one, [""], 0, one > 0, ())
    >>> len(backward(trace))
    1
    """
    chosen = [trace.failure] if ends is None else list(ends)
    chosen = [node for node in chosen if node >= 0]
    return Slice(trace, Direction.BACKWARD, tuple(sorted(chosen, reverse=True)), trace.graph.backward(chosen))


def forward(trace: DependenceTrace, begins: Sequence[int]) -> Slice:
    """Find what some nodes influenced.

    Parameters
    ----------
    trace : DependenceTrace
        A run.
    begins : sequence of int
        The nodes.

    Returns
    -------
    Slice
        Everything that depends on them, directly or not.

    Examples
    --------
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> two = np.zeros(2, np.int32)
    >>> trace = DependenceTrace("t", (), DependenceGraph.from_edges(2, [(0, 1, 0)]), two, two, ["", ""], 1, two > 0, ())
    >>> len(forward(trace, [0]))
    2
    """
    return Slice(trace, Direction.FORWARD, tuple(sorted(begins)), trace.graph.forward(begins))


def chop(trace: DependenceTrace, begins: Sequence[int], ends: Sequence[int]) -> Slice:
    """Find how some nodes influenced others.

    Parameters
    ----------
    trace : DependenceTrace
        A run.
    begins, ends : sequence of int
        The nodes where paths start and end.

    Returns
    -------
    Slice
        Everything on paths between them; its tree goes backward from the ends that a path leads to.

    Examples
    --------
    >>> from suspectra.dependences.graph import DependenceGraph
    >>> two = np.zeros(2, np.int32)
    >>> trace = DependenceTrace("t", (), DependenceGraph.from_edges(2, [(0, 1, 0)]), two, two, ["", ""], 1, two > 0, ())
    >>> chop(trace, [0], [1]).roots, chop(trace, [1], [0]).roots
    ((1,), ())
    """
    members = trace.graph.chop(begins, ends)
    roots = sorted({node for node in ends if members[node]}, reverse=True)
    return Slice(trace, Direction.BACKWARD, tuple(roots), members)
