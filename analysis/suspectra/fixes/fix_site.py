"""Places that candidates change: a node of a function, with what is around it and what can be used there."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from suspectra.fixes.days import day_in
from suspectra.mutation.parsed_source import ParsedSource
from suspectra.mutation.scopes import Function, Variables, bodies, position

_Node = TypeVar("_Node", ast.expr, ast.stmt)

SIMPLE = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.Return,
    ast.Raise,
    ast.Delete,
    ast.Continue,
    ast.Break,
)
"""Statements that contain no others."""

_MAX_TEXT = 80
_MAX_CONSTANTS = 100
"""Of one type, that are tried in the place of another one."""

_TABLE = 20
"""Items from which on a list, a tuple, a set or a dictionary is a table of data."""

_FIELD, _FIELD_END = re.compile(r"\{"), re.compile(r"[}:!=]")
"""Where a value in an f-string may begin, and what may end it."""

_NOT_EVALUATED = frozenset({"annotation", "returns", "type_params", "ctx", "op", "ops", "pattern", "decorator_list"})
_BUILT_IN = frozenset(dir(builtins))


class FileIngredients:
    """What a file contains that candidates are made from."""

    def __init__(self, source: ParsedSource):
        self.source = source
        self.day = day_in(source)
        self.globals = _module_names(source.tree)  # the names that its functions see everywhere
        self.constants: dict[type, Counter[object]] = {}  # those of its code, by type
        self.attributes: Counter[str] = Counter()  # the names of attributes that are read
        self.methods: Counter[str] = Counter()  # and of those that are called
        self.called: Counter[str] = Counter()  # the functions that are called by their name alone
        self.bare_methods: Counter[str] = Counter()  # the methods that are called without arguments
        self.of_one: Counter[str] = Counter()  # such as `re.escape`: what is called with one argument alone
        self.keywords: dict[str, set[str]] = {}  # by the name of what is called
        self.exceptions = _exceptions(source.tree)  # those that it defines, raises or handles
        self.arities: dict[str, int] = {}  # of the functions that the file defines
        called = set()
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call):
                called.add(id(node.func))
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                self.keywords.setdefault(name, set()).update(one.arg for one in node.keywords if one.arg)
                if isinstance(node.func, ast.Name):
                    self.called[name] += 1
                elif isinstance(node.func, ast.Attribute) and not node.keywords:
                    if not node.args:
                        self.bare_methods[name] += 1
                    elif len(node.args) == 1 and isinstance(node.func.value, ast.Name):
                        self.of_one[f"{node.func.value.id}.{name}"] += 1
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                parameters = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
                self.keywords.setdefault(node.name, set()).update(parameters)
                self.arities[node.name] = len(node.args.args)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and not isinstance(node.value, bool):
                self.constants.setdefault(type(node.value), Counter())[node.value] += 1
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.attributes[node.target.id] += 1  # it may be a field of a class
            elif isinstance(node, ast.Attribute):
                (self.methods if id(node) in called else self.attributes)[node.attr] += 1


@dataclass(frozen=True, eq=False)
class FunctionScope:
    """A function, and what can be used in it."""

    function: Function
    functions: tuple[Function, ...]  # itself, and those around it before
    owners: tuple[ast.stmt, ...]
    owner: ast.ClassDef | None  # of a method
    ingredients: FileIngredients
    is_definition: bool = False  # whether it stands for a statement of the module that functions read

    @property
    def source(self) -> ParsedSource:
        """The file."""
        return self.ingredients.source

    @cached_property
    def itself(self) -> str:
        """The name of the object in a method; empty elsewhere."""
        parameters = [*self.function.args.posonlyargs, *self.function.args.args]
        return parameters[0].arg if self.owner is not None and parameters else ""

    @cached_property
    def variables(self) -> Variables:
        """Its own variables."""
        return Variables(self.function, method=self.owner is not None)

    @cached_property
    def outer(self) -> list[str]:
        """The variables of the functions around it."""
        end = position(self.functions[0])._replace(line=1 << 30)
        names = [name for one in self.functions[:-1] for name in Variables(one, method=False).readable(end)]
        return list(dict.fromkeys(names))

    @cached_property
    def own_attributes(self) -> list[str]:
        """What methods of the class use of the object, as ``self.a``."""
        scope = self.owner or self.function
        found: Counter[str] = Counter()
        for node in ast.walk(scope):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.itself:
                found[f"{self.itself}.{node.attr}"] += 1
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        methods = {one.name for one in getattr(scope, "body", ()) if isinstance(one, functions)}
        return [name for name in found if name.partition(".")[2] not in methods] if self.itself else []

    @cached_property
    def updated_attributes(self) -> frozenset[str]:
        """Those that something else than ``__init__`` assigns."""
        methods = (one for one in getattr(self.owner, "body", ()) if getattr(one, "name", "__init__") != "__init__")
        assigned = (one for method in methods for one in ast.walk(method) if isinstance(one, ast.Attribute))
        return frozenset(ast.unparse(one) for one in assigned if isinstance(one.ctx, ast.Store))

    @cached_property
    def constants(self) -> dict[type, list[object]]:
        """The constants of the function, and the most frequent ones of the file, by type."""
        found: dict[type, dict[object, None]] = {}
        for node in ast.walk(self.function):
            if isinstance(node, ast.Constant):
                found.setdefault(type(node.value), {})[node.value] = None
        for kind, known in self.ingredients.constants.items():
            found.setdefault(kind, {}).update(dict.fromkeys(value for value, _ in known.most_common(_MAX_CONSTANTS)))
        return {kind: list(values)[:_MAX_CONSTANTS] for kind, values in found.items()}

    @cached_property
    def expressions(self) -> dict[str, ast.expr]:
        """The expressions of the function that are more than a name, by their text."""
        found: dict[str, ast.expr] = {}
        for node in ast.walk(self.function):
            if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.Compare, ast.UnaryOp)):
                text = self.source.segment(node)
                if len(text) <= _MAX_TEXT and "\n" not in text:
                    found.setdefault(text, node)
        return found

    @cached_property
    def conditions(self) -> dict[str, ast.expr]:
        """What functions of the class or the file ask, by text; its own first, and what is asked most often."""
        return self._in_order(_conditions)

    @cached_property
    def kept_in(self) -> list[tuple[str, str]]:
        """The variables that the function puts into containers, and the names of these."""
        found = []
        for node in ast.walk(self.function):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                found.append((node.slice, node.value))
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("add", "append") and node.args:
                found.append((node.args[0], getattr(node.func, "value", node.func)))
        named = [(key.id, base.id) for key, base in found if isinstance(key, ast.Name) and isinstance(base, ast.Name)]
        return list(dict.fromkeys(named))

    @cached_property
    def statements(self) -> dict[str, ast.stmt]:
        """The simple statements of the function, its class and its file, by text; its own first, then frequent ones."""
        return self._in_order(_statements)

    def is_near(self, node: ast.stmt) -> bool:
        """Whether a statement stands in the function, or in its class."""
        around = self.owner or self.functions[0]
        return around.lineno <= node.lineno <= (around.end_lineno or around.lineno)

    def _in_order(self, of: Callable[[ast.AST, ParsedSource], Iterator[tuple[str, _Node]]]) -> dict[str, _Node]:
        """The ingredients of the function, then those of its class, then those of the file.

        What stands there often comes before what stands there once, and then what is nearer.
        """
        found: dict[str, _Node] = {}
        for around in (self.function, self.owner, self.source.tree):
            nodes: dict[str, list[_Node]] = {}
            for text, node in of(around, self.source) if around is not None else ():
                nodes.setdefault(text, []).append(node)
            for text in sorted(nodes, key=lambda text: (-len(nodes[text]), self._distance(nodes[text][0]))):
                found.setdefault(text, nodes[text][0])
        return found

    def _distance(self, node: ast.expr | ast.stmt) -> int:
        return abs(node.lineno - self.function.lineno)


def _conditions(scope: ast.AST, source: ParsedSource) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(scope):
        tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else []
        tests += node.values if isinstance(node, ast.BoolOp) else []
        tests += node.ifs if isinstance(node, ast.comprehension) else []
        tests += [node] if isinstance(node, ast.Compare) else []
        for test in tests:
            text = source.segment(test)
            if len(text) <= _MAX_TEXT and "\n" not in text and not isinstance(test, ast.Constant):
                yield text, test


def _statements(scope: ast.AST, source: ParsedSource) -> Iterator[tuple[str, ast.stmt]]:
    for inside in ast.walk(scope):
        if not isinstance(inside, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(inside):
            if isinstance(node, SIMPLE) and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                text = source.segment(node)
                if len(text) <= _MAX_TEXT and "\n" not in text:
                    yield text, node
                    yield from _parts(node, source)


def _parts(node: ast.stmt, source: ParsedSource) -> Iterator[tuple[str, ast.stmt]]:
    """What an assignment of several values assigns, one by one."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not (isinstance(node, ast.Assign) and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)):
        return
    if len(target.elts) == len(node.value.elts) and not any(isinstance(one, ast.Starred) for one in target.elts):
        for one, value in zip(target.elts, node.value.elts, strict=True):
            part = ast.copy_location(ast.Assign([one], value), node)
            yield f"{source.segment(one)} = {source.segment(value)}", part


