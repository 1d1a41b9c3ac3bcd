"""Control flow of blocks: how a block is entered, and where control goes after it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own_syntax import ast
from suspectra_recorder.instrumentation.probes import Kind

__builtins__ = own.builtins


@dataclass(frozen=True)
class Arc:
    """How a block is entered.

    Parameters
    ----------
    kind : Kind
        The kind of its probe.
    source : int
        The line from which control comes.

    Examples
    --------
    >>> Arc(Kind.ARM, source=7)
    Arc(kind=<Kind.ARM: 2>, source=7)
    """

    kind: Kind
    source: int


@dataclass(eq=False)
class AfterFinally:
    """Where control goes after a ``finally``.

    An arm that leads out of the ``finally`` sets a temporary cell as the last step inside. The code that runs next
    resets it and sets the cell of the arm: the code after the statement, or the start of the ``finally`` if it is
    entered again.

    Parameters
    ----------
    normal : int or None
        The next line if the ``finally`` was not entered by a jump or an exception.
    abrupt : int or None
        The next line otherwise.
    arms : list of (Arc, int)
        The arms that lead out of the ``finally``, and their temporary cells.

    Examples
    --------
    >>> after = AfterFinally(normal=9, abrupt=None)
    >>> after.arms.append((Arc(Kind.ARM, 7), 4))
    >>> after.normal, len(after.arms)
    (9, 1)
    """

    normal: int | None
    abrupt: int | None
    arms: list[tuple[Arc, int]] = field(default_factory=list)


Target = int | AfterFinally | None
"""A line, the end of a ``finally``, or None if it is not known."""


@dataclass(frozen=True)
class Successors:
    r"""Where control goes after a block.

    Parameters
    ----------
    follow : Target
        What follows the block.
    exit : int or None
        The target of ``return``.
    head : Target
        The target of ``continue``.
    after : Target
        The target of ``break``.
    error : int or None
        The target of exceptions.

    Examples
    --------
    >>> loop_body = Successors(follow=1, exit=-1, head=1, after=5)
    >>> [loop_body.left_by(last) for last in ast.parse("while 1: break\npay()").body[0].body]
    [5]
    >>> loop_body.to(4).left_by(ast.parse("pay()").body[0])
    4
    """

    follow: Target
    exit: int | None
    head: Target = None
    after: Target = None
    error: int | None = None

    def to(self, follow: Target) -> Successors:
        """Return a copy in which another line follows the block.

        Parameters
        ----------
        follow : Target
            What follows the block.

        Returns
        -------
        Successors
            With the same targets of jumps.
        """
        return replace(self, follow=follow)

    def left_by(self, last: ast.stmt) -> Target:
        """Return where control goes after the last statement of the block.

        Parameters
        ----------
        last : ast.stmt
            That statement.

        Returns
        -------
        Target
            The target; None after a ``raise``.
        """
        if isinstance(last, ast.Return):
            return self.exit
        if isinstance(last, ast.Continue):
            return self.head
        if isinstance(last, ast.Break):
            return self.after
        return None if isinstance(last, ast.Raise) else self.follow
