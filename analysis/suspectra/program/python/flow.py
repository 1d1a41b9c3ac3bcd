"""The control flow of Python source text, in terms of coverage.py's arcs.

An arc joins two logical lines, or a line and the entry or exit of its scope: the code of a module, a class body or a
function. The flow of each scope is read from the syntax tree, between logical lines. *Usual* arcs are decisions and
sequence; *rare* arcs are exceptions, which any line can raise, and arcs of only some versions of Python. A rare arc
counts only if a test took it, since otherwise every statement would be a block of its own.

Branches inside one line leave no arc; :attr:`PythonFlow.undecided` lists them.
"""

from __future__ import annotations

import ast
import importlib.util
import tokenize
import warnings
from dataclasses import dataclass
from itertools import chain

import numpy as np

from suspectra.base.arrays import Bools, Ints
from suspectra.program.file_parts import arc_codes
from suspectra.program.python.scope_flow import Arc, CodeScope, Definition, ScopeFlow
from suspectra.program.python.source_lines import FirstLine, WordLines, first_line
from suspectra_recorder.instrumentation.source import parse, without_collecting


@dataclass(frozen=True, eq=False)
class PythonFlow:
    """The flow of all scopes of one source file."""

    scopes: tuple[CodeScope, ...]  # the module first, then sorted by their first lines
    ends: Ints  # all possible arcs, scope by scope, without repetition in a scope; shape (k, 2)
    # whether each arc is rare, and whether it leaves a line with a decision: a condition, a loop, a case or an `except`
    # clause; shape (k,)
    rare: Bools
    # whether each arc is rare, and whether it leaves a line with a decision: a condition, a loop, a case or an `except`
    # clause; shape (k,)
    decides: Bools
    scope_of_arc: Ints  # the index of each arc's scope; shape (k,)
    # lines with decisions that leave no arc, ascending, and the kind of each decision
    undecided: tuple[tuple[int, str], ...]

    @classmethod
    def parse(cls, data: bytes) -> PythonFlow:
        """Read a source file's bytes; nothing of it is executed.

        Raises SyntaxError when this Python can't compile the source, or it is nested too deeply.
        """
        try:
            with without_collecting():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    text = importlib.util.decode_source(data)
                    tree = parse(text)
                return cls._from_tree(tree, WordLines.from_source(text), first_line(tree, text, data))
        except SyntaxError:
            raise
        except (ValueError, RecursionError, MemoryError, tokenize.TokenError) as error:
            raise SyntaxError(str(error) or type(error).__name__) from None

    @classmethod
    def _from_tree(cls, tree: ast.Module, words: WordLines, first: FirstLine) -> PythonFlow:
        builders: list[ScopeFlow] = []
        undecided: list[tuple[int, str]] = []
        pending: list[ast.Module | Definition] = [tree]
        while pending:
            builder = ScopeFlow(pending.pop(), first, words, undecided)
            builder.build()
            builders.append(builder)
            pending += builder.inner
        builders[1:] = sorted(builders[1:], key=lambda builder: (builder.scope.start, builder.scope.line))
        sizes = [len(builder.arcs) for builder in builders]
        count = sum(sizes)
        # arrays for all scopes at once, as one for each would take longer than to parse the source
        ends = np.fromiter(chain.from_iterable(chain.from_iterable(b.arcs for b in builders)), np.int32, 2 * count)
        return cls(
            tuple([builder.scope for builder in builders]),
            ends.reshape(-1, 2),
            np.fromiter(chain.from_iterable(b.arcs.values() for b in builders), bool, count),
            np.fromiter((source in b.decisions for b in builders for source, _ in b.arcs), bool, count),
            np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            tuple(sorted(set(undecided))),
        )

    def arcs_of(self, scope: int) -> dict[Arc, bool]:
        """Return the possible arcs of a scope, and whether each is rare.

        By the first and last line of the arc.
        """
        own = self.scope_of_arc == scope
        return dict(zip(map(tuple, self.ends[own].tolist()), self.rare[own].tolist(), strict=True))

    def can_go(self, ends: Ints) -> Bools:
        """Whether each arc is possible in any scope, or belongs to a lambda or comprehension.

        A lambda or a comprehension has its own code object, which is entered from and left to its own line. Line 0 is
        the line of an empty file.

        Of shape (k,). In the order of `ends`.
        """
        wanted, codes = arc_codes(ends), np.sort(arc_codes(self.ends))  # even an empty module is entered
        known = np.equal(codes[np.minimum(codes.searchsorted(wanted), len(codes) - 1)], wanted)
        of_line = np.equal(ends[:, 0], -ends[:, 1])
        return known | of_line | np.equal(ends, 0).any(axis=1)


def inside_expression(arc: Arc) -> bool:
    """Whether an arc enters or leaves code on one line: a lambda, a comprehension, a one-line ``def``.

    True where one end is minus the other.
    """
    return arc[0] + arc[1] == 0
