"""Places that mutation operators change: a node of the syntax tree, and what is around it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from suspectra.mutation.parsed_source import ParsedSource, TextSpan
from suspectra.mutation.precedence import Precedence, demanded, precedence_of_expression
from suspectra.mutation.scopes import Attributes, Keys, Variables

Change = tuple[TextSpan, str]
"""What is replaced, and by what."""

_WORDS_BETWEEN = {"not in": r"not[\s\\]+in", "is not": r"is[\s\\]+not"}


@dataclass(frozen=True)
class MutationSite:
    """A node, and what operators need to know of where it is."""

    node: ast.AST  # what can be changed
    parent: ast.AST  # what directly contains it
    source: ParsedSource  # its text
    variables: Variables  # those of the function
    attributes: Attributes  # those of objects, in the function
    own_attributes: Attributes | None  # those of objects, in the class of a method
    itself: str  # the name of the object in a method; empty elsewhere
    last: bool  # whether nothing of the function, or of the loop for `continue`, would follow this statement anyway
    keys: Keys  # those of items, in the function
    not_counted: frozenset[str]  # names and attributes whose values are certainly no numbers

    def put(self, node: ast.expr, text: str, precedence: Precedence) -> Change:
        """Replace a whole expression.

        With parentheses where the place needs them.
        """
        parent = self.parent if node is self.node else self.node
        if precedence < demanded(parent, node) and not self.source.in_parentheses(node):
            text = f"({text})"
        return self.source.span(node), text

    def operand(self, node: ast.expr, least: Precedence) -> str:
        """The text of an expression as an operand of something else.

        In parentheses where it needs them.
        """
        text = self.source.segment(node)
        broken = "\n" in text and (precedence_of_expression(node) < Precedence.ATOM or isinstance(node, ast.Constant))
        return f"({text})" if broken or precedence_of_expression(node) < least else text

    def between(self, left: ast.expr, right: ast.expr, symbol: str) -> TextSpan | None:
        """Where the operator between two operands is; None where it is not found."""
        start, end = self.source.span(left).end, self.source.span(right).start
        gap = self.source.part(TextSpan(start, end))
        pattern = _WORDS_BETWEEN.get(symbol, re.escape(symbol))
        found = re.match(rf"(?:[\s\\)]|#[^\n]*)*({pattern})(?:[\s\\(]|#[^\n]*)*\Z", gap)
        if found is None:
            return None
        first, last = (start + len(gap[:at].encode()) for at in found.span(1))
        return TextSpan(first, last)


Operator = Callable[[MutationSite], Iterator[Change]]
"""Gives the changes of one kind at a site."""
