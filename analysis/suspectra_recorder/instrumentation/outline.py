"""Outlines of sources: a checksum for each part, which comments, blank lines and docstrings do not change.

Two outlines show which functions differ between two versions of a file, and whether the code around them, which runs at
import, does. They are made from the syntax tree, do not depend on the version of Python, and are small enough to be
stored in every recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import hashlib
from suspectra_recorder.instrumentation.parser_references import ast

__builtins__ = library_references.builtins

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, *_FUNCTIONS)
# what does not change what the code does, such as the u of u""
_BLIND_TO = frozenset({"ctx", "type_comment", "type_ignores", "kind"})
_TYPES = frozenset(
    {"bool", "bytes", "complex", "dict", "float", "int", "list", "object", "set", "str", "tuple", "type"}
)
_PLAIN = (ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.UnaryOp, ast.USub, ast.BinOp, ast.BitOr, ast.Load)
_NAMING = (ast.Name, ast.Attribute, ast.alias, ast.Constant, ast.arg)
_IMPORTERS = frozenset({"import_module", "__import__"})
ANYTHING = "*"
"""Among the imports of an outline: the module imports by names that are computed at run time."""


class OutlinedFunction(NamedTuple):
    """A function of an outline."""

    name: str  # dotted name within the module
    body: str  # checksum of the function without its decorators and nested functions
    head: str  # checksum of what is evaluated at its definition: decorators, defaults and annotations
    outer: int  # index of the enclosing function at module or class level, or its own index


@dataclass(frozen=True)
class Outline:
    """The parts of a source."""

    functions: tuple[OutlinedFunction, ...] = ()  # in the order of the source
    # the statements of the module: `def NAME HEAD` for functions, checksums of the others
    outside: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()  # dotted names of everything that it may import; relative ones start with dots
    tests: tuple[str, ...] = ()  # functions that are only tests: not fixtures, and not used by name in the file

    @classmethod
    def from_tree(cls, tree: ast.Module, *, tests: bool = False) -> Outline:
        """Make the outline of a tree. With `tests`, adding or removing tests does not change the code around them."""
        walk = _Walk(frozenset(_names(tree)) if tests else None, _annotates_lazily(tree))
        walk.functions_of(tree.body, "", -1)
        outside = tuple([part for statement in _undocumented(tree) for part in walk.outside(statement)])
        return cls(tuple(walk.functions), outside, tuple(dict.fromkeys(_imports(tree))), tuple(walk.tests))

    def as_json(self) -> dict[str, object]:
        """Return the outline in the form of maps."""
        functions = [list(f) for f in self.functions]
        return {"functions": functions, "outside": self.outside, "imports": self.imports, "tests": self.tests}

    @classmethod
    def from_json(cls, data: Any) -> Outline | None:
        """Make the outline from a map.

        Equal to the written one; None if the map has none.

        Raises ValueError, KeyError, TypeError when it is damaged.
        """
        if data is None:
            return None
        functions = tuple(OutlinedFunction(str(n), str(b), str(h), int(o)) for n, b, h, o in data["functions"])
        # a recording may come from anybody
        if any(not 0 <= f.outer <= i for i, f in enumerate(functions)):
            raise ValueError("a function inside of a later one")
        outside, imports, tests = (tuple(map(str, data[name])) for name in ("outside", "imports", "tests"))
        return cls(functions, outside, imports, tests)

    def keys(self) -> list[tuple[str, int]]:
        """Return the name of each function, with the number of earlier functions of that name.

        In the order of the functions.
        """
        return numbered(f.name for f in self.functions)


@dataclass(frozen=True)
class Difference:
    """The difference between two versions of a source."""

    bodies: frozenset[tuple[str, int]] = frozenset()  # functions that differ, or are only in one of the versions
    around: bool = False  # whether what runs at import differs
    # functions of the module that are only in one version, and whose definition has no effect except on code that uses
    # their names
    plain: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()  # the dotted names of functions at module and class level with any difference
    helpers: frozenset[str] = frozenset()  # those of `units` that are not only tests
    whole: bool = field(default=False)  # no details are known: everything may differ

    def __bool__(self) -> bool:
        return bool(self.bodies or self.around or self.plain or self.units or self.whole)

    def __or__(self, other: Difference) -> Difference:
        return Difference(
            self.bodies | other.bodies,
            self.around or other.around,
            self.plain | other.plain,
            self.units | other.units,
            self.helpers | other.helpers,
            self.whole or other.whole,
        )


EVERYTHING = Difference(around=True, whole=True)


def difference(old: Outline | None, new: Outline | None) -> Difference:
    """Compare two versions of a source; everything differs if one of them is not known.

    Empty if both are equivalent.
    """
    if old is None or new is None:
        return EVERYTHING
    before, after = (dict(zip(o.keys(), o.functions, strict=True)) for o in (old, new))
    keys = before.keys() | after.keys()
    bodies = {k for k in keys if k not in before or k not in after or before[k].body != after[k].body}
    heads = {k for k in keys & before.keys() & after.keys() if before[k].head != after[k].head}
    definitions = [{part for part in o.outside if part.startswith("def ")} for o in (old, new)]
    plain = {p for p in definitions[0] ^ definitions[1] if p.endswith(" ")}
    # in order: what runs at import may depend on what ran before
    other_parts = [[part for part in o.outside if part not in plain] for o in (old, new)]
    units = {
        o.functions[f.outer].name
        for o in (old, new)
        for key, f in zip(o.keys(), o.functions, strict=True)
        if key in bodies or key in heads
    }
    names = frozenset(p.split()[1] for p in plain)
    helpers = {f.name for o in (old, new) for f in o.functions if f.name in units and f.name not in o.tests}
    return Difference(frozenset(bodies), other_parts[0] != other_parts[1], names, frozenset(units), frozenset(helpers))


def numbered(names: Iterable[str]) -> list[tuple[str, int]]:
    """Pair each name with the number of equal names before it.

    In the same order.
    """
    seen: Counter[str] = Counter()
    out = []
    for name in names:
        out.append((name, seen[name]))
        seen[name] += 1
    return out


def mentions(tree: ast.Module, names: frozenset[str], changed: frozenset[tuple[str, int]]) -> bool:
    """Whether any of some names is used outside the changed functions, as a name or a string.

    Also True if a string equals one of the names.
    """
    functions = sorted((n for n in ast.walk(tree) if isinstance(n, _FUNCTIONS)), key=lambda n: n.lineno)
    keys = numbered(_dotted_names(tree, functions))
    skipped = {id(node) for node, key in zip(functions, keys, strict=True) if key in changed}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if id(node) in skipped and isinstance(node, _FUNCTIONS):
            pending += [n for n in ast.walk(node) if isinstance(n, _FUNCTIONS) and n is not node]
            pending += [*node.decorator_list, *node.args.defaults]
            continue
        if isinstance(node, _NAMING) and not names.isdisjoint(_named(node)):
            return True
        pending += ast.iter_child_nodes(node)
    return False


def _names(tree: ast.AST) -> Iterator[str]:
    """All possible names: of variables, attributes and parameters, and strings."""
    for node in ast.walk(tree):
        if isinstance(node, _NAMING):
            yield from _named(node)


def _named(node: ast.AST) -> Iterator[str]:
    texts = (getattr(node, name, None) for name in ("id", "attr", "name", "asname", "value", "arg"))
    return (text for text in texts if isinstance(text, str))


def _dotted_names(tree: ast.Module, functions: Sequence[ast.AST]) -> list[str]:
    walk = _Walk(None, False)
    walk.functions_of(tree.body, "", -1)
    return [f.name for f in walk.functions]


class _Walk:
    def __init__(self, used: frozenset[str] | None, lazy: bool):
        self.used = used  # in a file of tests, the names that it uses
        self.tests: list[str] = []
        self.lazy = lazy  # annotations are not evaluated
        self.functions: list[OutlinedFunction] = []

    def functions_of(self, statements: Iterable[ast.AST], name: str, outer: int) -> None:
        """Add all functions of a block; nested functions follow the enclosing one."""
        for statement in statements:
            if isinstance(statement, _FUNCTIONS):
                dotted = f"{name}.{statement.name}" if name else statement.name
                own = outer if outer >= 0 else len(self.functions)
                if outer < 0 and self.is_test(statement):
                    self.tests.append(dotted)
                body = self.checksum([statement.args, statement.returns, *_type_parameters(statement)], statement)
                self.functions.append(OutlinedFunction(dotted, body, self.head(statement), own))
                self.functions_of(statement.body, dotted, own)
            elif isinstance(statement, ast.ClassDef):
                self.functions_of(statement.body, f"{name}.{statement.name}" if name else statement.name, outer)
            elif isinstance(statement, ast.stmt | ast.excepthandler | ast.match_case):
                self.functions_of(_blocks(statement), name, outer)

    def outside(self, statement: ast.stmt) -> Iterator[str]:
        """The representation of a statement of the module."""
        if not isinstance(statement, _FUNCTIONS):
            yield self.checksum([statement])
        elif not self.is_test(statement):
            yield f"def {statement.name} {self.head(statement)}"

    def is_test(self, node: ast.AST) -> bool:
        if self.used is None or not isinstance(node, _FUNCTIONS) or not node.name.startswith("test"):
            return False
        # a fixture may be called like a test, and a test may be called by others
        marks = (name for decorator in node.decorator_list for name in _names(decorator))
        return node.name not in self.used and not any("fixture" in name for name in marks)

    def head(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        evaluated = [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]
        if not self.lazy:
            evaluated += [e for e in (*(a.annotation for a in every if a), node.returns) if e]
        if not node.decorator_list and not _type_parameters(node) and all(map(_is_plain, evaluated)):
            return ""
        return self.checksum([*node.decorator_list, node.args, node.returns, *_type_parameters(node)])

    def checksum(self, nodes: Sequence[Any], function: ast.FunctionDef | ast.AsyncFunctionDef | None = None) -> str:
        """The checksum of nodes and a function's body; nested functions count only by their heads."""
        tokens = [type(function).__name__]  # whether it is a coroutine
        pending: list[Any] = [*reversed(_undocumented(function) if function else ()), *reversed(nodes)]
        while pending:
            node = pending.pop()
            if isinstance(node, _FUNCTIONS):
                if not self.is_test(node):
                    tokens += [type(node).__name__, node.name, self.head(node)]
            elif isinstance(node, ast.AST):
                tokens.append(type(node).__name__)
                for name in reversed(node._fields):
                    value: Any = getattr(node, name, None)
                    if name == "body" and isinstance(node, ast.ClassDef):
                        value = _undocumented(node)
                    elif isinstance(node, ast.JoinedStr):  # Python 3.12 had empty texts in some of them
                        value = [part for part in value if getattr(part, "value", None) != ""]
                    if value is not None and value != [] and name not in _BLIND_TO:
                        pending += (value, (name,))
            elif isinstance(node, list):
                # with its length, so that lists in a row are told apart
                tokens.append(f"[{len(node)}")
                pending += reversed(node)
            else:
                tokens.append(node[0] if isinstance(node, tuple) else repr(node))
        return hashlib.sha256("\0".join(tokens).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _undocumented(node: Any) -> list[ast.stmt]:
    body: list[ast.stmt] = node.body
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest] if isinstance(node, _WITH_DOCSTRING):
            return rest
    return body


def _annotates_lazily(tree: ast.Module) -> bool:
    futures = (n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__")
    return any(alias.name == "annotations" for node in futures for alias in node.names)


def _type_parameters(node: ast.AST) -> list[ast.AST]:
    return getattr(node, "type_params", [])


def _blocks(node: ast.AST) -> Iterator[ast.AST]:
    return (c for c in ast.iter_child_nodes(node) if isinstance(c, ast.stmt | ast.excepthandler | ast.match_case))


def _is_plain(expression: ast.expr) -> bool:
    """Whether it evaluates to a constant or a built-in type without side effects."""
    return all(
        node.id in _TYPES if isinstance(node, ast.Name) else isinstance(node, _PLAIN) for node in ast.walk(expression)
    )


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            glue = "." if node.module else ""
            yield from (base if alias.name == "*" else f"{base}{glue}{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            if called in _IMPORTERS:
                match node.args[:1]:
                    case [ast.Constant(value=str(name))] if not name.startswith("."):
                        yield name
                    case _:
                        yield ANYTHING
        elif isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "pytest_plugins" for t in node.targets):
            texts = (getattr(inner, "value", None) for inner in ast.walk(node.value))
            yield from (text for text in texts if isinstance(text, str))
