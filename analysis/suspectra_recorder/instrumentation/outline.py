"""What a source does, part by part, told by checksums that comments, blank lines and docstrings do not change.

Two outlines tell which functions differ between two versions of a file, and whether the code around them does, which
runs when the module is imported. They are made from the syntax tree in a way that does not depend on the version of
Python, and are small enough to be kept with every recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import hashlib
from suspectra_recorder.instrumentation.own_syntax import ast

__builtins__ = own.builtins

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, *_FUNCTIONS)
_BLIND_TO = frozenset({"ctx", "type_comment", "type_ignores", "kind"})
_TYPES = frozenset(
    {"bool", "bytes", "complex", "dict", "float", "int", "list", "object", "set", "str", "tuple", "type"}
)
_PLAIN = (ast.Constant, ast.Subscript, ast.Tuple, ast.List, ast.UnaryOp, ast.USub, ast.BinOp, ast.BitOr, ast.Load)
_NAMING = (ast.Name, ast.Attribute, ast.alias, ast.Constant, ast.arg)
_IMPORTERS = frozenset({"import_module", "__import__"})
ANYTHING = "*"
"""Among the imports of an outline: the module imports by names that are made while it runs."""


class Function(NamedTuple):
    """A function of an outline.

    Parameters
    ----------
    name : str
        Dotted, inside the module.
    body : str
        Checksum of all but its decorators, without the functions defined in it.
    head : str
        Checksum of what is evaluated where it is defined: decorators, defaults and annotations. Empty where that
        can't matter to anybody who does not call it.
    outer : int
        The function at module or class level that it stands in: itself, or one before it.
    """

    name: str
    body: str
    head: str
    outer: int


@dataclass(frozen=True)
class Outline:
    """A source in parts.

    Parameters
    ----------
    functions : tuple of Function
        In the order of the source.
    outside : tuple of str
        The statements of the module: ``def NAME HEAD`` for functions, checksums of the others.
    imports : tuple of str
        Dotted names of what it may import, anywhere in it; relative ones start with their dots.
    tests : tuple of str
        The functions that are tests and nothing else: no fixtures, and nobody in the file uses their names.
    """

    functions: tuple[Function, ...] = ()
    outside: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    @classmethod
    def from_tree(cls, tree: ast.Module, *, tests: bool = False) -> Outline:
        """The outline of a tree; with `tests`, tests that are added to it or leave it change nothing around them.

        Parameters
        ----------
        tree : ast.Module
            Of the source, before any probe is in it.
        tests : bool, optional
            Whether it is a file in which tests stand.

        Returns
        -------
        Outline
            Equal for sources that do the same.
        """
        walk = _Walk(frozenset(_names(tree)) if tests else None, _annotates_lazily(tree))
        walk.functions_of(tree.body, "", -1)
        outside = tuple([part for statement in _undocumented(tree) for part in walk.outside(statement)])
        return cls(tuple(walk.functions), outside, tuple(dict.fromkeys(_imports(tree))), tuple(walk.tests))

    def as_json(self) -> dict[str, Any]:
        """The outline as maps hold it.

        Returns
        -------
        dict of str to Any
            What :meth:`from_json` takes.
        """
        functions = [list(f) for f in self.functions]
        return {"functions": functions, "outside": self.outside, "imports": self.imports, "tests": self.tests}

    @classmethod
    def from_json(cls, data: Any) -> Outline | None:
        """The outline out of a map, None when the map has none.

        Parameters
        ----------
        data : Any
            Not trusted.

        Returns
        -------
        Outline or None
            Equal to the one that was written.

        Raises
        ------
        ValueError, KeyError, TypeError
            When it is damaged.
        """
        if data is None:
            return None
        functions = tuple(Function(str(n), str(b), str(h), int(o)) for n, b, h, o in data["functions"])
        if any(not 0 <= f.outer <= i for i, f in enumerate(functions)):
            raise ValueError("a function inside of a later one")
        outside, imports, tests = (tuple(map(str, data[name])) for name in ("outside", "imports", "tests"))
        return cls(functions, outside, imports, tests)

    def keys(self) -> list[tuple[str, int]]:
        """Name of each function, and how many of that name come before it.

        Returns
        -------
        list of (str, int)
            In the order of the functions.
        """
        return numbered(f.name for f in self.functions)


@dataclass(frozen=True)
class Difference:
    """What differs between two versions of a source.

    Parameters
    ----------
    bodies : frozenset of (str, int)
        Functions that do something else or are in one of the versions only.
    around : bool
        Whether what runs at import differs.
    plain : frozenset of str
        Functions of the module that are in one version only, and whose definition as such does nothing: they
        change what the module is for those alone who use their names.
    units : frozenset of str
        The functions at module and class level that differ in anything, by their dotted names.
    helpers : frozenset of str
        Those of them that are more than tests in any version.
    whole : bool
        Whether nothing is known to be the same.
    """

    bodies: frozenset[tuple[str, int]] = frozenset()
    around: bool = False
    plain: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    whole: bool = field(default=False)  # nothing is known in detail: all of it may differ

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
    """What differs between two versions, everything where one of them is not known.

    Parameters
    ----------
    old, new : Outline or None
        Two versions of one source.

    Returns
    -------
    Difference
        Empty where both do the same.
    """
    if old is None or new is None:
        return EVERYTHING
    before, after = (dict(zip(o.keys(), o.functions, strict=True)) for o in (old, new))
    keys = before.keys() | after.keys()
    bodies = {k for k in keys if k not in before or k not in after or before[k].body != after[k].body}
    heads = {k for k in keys & before.keys() & after.keys() if before[k].head != after[k].head}
    definitions = [{part for part in o.outside if part.startswith("def ")} for o in (old, new)]
    plain = {p for p in definitions[0] ^ definitions[1] if p.endswith(" ")}
    kept = [[part for part in o.outside if part not in plain] for o in (old, new)]
    units = {
        o.functions[f.outer].name
        for o in (old, new)
        for key, f in zip(o.keys(), o.functions, strict=True)
        if key in bodies or key in heads
    }
    names = frozenset(p.split()[1] for p in plain)
    helpers = {f.name for o in (old, new) for f in o.functions if f.name in units and f.name not in o.tests}
    return Difference(frozenset(bodies), kept[0] != kept[1], names, frozenset(units), frozenset(helpers))


def numbered(names: Iterable[str]) -> list[tuple[str, int]]:
    """Each name with the number of equal names before it.

    Parameters
    ----------
    names : iterable of str
        In any order.

    Returns
    -------
    list of (str, int)
        In the same order.

    Examples
    --------
    >>> numbered(["f", "g", "f"])
    [('f', 0), ('g', 0), ('f', 1)]
    """
    seen: Counter[str] = Counter()
    out = []
    for name in names:
        out.append((name, seen[name]))
        seen[name] += 1
    return out


def mentions(tree: ast.Module, names: frozenset[str], changed: frozenset[tuple[str, int]]) -> bool:
    """Whether any of the names is used outside of the functions that changed, as a name or as a text.

    Parameters
    ----------
    tree : ast.Module
        Of a source.
    names : frozenset of str
        What is looked for.
    changed : frozenset of (str, int)
        Name and number of the functions to leave out.

    Returns
    -------
    bool
        Also true for a text that holds one as a whole.
    """
    functions = sorted((n for n in ast.walk(tree) if isinstance(n, _FUNCTIONS)), key=lambda n: n.lineno)
    keys = numbered(_dotted_names(tree, functions))
    skipped = {id(node) for node, key in zip(functions, keys, strict=True) if key in changed}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) in skipped and isinstance(node, _FUNCTIONS):
            waiting += [n for n in ast.walk(node) if isinstance(n, _FUNCTIONS) and n is not node]
            waiting += [*node.decorator_list, *node.args.defaults]
            continue
        if isinstance(node, _NAMING) and not names.isdisjoint(_named(node)):
            return True
        waiting += ast.iter_child_nodes(node)
    return False


def _names(tree: ast.AST) -> Iterator[str]:
    """All that may name something: names, attributes, parameters and texts."""
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
        self.functions: list[Function] = []

    def functions_of(self, statements: Iterable[ast.AST], name: str, outer: int) -> None:
        """All functions in a block, those in other functions behind these."""
        for statement in statements:
            if isinstance(statement, _FUNCTIONS):
                dotted = f"{name}.{statement.name}" if name else statement.name
                own = outer if outer >= 0 else len(self.functions)
                if outer < 0 and self.is_test(statement):
                    self.tests.append(dotted)
                body = self.checksum([statement.args, statement.returns, *_type_parameters(statement)], statement)
                self.functions.append(Function(dotted, body, self.head(statement), own))
                self.functions_of(statement.body, dotted, own)
            elif isinstance(statement, ast.ClassDef):
                self.functions_of(statement.body, f"{name}.{statement.name}" if name else statement.name, outer)
            elif isinstance(statement, ast.stmt | ast.excepthandler | ast.match_case):
                self.functions_of(_blocks(statement), name, outer)

    def outside(self, statement: ast.stmt) -> Iterator[str]:
        """A statement of the module as an outline tells it."""
        if not isinstance(statement, _FUNCTIONS):
            yield self.checksum([statement])
        elif not self.is_test(statement):
            yield f"def {statement.name} {self.head(statement)}"

    def is_test(self, node: ast.AST) -> bool:
        if self.used is None or not isinstance(node, _FUNCTIONS) or not node.name.startswith("test"):
            return False
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
        """Of nodes, with the body of a function behind them; of the functions inside their heads alone."""
        tokens = [type(function).__name__]  # whether it is a coroutine
        waiting: list[Any] = [*reversed(_undocumented(function) if function else ()), *reversed(nodes)]
        while waiting:
            node = waiting.pop()
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
                        waiting += (value, (name,))
            elif isinstance(node, list):
                tokens.append(f"[{len(node)}")
                waiting += reversed(node)
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
    """Whether evaluating it can do nothing but give a constant or a type of Python's own."""
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
