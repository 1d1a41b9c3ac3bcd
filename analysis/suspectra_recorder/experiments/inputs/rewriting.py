"""Rewrites sources such that they call the marks of inputs: what functions get and return, and what loses symbols."""

from __future__ import annotations

from functools import partial

from suspectra_recorder.experiments.decisions.inserted_calls import FUNCTIONS, MarkCalls
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_CONVERSIONS = ("int", "ord", "chr", "str")
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "type_params", "pattern", "decorator_list"})
_EVALUATED_LATER: type[ast.AST] | tuple[()] = getattr(ast, "TypeAlias", ())


class InputRewriting(MarkCalls):
    """Rewrites a source such that it calls the methods of `InputMarks`."""

    def __init__(self, name: str, *, functions: bool):
        super().__init__(name)
        self._functions = functions

    def fields(self, node: ast.AST, scope: str) -> None:
        """Rewrite what a node contains."""
        for field, value in ast.iter_fields(node):
            if field in _SKIPPED_FIELDS:
                continue
            if isinstance(value, list):
                value[:] = [new for child in value for new in self._replaced(child, scope)]
            elif isinstance(value, ast.AST):
                setattr(node, field, self._lifted(value, scope))

    def _replaced(self, node: object, scope: str) -> list[object]:
        """What stands in a list instead of a node."""
        if self._functions and isinstance(node, ast.Return) and node.value is None:
            # asynchronous generators may not return a value, so the mark stands before
            mark = self.call("returns", node, self.constant(None, node))
            return [ast.copy_location(ast.Expr(mark), node), node]
        return [self._lifted(node, scope) if isinstance(node, ast.AST) else node]

    def _lifted(self, node: ast.AST, scope: str) -> ast.AST:
        if isinstance(node, _EVALUATED_LATER):
            return node
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            self.fields(node, f"{scope}{node.name}.")
            if self._functions and isinstance(node, FUNCTIONS):
                self._function(node, f"{scope}{node.name}")
            return node
        self.fields(node, scope)
        if self._functions and isinstance(node, ast.Return) and node.value is not None:
            node.value = self.call("returns", node, node.value)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = self.call("contains", node, node.left, node.comparators[0])
            return found if isinstance(node.ops[0], ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)
        # what is written is not read, and slices give parts that have their own terms
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and not _is_slice(node.slice):
            return self.call("item", node, node.value, node.slice)
        # conversions with a base or an encoding are left to Python
        elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            return self._called(node)
        return node

    def _called(self, node: ast.Call) -> ast.AST:
        if isinstance(node.args[0], ast.Starred):
            return node
        if isinstance(node.func, ast.Name) and node.func.id in _CONVERSIONS:
            return self.call("call", node, node.func, node.args[0])
        if isinstance(node.func, ast.Attribute) and node.func.attr == "join":
            return self.call("join", node, node.func.value, node.args[0])
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> None:
        """``a, b = marks.arguments_of(name, ("a", "b"), a, b)`` in front of the body, and a mark where that ends."""
        arguments = node.args
        self._mark_defaults(arguments, name)
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        if arguments.vararg is not None:
            names.append(arguments.vararg.arg)
        text = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        place = node.body[min(int(text), len(node.body) - 1)]
        if not names:
            return
        place_of = partial(ast.copy_location, old_node=place)
        given = self.call(
            "arguments_of",
            place,
            self.constant(name, place),
            self.constant(_gives(node), place),
            self.constant(tuple(names), place),
            *[place_of(ast.Name(one, ast.Load())) for one in names],
        )
        target = place_of(ast.Tuple([place_of(ast.Name(one, ast.Store())) for one in names], ast.Store()))
        node.body.insert(int(text), place_of(ast.Assign([target], given)))
        if not isinstance(last := node.body[-1], ast.Return):
            mark = self.call("returns", last, self.constant(None, last))
            node.body.append(ast.copy_location(ast.Expr(mark), last))

    def _mark_defaults(self, arguments: ast.arguments, function: str) -> None:
        positional = [*arguments.posonlyargs, *arguments.args]
        names = [one.arg for one in positional[len(positional) - len(arguments.defaults) :]]
        arguments.defaults = [
            self._default(function, name, value) for name, value in zip(names, arguments.defaults, strict=True)
        ]
        arguments.kw_defaults = [
            value and self._default(function, parameter.arg, value)
            for parameter, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ]

    def _default(self, function: str, name: str, value: ast.expr) -> ast.expr:
        return self.call("default", value, self.constant(function, value), self.constant(name, value), value)


def _gives(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a call can give a result to be judged: no generator, and a result is returned somewhere."""
    pending: list[ast.AST] = list(function.body)
    gives = False
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return False
        gives = gives or (isinstance(node, ast.Return) and node.value is not None)
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(node)
    return gives


def _is_slice(node: ast.expr) -> bool:
    """Whether it has a colon, as ``a[1:]`` or ``a[1:, 2]``."""
    inside = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(one, (ast.Slice, ast.Starred)) for one in inside)