@dataclass(frozen=True, eq=False)
class FixSite:
    """A node that can be changed."""

    node: ast.expr | ast.stmt
    parent: ast.AST
    statement: ast.stmt  # the innermost around it
    scope: FunctionScope
    bound: frozenset[str] = frozenset()  # the variables of comprehensions and lambdas around it
    block: list[ast.stmt] = field(default_factory=list)  # for a statement: those beside it
    in_loop: bool = False
    in_table: bool = False  # whether it is one of many values that are written down together
    f_string: ast.JoinedStr | None = None  # the one that it is a part of, which is edited as a whole

    @property
    def source(self) -> ParsedSource:
        """The file."""
        return self.scope.source

    @cached_property
    def text(self) -> str:
        """The text of the node."""
        return self.source.segment(self.node)

    @cached_property
    def names(self) -> list[str]:
        """The variables that can be read here, the nearest first."""
        if self.scope.is_definition:
            return []
        own = self.scope.variables.readable(position(self.node))
        return list(dict.fromkeys([*sorted(self.bound), *own, *self.scope.outer]))

    @cached_property
    def readable(self) -> frozenset[str]:
        """All names that have a value here."""
        if self.scope.is_definition:
            return frozenset((*self.scope.ingredients.globals, *_BUILT_IN))
        return frozenset((*self.names, *self.scope.ingredients.globals, *_BUILT_IN, self.scope.itself))

    def fits(self, node: ast.AST) -> bool:
        """Whether all names that something reads have a value here."""
        read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        return read - _bound_in(node) <= self.readable

    @cached_property
    def is_first_on_its_line(self) -> bool:
        """Whether nothing but spaces is before the statement."""
        line = self.source.lines[self.statement.lineno - 1].encode()
        return not line[: self.statement.col_offset].strip()

    @property
    def is_comparable(self) -> bool:
        """Whether the value can be computed when a run comes to the statement."""
        is_read = isinstance(getattr(self.node, "ctx", ast.Load()), ast.Load)
        return is_read and self.is_first_on_its_line and not self.bound and not self.scope.is_definition

    @cached_property
    def head(self) -> tuple[int, int]:
        """The lines of the statement, of a compound one those before its block."""
        inner = next(bodies(self.statement), None)
        end = self.statement.end_lineno or self.statement.lineno
        return self.statement.lineno, max(inner[0].lineno - 1, self.statement.lineno) if inner else end


