"""Places that mutation operators change: a node of the syntax tree, and what is around it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from suspectra.mutation.parsed_source import ParsedSource, Span
from suspectra.mutation.precedence import Precedence, demanded, precedence_of_expression
from suspectra.mutation.scopes import Attributes, Keys, Variables

Change = tuple[Span, str]
"""What is replaced, and by what."""

_WORDS_BETWEEN = {"not in": r"not[\s\\]+in", "is not": r"is[\s\\]+not"}


@dataclass(frozen=True)
class Site:
    r"""A node, and what operators need to know of where it is.

    Parameters
    ----------
    node : ast.AST
        What can be changed.
    parent : ast.AST
        What directly contains it.
    source : ParsedSource
        Its text.
    variables : Variables
        Those of the function.
    attributes : Attributes
        Those of objects, in the function.
    own_attributes : Attributes or None
        Those of objects, in the class of a method.
    itself : str
        The name of the object in a method; empty elsewhere.
    last : bool
        Whether nothing of the function, or of the loop for ``continue``, would follow this statement anyway.
    keys : Keys
        Those of items, in the function.
    not_counted : frozenset of str
        Names and attributes whose values are certainly no numbers.

    Examples
    --------
    >>> source = ParsedSource(b"def f(a, b):\n    return a > b")
    >>> function = source.tree.body[0]
    >>> node, local = function.body[0].value, Variables(function, method=False)
    >>> scopes = local, Attributes(function), None
    >>> site = Site(node, function.body[0], source, *scopes, "", True, Keys(function), frozenset())
    >>> site.operand(node.left, Precedence.COMPARE), source.part(site.between(node.left, node.comparators[0], ">"))
    ('a', '>')
    >>> site.put(node, "False", Precedence.ATOM)[1]
    'False'
    """

    node: ast.AST
    parent: ast.AST
    source: ParsedSource
    variables: Variables
    attributes: Attributes
    own_attributes: Attributes | None
    itself: str
    last: bool
    keys: Keys
    not_counted: frozenset[str]

    def put(self, node: ast.expr, text: str, precedence: Precedence) -> Change:
        """Replace a whole expression.

        Parameters
        ----------
        node : ast.expr
            The node of this site, or a part of it whose parent that is.
        text : str
            The replacement.
        precedence : Precedence
            How tightly it binds.

        Returns
        -------
        Change
            With parentheses where the place needs them.
        """
        parent = self.parent if node is self.node else self.node
        if precedence < demanded(parent, node) and not self.source.in_parentheses(node):
            text = f"({text})"
        return self.source.span(node), text

    def operand(self, node: ast.expr, least: Precedence) -> str:
        """The text of an expression as an operand of something else.

        Parameters
        ----------
        node : ast.expr
            The expression.
        least : Precedence
            How tightly it must bind.

        Returns
        -------
        str
            In parentheses where it needs them.
        """
        text = self.source.segment(node)
        broken = "\n" in text and (precedence_of_expression(node) < Precedence.ATOM or isinstance(node, ast.Constant))
        return f"({text})" if broken or precedence_of_expression(node) < least else text

    def between(self, left: ast.expr, right: ast.expr, symbol: str) -> Span | None:
        """Where the operator between two operands is; None where it is not found.

        Parameters
        ----------
        left, right : ast.expr
            The operands.
        symbol : str
            The operator.

        Returns
        -------
        Span or None
            Without white space around it.
        """
        start, end = self.source.span(left).end, self.source.span(right).start
        gap = self.source.part(Span(start, end))
        pattern = _WORDS_BETWEEN.get(symbol, re.escape(symbol))
        found = re.match(rf"(?:[\s\\)]|#[^\n]*)*({pattern})(?:[\s\\(]|#[^\n]*)*\Z", gap)
        if found is None:
            return None
        first, last = (start + len(gap[:at].encode()) for at in found.span(1))
        return Span(first, last)


Operator = Callable[[Site], Iterator[Change]]
"""Gives the changes of one kind at a site."""
