"""The public names of `analysis/`, read from the source without importing it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (ROOT / "analysis" / "suspectra", ROOT / "analysis" / "suspectra_recorder")
Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

ROOMS = (
    ("Evidence", ("evidence", "measured_file", "experiment")),
    ("Spectra", ("spectrum", "arrays")),
    ("Techniques", ("techniques", "technique_info")),
    ("Reports", ("report", "localizer", "location", "errors")),
    ("Failure groups", ("failure_groups",)),
    ("Questions about a ranking", ("distinctions",)),
    ("Mutants", ("mutation",)),
    ("The Markov debugging model", ("markov",)),
    ("What is known of programs", ("program",)),
    ("Evaluation", ("evaluation",)),
    ("Long work", ("cancellation", "cluster")),
)
"""The sections of the API reference: a title, and the modules and packages of `suspectra` that are in it."""

_INNER = ("suspectra.evidence.recording.", "suspectra.cli.evaluate")  # parts of these that are left out


@dataclass(frozen=True, eq=False)
class PublicName:
    """A class, function, method or property that others may use.

    Parameters
    ----------
    module : str
        With dots.
    path : Path
        The module's file.
    node : Definition
        The definition.
    owner : ast.ClassDef or None
        The class that a method belongs to.
    """

    module: str
    path: Path
    node: Definition
    owner: ast.ClassDef | None

    @property
    def full_name(self) -> str:
        """The module, the class if any, and the name."""
        return ".".join((self.module, *([self.owner.name] if self.owner else []), self.node.name))

    @property
    def room(self) -> str:
        """The module or package of `suspectra` by which the API reference has it; empty where it is not there."""
        package, _, rest = self.module.partition(".")
        first = rest.partition(".")[0]
        listed = package == "suspectra" and any(first in modules for _, modules in ROOMS)
        return first if listed and not self.module.startswith(_INNER) else ""

    @property
    def is_class(self) -> bool:
        """Whether it is a class."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_property(self) -> bool:
        """Whether it is read like an attribute."""
        return bool({"property", "cached_property"} & set(self.decorators))

    @cached_property
    def decorators(self) -> tuple[str, ...]:
        """The last part of the name of each decorator."""
        calls = (one.func if isinstance(one, ast.Call) else one for one in self.node.decorator_list)
        return tuple(ast.unparse(one).rpartition(".")[2] for one in calls)

    @cached_property
    def docstring(self) -> str:
        """Without its indentation; empty where there is none."""
        return ast.get_docstring(self.node) or ""

    @cached_property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """What it takes: names and annotations. Those of a class are its fields, or what ``__init__`` takes."""
        if not isinstance(self.node, ast.ClassDef):
            return () if self.is_property else _taken(self.node, method=self.owner is not None)
        if any(ast.unparse(base).endswith("Enum") for base in self.node.bases):
            return ()
        own = next((one for one in self.node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        if own is not None:
            return _taken(own, method=True)
        if "dataclass" in self.decorators or "NamedTuple" in map(ast.unparse, self.node.bases):
            return tuple(_fields(self.node))
        return ()

    @cached_property
    def result(self) -> str:
        """The annotation of what it returns; empty for None, and for what is no function."""
        if isinstance(self.node, ast.ClassDef) or self.is_property or self.node.returns is None:
            return ""
        text = ast.unparse(self.node.returns)
        return "" if text in ("None", "NoReturn") else text

    @cached_property
    def is_generator(self) -> bool:
        """Whether it yields."""
        return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in _own_nodes(self.node))

    @cached_property
    def raised(self) -> frozenset[str]:
        """The errors that its own statements raise by name."""
        if isinstance(self.node, ast.ClassDef):
            return frozenset()
        names = _raised(_own_nodes(self.node))
        for one in _own_nodes(self.node):
            if isinstance(one, ast.Try):
                caught = {name for handler in one.handlers if handler.type for name in _last_names(handler.type)}
                names -= _raised(_own_nodes(ast.Module(one.body, []))) & caught
        return frozenset(name for name in names if name[0].isupper() and name != "NotImplementedError")


def public_names() -> Iterator[PublicName]:
    """Every public name, module by module, in the order of the source.

    Names with a leading underscore are left out, and commands, whose docstrings are what ``--help`` prints.
    """
    for path, module, tree in _modules():
        if any(part.startswith("_") for part in module.split(".")):
            continue
        for node in tree.body:
            if not _is_public(node):
                continue
            yield PublicName(module, path, node, None)
            if isinstance(node, ast.ClassDef):
                yield from (PublicName(module, path, one, node) for one in node.body if _is_public(one))


def inherited(name: PublicName) -> str:
    """The docstring of the method that it overrides; empty where it overrides none."""
    if name.owner is None:
        return ""
    waiting = [ast.unparse(base) for base in name.owner.bases]
    while waiting:
        base = _classes().get(waiting.pop(0).partition("[")[0])
        if base is None:
            continue
        for one in base.body:
            if getattr(one, "name", "") == name.node.name and (text := ast.get_docstring(one)):
                return text
        waiting += map(ast.unparse, base.bases)
    return ""


@cache
def _modules() -> tuple[tuple[Path, str, ast.Module], ...]:
    found = []
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            parts = path.relative_to(package.parent).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.append((path, module, ast.parse(path.read_text("utf-8"))))
    return tuple(found)


def _exported() -> Iterator[str]:
    """The full names of what `suspectra` exports, where it is defined."""
    trees = {module: tree for _, module, tree in _modules()}

    def definition(module: str, name: str) -> str:
        for one in trees[module].body:
            if isinstance(one, ast.ImportFrom) and one.module in trees and name in {alias.name for alias in one.names}:
                return definition(one.module, name)
        return f"{module}.{name}"

    imports = (one for one in ast.walk(trees["suspectra"]) if isinstance(one, ast.ImportFrom))
    return (definition(one.module, alias.name) for one in imports for alias in one.names if one.module in trees)


@cache
def _classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for _, _, tree in _modules() for node in tree.body if isinstance(node, ast.ClassDef)}