def fix_sites(scope: FunctionScope) -> Iterator[FixSite]:
    """The places of a function, in the order of the text; nested functions are scopes of their own."""
    if scope.is_definition:
        statement = scope.owners[-1]
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield FixSite(statement, statement, statement, scope)
            for default in (*statement.args.defaults, *statement.args.kw_defaults):
                if default is not None:
                    yield from _expressions(FixSite(default, statement, statement, scope))
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            yield from _expressions(FixSite(statement.value, statement, statement, scope))
        return
    yield from _blocks(
        scope.function.body if isinstance(scope.function.body, list) else [], scope, scope.function, False
    )


def _blocks(block: list[ast.stmt], scope: FunctionScope, parent: ast.AST, in_loop: bool) -> Iterator[FixSite]:
    for statement in block:
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if is_text or isinstance(statement, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.ClassDef)):
            continue
        yield FixSite(statement, parent, statement, scope, block=block, in_loop=in_loop)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        loops = isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
        for name, value in ast.iter_fields(statement):
            if name in _NOT_EVALUATED:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.expr):
                    yield from _expressions(FixSite(child, statement, statement, scope, in_loop=in_loop))
                elif isinstance(child, ast.withitem):
                    yield from _expressions(FixSite(child.context_expr, child, statement, scope, in_loop=in_loop))
        for inner in bodies(statement):
            yield from _blocks(
                inner, scope, statement, in_loop or (loops and inner is getattr(statement, "body", None))
            )


