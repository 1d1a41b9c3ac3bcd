"""Letting each value that a source assigns go through `AssignedValues`, and each comparison be noted there.

``x = e`` becomes ``x = values.put(number, e)``; so do the values that are returned and yielded, and the arguments of
calls whose result is not used: such a call is made for what it changes. ``x += e`` is followed by
``x = values.put(number, x)``; where the target is an attribute or an item, ``e`` itself is passed, since to read the
target again could call the program. ``a < b`` becomes ``values.left(number, a) < values.right(number, b)``.

Only what functions do is changed: the rest runs once, while a module is imported.
"""

from __future__ import annotations

from typing import NamedTuple

from suspectra_recorder.experiments.decisions.inserted_calls import call_on_first_line
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_SKIPPED_FIELDS = frozenset({"annotation", "returns", "type_params", "pattern", "ctx", "op", "ops", "decorator_list"})
_EVALUATED_LATER = getattr(ast, "TypeAlias", ())
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CODE = (ast.Lambda, ast.GeneratorExp)  # what has no value that could be put in its place
_MAX_LENGTH = 40
_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
}


class Assignment(NamedTuple):
    """A value in a source that can be another: lines from 1, columns in bytes from 0."""

    kind: str  # `assignment`, `augmented`, `return`, `yield` or `argument`
    name: str  # what gets the value, as the source has it, such as `self.total`; for `augmented` with the operator
    line: int  # where its statement begins, or an argument
    column: int
    end_line: int  # where that ends


def rewrite(tree: ast.Module, name: str, first: int) -> tuple[list[Assignment], int]:
    """Let the values of a source go through `AssignedValues`.

    By number from `first` on.
    """
    rewriting = Rewriting(name, first)
    for node in tree.body:
        rewriting.outside(node)
    return rewriting.assignments, rewriting.compared - first


