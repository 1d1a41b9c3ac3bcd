"""Ways of control: how a block is entered, and where control goes from it."""

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
        That of its probe.
    source : int
        The line that control comes from.
    """

    kind: Kind
    source: int


@dataclass(eq=False)
class Behind:
    """What comes behind a ``finally``.

    An arm that leads there sets a cell of its own, the last thing that happens inside. What is next takes it back and
    sets the cell of the arm: the code behind the statement, or the start of the ``finally`` when it is entered again.

    Parameters
    ----------
    normal : int or None
        The line that is next where no jump and no exception was on its way out.
    abrupt : int or None
        The line that is next otherwise.
    arms : list of (Arc, int)
        The arms that lead there, and the cells that are taken back.
    """

    normal: int | None
    abrupt: int | None
    arms: list[tuple[Arc, int]] = field(default_factory=list)


Target = int | Behind | None
"""A line, what is behind a ``finally``, or None where that is not known."""


@dataclass(frozen=True)
class Way:
    """Where control goes from a block.

    Parameters
    ----------
    follow : Target
        What comes behind the block.
    exit : int or None
        Where ``return`` leads.
    head : Target
        Where ``continue`` leads.
    after : Target
        Where ``break`` leads.
    error : int or None
        Where exceptions lead.
    """

    follow: Target
    exit: int | None
    head: Target = None
    after: Target = None
    error: int | None = None

    def to(self, follow: Target) -> Way:
        """The same way with another line behind the block.

        Parameters
        ----------
        follow : Target
            What comes behind the block.

        Returns
        -------
        Way
            It jumps as this one does.
        """
        return replace(self, follow=follow)

    def left_by(self, last: ast.stmt) -> Target:
        """Where control goes once the last statement of the block is done.

        Parameters
        ----------
        last : ast.stmt
            That statement.

        Returns
        -------
        Target
            None behind a ``raise``.
        """
        if isinstance(last, ast.Return):
            return self.exit
        if isinstance(last, ast.Continue):
            return self.head
        if isinstance(last, ast.Break):
            return self.after
        return None if isinstance(last, ast.Raise) else self.follow
