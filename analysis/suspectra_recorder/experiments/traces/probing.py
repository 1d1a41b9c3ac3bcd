"""Numbering the sites of a source, and making the probes that are put there.

The tracer is a constant of the code, as cells are in recorded code, so no namespace gets a name. Every probe gives back
what it is given.
"""

from __future__ import annotations

from suspectra_recorder.experiments.decisions.inserted_calls import Located, call_on_first_line
from suspectra_recorder.experiments.traces.scopes import Scopes, TracedScope, bound_names
from suspectra_recorder.experiments.traces.traced_sources import TracedSite, Variable
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

Uses = list[Variable]


class Probing:
    """Numbers the sites of a source and makes probes; the base of what rewrites it."""

    def __init__(self, name: str, values: str, board: str, scopes: Scopes, first: int):
        self.sites: list[TracedSite] = []
        self.scope: TracedScope
        self._name, self._values, self._board = name, values, board
        self._scopes, self._first = scopes, first
        self.captured: dict[int, tuple[int, list[str]]] = {}
        self.default_of: dict[ast.arg, Variable] = {}  # what stands for the defaults of parameters

    def site(
        self,
        node: Located,
        kind: str,
        number: int = -1,
        uses: Uses | None = None,
        defines: Uses | None = None,
        last: int = 0,  # the line that it includes at least
    ) -> int:
        """Number a place; its uses may be added later."""
        line, end = getattr(node, "lineno", 1), max(getattr(node, "end_lineno", 1) or 1, last)
        body = getattr(node, "body", None)
        if isinstance(body, list):  # of a statement with others inside, only its head is the place
            end = max(line, body[0].lineno - 1)
        self.sites.append(
            TracedSite(
                line,
                end,
                getattr(node, "col_offset", 0),
                kind,
                number,
                self.scope.frame.number,
                [] if uses is None else uses,
                [] if defines is None else defines,
            )
        )
        return self._first + len(self.sites) - 1

    def variable(self, name: str) -> Variable:
        """The variable that a name stands for in this scope."""
        return self.scope.find(name).number, name

    def variables(self, target: ast.AST | None) -> Uses:
        """The variables that a target binds.

        In their order.
        """
        return [self.variable(name) for name in bound_names(target)]

    @property
    def at_import(self) -> bool:
        """Whether the code runs when its module is imported: it is in no function."""
        return self.scope.frame.kind == "module"

    def header(self) -> Variable:
        """A variable for what has no name: what a loop, a comprehension or ``match`` goes through."""
        return self.scope.frame.number, f"#{self._first + len(self.sites)}"

    def probe(self, method: str, place: Located, *arguments: ast.expr | int | str) -> ast.expr:
        """A call of the tracer."""
        return call_on_first_line(place, self._name, method, *arguments)

    def marked(self, node: ast.AST | None, name: str, method: str) -> bool:
        """Whether a node calls a method of what a string stands for."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == method
            and isinstance(node.func.value, ast.Constant)
            and node.func.value.value == name
        )

    def put(self, node: ast.expr) -> tuple[int, ast.expr]:
        """The number of an assigned value, -1 for none, and the value itself."""
        if self.marked(node, self._values, "put"):
            assert isinstance(node, ast.Call)
            number = node.args[0]
            assert isinstance(number, ast.Constant)
            return int(str(number.value)), node.args[1]
        return -1, node
