"""Properties of control flow in the syntax of a block: how it is left, and what can't raise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_WITH_LINES = (ast.stmt, ast.ExceptHandler)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_OWN_DECORATORS = frozenset(
    {"abstractmethod", "classmethod", "deleter", "getter", "overload", "override", "property", "setter", "staticmethod"}
)


def expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Iterate over the nodes of a statement, without nested statements and annotations.

    Annotations may be converted to strings or never be evaluated, so they get no probes.

    In no particular order.
    """
    waiting: list[ast.AST] = [statement]
    while waiting:
        for name, value in ast.iter_fields(waiting.pop()):
            if name in ("annotation", "returns", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                    yield child
                    waiting.append(child)


def constant_test(test: ast.expr) -> bool | None:
    """Return the value of a condition if the compiler knows it.

    None if it is only known at run time.
    """
    match test:
        case ast.Constant(value=value):
            return bool(value)
        # the compiler leaves out what depends on it, so this has no arm to record
        case ast.Name(id="__debug__"):
            return __debug__
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = constant_test(operand)
            return None if value is None else not value
        case ast.BoolOp(op=op, values=operands):
            values = [constant_test(operand) for operand in operands]
            if None not in values:
                return any(values) if isinstance(op, ast.Or) else all(values)
    return None


def left_alone(tree: ast.Module, *, compares: bool) -> set[Definition]:
    """Find functions that do nothing and whose code somebody may compare with that of another such function.

    A decorator may refuse a function whose body is not empty, and know no better than to look at its bytecode.

    Else those with a decorator, unless Python's own are all that they have.
    """
    found: set[Definition] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FUNCTIONS) and _is_empty(node.body):
            if compares or not all(_is_own_decorator(decorator) for decorator in node.decorator_list):
                found.add(node)
            continue
        for name in _BLOCKS:
            waiting += getattr(node, name, ())
    return found


def tests_in(tree: ast.Module) -> set[Definition]:
    """Find the tests in a file of the program: functions called like tests, fixtures, and test classes with theirs."""
    found: set[Definition] = set()
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in tree.body]
    while waiting:
        node, in_tests = waiting.pop()
        if isinstance(node, FUNCTIONS):
            if in_tests or node.name.startswith("test") or "fixture" in "".join(map(ast.unparse, node.decorator_list)):
                found.add(node)
        elif isinstance(node, ast.ClassDef):
            tests = node.name.startswith("Test") or any("TestCase" in ast.unparse(base) for base in node.bases)
            if in_tests or tests:
                found.add(node)
                waiting += [(inner, True) for inner in node.body]
        elif isinstance(node, ast.stmt):
            waiting += [(inner, in_tests) for name in _BLOCKS for inner in getattr(node, name, ())]
    return found


def outside_of(
    functions: Collection[Definition], tests: Collection[Definition], lines: list[int], first: Callable[[int], int]
) -> list[int]:
    """Leave out the statements in the bodies of some functions, and all of tests."""
    every = (inner for node in functions for outer in node.body for inner in ast.walk(outer))
    out = {first(inner.lineno) for inner in every if isinstance(inner, _WITH_LINES)}
    # unless it is all on one line, which is a statement of the code around it
    out.difference_update(first(node.lineno) for node in functions)
    every = (inner for node in tests for inner in ast.walk(node))
    out |= {first(inner.lineno) for inner in every if isinstance(inner, (*_WITH_LINES, ast.expr))}
    return [line for line in lines if line not in out] if out else lines


def _is_empty(body: Sequence[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def _is_own_decorator(decorator: ast.expr) -> bool:
    """Whether a decorator is called like one of Python's own, which look at no code."""
    name = decorator.id if isinstance(decorator, ast.Name) else getattr(decorator, "attr", None)
    return name in _OWN_DECORATORS


def leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of a block.

    True only if its last statement shows it.
    """
    match body:
        case [*_, ast.Return() | ast.Raise() | ast.Break() | ast.Continue()]:
            return True
        case [*_, ast.If(body=then, orelse=[_, *_] as other)]:
            return leaves(then) and leaves(other)
    return False


def has_break(body: Sequence[ast.AST]) -> bool:
    """Whether a loop's body contains a ``break`` of that loop.

    False if there are only breaks of inner loops.
    """
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, DEFINITIONS):
            continue
        inner = node.orelse if isinstance(node, LOOPS) else list(ast.iter_child_nodes(node))
        if not isinstance(node, ast.expr) and has_break(inner):
            return True
    return False


def exits(body: Sequence[ast.AST], kinds: frozenset[type]) -> Iterator[type]:
    """Iterate over the jumps that lead out of a block."""
    for node in body:
        if type(node) in kinds:
            yield type(node)
        elif isinstance(node, LOOPS):
            yield from exits(node.body, kinds - {ast.Break, ast.Continue})
            yield from exits(node.orelse, kinds)
        elif not isinstance(node, (*DEFINITIONS, ast.expr)):
            yield from exits(list(ast.iter_child_nodes(node)), kinds)


def always_matches(case: ast.match_case) -> bool:
    """Whether a case matches everything."""
    pattern: ast.pattern | None = case.pattern
    while isinstance(pattern, ast.MatchOr) or (isinstance(pattern, ast.MatchAs) and pattern.pattern):
        pattern = pattern.patterns[-1] if isinstance(pattern, ast.MatchOr) else pattern.pattern
    return case.guard is None and isinstance(pattern, ast.MatchAs)


def sure_names(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Return the parameters that are never unbound while the function runs."""
    arguments = node.args
    names = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Del):
            names.discard(inner.id)
        elif isinstance(inner, ast.ExceptHandler) and inner.name:
            names.discard(inner.name)
    return frozenset(names)


def cannot_raise(statement: ast.stmt, sure: frozenset[str] | None) -> bool:
    """Whether the next statement is reached whenever this one is.

    True only if the syntax shows it.
    """
    if sure is None:
        return False  # namespaces of modules and classes may be mappings of any kind
    match statement:
        case ast.Pass():
            return True
        case ast.Assign(targets=targets, value=value):
            return all(isinstance(t, ast.Name) for t in targets) and _is_plain(value, sure)
        case ast.AnnAssign(target=ast.Name(), value=value):
            return value is None or _is_plain(value, sure)
    return False


def _is_plain(value: ast.expr, sure: frozenset[str]) -> bool:
    match value:
        case ast.Constant() | ast.Dict(keys=[]):
            return True
        case ast.Name(id=name):
            return name in sure
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(_is_plain(item, sure) for item in items)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[right]):
            return _is_plain(left, sure) and _is_plain(right, sure)
    return False
