"""Control flow of blocks: how a block is entered, and where control goes after it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast
from suspectra_recorder.instrumentation.probes import Kind

__builtins__ = library_references.builtins


@dataclass(frozen=True)
class Arc:
    """How a block is entered."""

    kind: Kind  # the kind of its probe
    source: int  # the line from which control comes


@dataclass(eq=False)
class AfterFinally:
    """Where control goes after a ``finally``.

    An arm that leads out of the ``finally`` sets a temporary cell as the last step inside. The code that runs next
    resets it and sets the cell of the arm: the code after the statement, or the start of the ``finally`` if it is
    entered again.
    """

    normal: int | None  # the next line if the `finally` was not entered by a jump or an exception
    abrupt: int | None  # the next line otherwise
    # the arms that lead out of the `finally`, and their temporary cells
    arms: list[tuple[Arc, int]] = field(default_factory=list)


Target = int | AfterFinally | None
"""A line, the end of a ``finally``, or None if it is not known."""


@dataclass(frozen=True)
class Successors:
    """Where control goes after a block."""

    follow: Target  # what follows the block
    exit: int | None  # the target of `return`
    head: Target = None  # the target of `continue`
    after: Target = None  # the target of `break`
    error: int | None = None  # the target of exceptions

    def to(self, follow: Target) -> Successors:
        """Return a copy in which another line follows the block."""
        return replace(self, follow=follow)

    def left_by(self, last: ast.stmt) -> Target:
        """Return where control goes after the last statement of the block.

        The target; None after a `raise`.
        """
        if isinstance(last, ast.Return):
            return self.exit
        if isinstance(last, ast.Continue):
            return self.head
        if isinstance(last, ast.Break):
            return self.after
        return None if isinstance(last, ast.Raise) else self.follow