def _expressions(site: FixSite) -> Iterator[FixSite]:
    """An expression, and those inside of it."""
    yield site
    node = site.node
    if isinstance(node, ast.JoinedStr):
        for part, value in formatted_values(site.source, node) if site.f_string is None else ():
            yield from _expressions(replace(site, node=value, parent=part, f_string=node))
        return
    inside = site.bound
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        inside |= _bound_in(node)
    elif isinstance(node, ast.Lambda):
        inside |= {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
    items = node.values if isinstance(node, ast.Dict) else getattr(node, "elts", ())
    in_table = site.in_table or len(items) >= _TABLE
    for name, value in ast.iter_fields(node):
        if name in _NOT_EVALUATED or (name == "args" and isinstance(node, ast.Lambda)):
            continue
        for child in value if isinstance(value, list) else [value]:
            inner: list[tuple[ast.expr, ast.AST]] = []
            if isinstance(child, ast.expr):
                inner = [(child, node)]
            elif isinstance(child, ast.keyword):
                inner = [(child.value, child)]
            elif isinstance(child, ast.comprehension):
                inner = [(one, child) for one in (child.iter, *child.ifs)]
            for one, parent in inner:
                yield from _expressions(replace(site, node=one, parent=parent, bound=inside, in_table=in_table))


def formatted_values(source: ParsedSource, node: ast.JoinedStr) -> Iterator[tuple[ast.FormattedValue, ast.expr]]:
    """The fields of an f-string, each with its value as it stands in the file.

    Before Python 3.12 the parser does not know where they stand.
    """
    text, begin = source.segment(node), 0
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            continue
        wanted = ast.dump(part.value)
        for opened in _FIELD.finditer(text, begin):
            ends = (closed.start() for closed in _FIELD_END.finditer(text, opened.end()))
            found = next((one for end in ends if (one := _value_at(text, opened.end(), end, wanted))), None)
            if found is not None:
                begin = opened.end()
                _put(found, node, text[:begin])
                yield part, found
                break


def _value_at(text: str, begin: int, end: int, wanted: str) -> ast.expr | None:
    """The expression between two places of a text, if it is the wanted one."""
    try:
        found = ast.parse(f"({text[begin:end]}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return found if ast.dump(found) == wanted else None


def _put(node: ast.expr, whole: ast.JoinedStr, before: str) -> None:
    """Give an expression, which was parsed behind a parenthesis, its place in a file."""
    *lines, last = before.split("\n")
    column = len(last.encode()) + (0 if lines else whole.col_offset) - 1
    for one in ast.walk(node):
        if isinstance(one, (ast.expr, ast.keyword)):
            assert one.end_lineno is not None
            assert one.end_col_offset is not None
            one.col_offset += column if one.lineno == 1 else 0
            one.end_col_offset += column if one.end_lineno == 1 else 0
            one.lineno += whole.lineno + len(lines) - 1
            one.end_lineno += whole.lineno + len(lines) - 1


def _bound_in(node: ast.AST) -> frozenset[str]:
    """The variables that comprehensions and lambdas in a node have of their own."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.comprehension):
            found |= {name.id for name in ast.walk(one.target) if isinstance(name, ast.Name)}
        elif isinstance(one, ast.Lambda):
            found |= {argument.arg for argument in (*one.args.args, *one.args.kwonlyargs)}
    return frozenset(found)


def _exceptions(tree: ast.Module) -> list[str]:
    """The names of exceptions in a file, the most frequent first."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            several = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            found.update(ast.unparse(one) for one in several)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found[ast.unparse(node.exc.func)] += 1
    return [name for name, _ in found.most_common(8)]


def _module_names(tree: ast.Module) -> frozenset[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        else:
            found |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return frozenset(found)


def scopes(source: ParsedSource) -> Iterator[FunctionScope]:
    """The functions of a file, each with those around it."""
    ingredients = FileIngredients(source)
    yield from _scopes(source.tree, (), (), None, ingredients)


def definitions(source: ParsedSource, names: Collection[str], executed: Collection[int]) -> Iterator[FunctionScope]:
    """The statements of a module and of its classes that define some names as values, and the heads of functions.

    Those of functions of which a line is executed; a head has default values and decorators.
    """
    yield from _definitions(source.tree.body, (), FileIngredients(source), names, executed)


def _definitions(
    block: list[ast.stmt],
    owners: tuple[ast.stmt, ...],
    ingredients: FileIngredients,
    names: Collection[str],
    executed: Collection[int],
) -> Iterator[FunctionScope]:
    whole = len(ingredients.source.lines)
    for statement in block:
        around = (*owners, statement)
        if isinstance(statement, ast.ClassDef):
            yield from _definitions(statement.body, around, ingredients, names, executed)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = range(statement.lineno + 1, (statement.end_lineno or 0) + 1)
            if any(line in executed for line in inside):
                yield FunctionScope(statement, (statement,), around, None, ingredients, is_definition=True)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(one, ast.Name) and one.id in names for one in targets):
                function = ast.parse("def module(): pass").body[0]
                assert isinstance(function, ast.FunctionDef)
                function.body = [statement]
                function.lineno, function.end_lineno = 0, whole  # what is judged is the whole file
                yield FunctionScope(function, (function,), around, None, ingredients, is_definition=True)


def _scopes(
    node: ast.AST,
    functions: tuple[Function, ...],
    owners: tuple[ast.stmt, ...],
    owner: ast.ClassDef | None,
    ingredients: FileIngredients,
) -> Iterator[FunctionScope]:
    for child in ast.iter_child_nodes(node):
        around = (*owners, child) if isinstance(child, ast.stmt) and not functions else owners
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = (*functions, child)
            yield FunctionScope(child, inner, around, owner, ingredients)
            yield from _scopes(child, inner, around, None, ingredients)
        elif isinstance(child, ast.ClassDef):
            yield from _scopes(child, functions, around, child, ingredients)
        else:
            yield from _scopes(child, functions, around, owner, ingredients)