def _is_public(node: ast.AST) -> bool:
    if not isinstance(node, Definition) or node.name.startswith("_"):
        return False
    decorators = [ast.unparse(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
    return not any(one.endswith((".command", ".group", ".setter", "overload")) for one in decorators)


def _taken(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> tuple[tuple[str, str], ...]:
    args = node.args
    found = [(arg.arg, arg) for arg in (*args.posonlyargs, *args.args)]
    if method and "staticmethod" not in map(ast.unparse, node.decorator_list):
        found = found[1:]
    if args.vararg:
        found.append((f"*{args.vararg.arg}", args.vararg))
    found += [(arg.arg, arg) for arg in args.kwonlyargs]
    if args.kwarg:
        found.append((f"**{args.kwarg.arg}", args.kwarg))
    return tuple((name, ast.unparse(arg.annotation) if arg.annotation else "") for name, arg in found)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            kind = ast.unparse(one.annotation)
            if not kind.startswith("ClassVar") and "init=False" not in ast.unparse(one):
                yield one.target.id, kind


def _raised(nodes: Iterable[ast.AST]) -> set[str]:
    causes = (one.exc for one in nodes if isinstance(one, ast.Raise))
    calls = (one.func if isinstance(one, ast.Call) else one for one in causes)
    return {name for one in calls if isinstance(one, (ast.Name, ast.Attribute)) for name in _last_names(one)}


def _last_names(node: ast.expr) -> Iterator[str]:
    """The last part of a name, or of each in a tuple."""
    for one in node.elts if isinstance(node, ast.Tuple) else [node]:
        yield ast.unparse(one).rpartition(".")[2]


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a definition without those of definitions inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*Definition.__args__, ast.Lambda)):
            yield child
            yield from _own_nodes(child)


EXPORTED = frozenset(_exported())
"""What `suspectra` exports, by the full name of its definition."""