class Rewriting:
    """Goes through the functions of a source."""

    def __init__(self, name: str, first: int):
        self.assignments: list[Assignment] = []
        self.compared = first
        self._name, self._first = name, first

    def outside(self, node: ast.AST) -> None:
        """Look for functions."""
        if isinstance(node, _FUNCTIONS):
            self._function(node)
        else:
            for child in ast.iter_child_nodes(node):
                self.outside(child)

    def _function(self, node: ast.AST) -> None:
        if isinstance(node, ast.Lambda):
            self._inside(node.body)
            node.body = self._put(node.body, "return", "the return value", node.body)
            self.outside(node.args)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = self._block(node.body)
            for part in (node.args, *node.decorator_list):
                self.outside(part)

    def _inside(self, node: ast.AST) -> None:
        """What is inside a function."""
        if isinstance(node, _EVALUATED_LATER):
            return
        if isinstance(node, _FUNCTIONS):
            self._function(node)
            return
        for name, value in ast.iter_fields(node):
            if name in _SKIPPED_FIELDS:
                continue
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                value[:] = self._block(value)
            elif isinstance(value, list):
                for child in value:
                    if isinstance(child, ast.AST):
                        self._inside(child)
            elif isinstance(value, ast.AST):
                self._inside(value)
        if isinstance(node, ast.NamedExpr):
            node.value = self._put(node.value, "assignment", node.target.id, node)
        elif isinstance(node, ast.Yield) and node.value is not None:
            node.value = self._put(node.value, "yield", "the yielded value", node)
        elif isinstance(node, ast.Compare) and _may_compare_numbers(node):
            self._compare(node)

    def _compare(self, node: ast.Compare) -> None:
        node.left = self._call("left", self.compared, node.left)
        # the left side is evaluated before
        node.comparators[0] = self._call("right", self.compared, node.comparators[0])
        self.compared += 1

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [found for statement in statements for found in self._statement(statement)]

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        """What stands in the place of a statement."""
        self._inside(statement)
        if isinstance(statement, ast.Assign):
            self._assign(statement, statement.targets)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            statement.value = self._put(statement.value, "assignment", _text(statement.target), statement)
        elif isinstance(statement, ast.AugAssign):
            return [statement, *self._augmented(statement)]
        elif isinstance(statement, ast.Return) and statement.value is not None:
            statement.value = self._put(statement.value, "return", "the return value", statement)
        elif isinstance(statement, ast.Expr):
            self._arguments(statement.value)
        return [statement]

    def _assign(self, node: ast.Assign, targets: list[ast.expr]) -> None:
        """Each value of ``a, b = c, d`` is one of its own."""
        names, values = targets[0], node.value
        if len(targets) == 1 and isinstance(names, (ast.Tuple, ast.List)) and isinstance(values, ast.Tuple):
            starred = any(isinstance(item, ast.Starred) for item in (*names.elts, *values.elts))
            # else it is not known which value a name gets
            if not starred and len(names.elts) == len(values.elts):
                values.elts = [
                    self._put(value, "assignment", _text(name), node)
                    for name, value in zip(names.elts, values.elts, strict=True)
                ]
                return
        node.value = self._put(values, "assignment", " = ".join(map(_text, targets))[:_MAX_LENGTH], node)

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        """The statement that follows it, if any."""
        if not isinstance(node.target, ast.Name):
            # to read the target again could call the program
            node.value = self._put(node.value, "augmented", f"{_text(node.target)} {_OPERATORS[type(node.op)]}=", node)
            return []
        name = node.target.id
        value = self._put(ast.copy_location(ast.Name(name, ast.Load()), node), "assignment", name, node)
        target = ast.copy_location(ast.Name(name, ast.Store()), node)
        return [ast.copy_location(ast.Assign([target], value), node)]

    def _arguments(self, node: ast.expr) -> None:
        """The arguments of a call that is a statement."""
        call = node.value if isinstance(node, ast.Await) else node
        if not isinstance(call, ast.Call):
            return
        called = _text(call.func)
        for index, argument in enumerate(call.args):
            if isinstance(argument, ast.Starred):
                break  # what follows has no number of its own
            call.args[index] = self._put(argument, "argument", f"argument {index + 1} of {called}", argument)
        for keyword in call.keywords:
            if keyword.arg is not None:
                name = f"argument {keyword.arg} of {called}"
                keyword.value = self._put(keyword.value, "argument", name, keyword.value)

    def _put(self, value: ast.expr, kind: str, name: str, place: ast.expr | ast.stmt) -> ast.expr:
        if isinstance(value, _CODE):
            return value
        end = place.end_lineno
        assert end is not None  # the parser sets it
        self.assignments.append(Assignment(kind, name, place.lineno, place.col_offset, end))
        return self._call("put", self._first + len(self.assignments) - 1, value)

    def _call(self, method: str, number: int, value: ast.expr, *others: ast.expr) -> ast.expr:
        """A call that gives its first argument back."""
        return call_on_first_line(value, self._name, method, number, value, *others)


def _may_compare_numbers(node: ast.Compare) -> bool:
    """Whether it has two sides that may both be numbers."""
    sides = (node.left, *node.comparators)
    texts = any(isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes)) for side in sides)
    return len(sides) == 2 and isinstance(node.ops[0], _COMPARISONS) and not texts


def _text(node: ast.expr) -> str:
    """A target or what is called, in short."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = f"{_text(node.value)}.{node.attr}"
        return inner if len(inner) <= _MAX_LENGTH else f"….{node.attr}"[:_MAX_LENGTH]
    if isinstance(node, ast.Subscript):
        return f"{_text(node.value)}[…]"[:_MAX_LENGTH]
    if isinstance(node, (ast.Tuple, ast.List)):
        return ", ".join(map(_text, node.elts))[:_MAX_LENGTH]
    if isinstance(node, ast.Starred):
        return f"*{_text(node.value)}"
    return "…"
