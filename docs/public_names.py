"""The public names of `analysis/`, read from the source without importing it.

``python docs/public_names.py --list`` prints those of the API, which have a whole docstring each.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeAlias, TypeGuard

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("suspectra", "suspectra_recorder")
Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

API_ROOMS = frozenset(
    ("evidence", "measured_file", "spectrum", "techniques", "technique_info", "report", "location", "errors")
)
"""The modules and packages, at any depth, whose classes are API where another class of the API names them."""

_TECHNIQUES = "suspectra.techniques.technique"  # what techniques are written against


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

    def key(self, root: Path) -> tuple[str, str]:
        """Its file, relative to the repository, and its name there, as :func:`api_names` has them."""
        own = f"{self.owner.name}.{self.node.name}" if self.owner else self.node.name
        return self.path.relative_to(root).as_posix(), own

    @property
    def is_class(self) -> bool:
        """Whether it is a class."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_property(self) -> bool:
        """Whether it is read like an attribute."""
        return bool({"property", "cached_property", "CachedProperty"} & set(self.decorators))

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


def public_names(root: Path = ROOT) -> Iterator[PublicName]:
    """Every public name, module by module, in the order of the source.

    Names with a leading underscore are left out, and commands, whose docstrings are what ``--help`` prints.
    """
    for path, module, tree in _modules(root):
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
            if isinstance(one, Definition) and one.name == name.node.name and (text := ast.get_docstring(one)):
                return text
        waiting += map(ast.unparse, base.bases)
    return ""


def api_names(root: Path = ROOT) -> set[tuple[str, str]]:
    """What a user of the library imports, and so finds a whole docstring at: files and names in them.

    These are what `suspectra` exports, what the README and the pages import or call by its full name, and what
    techniques are written against; then the classes of `API_ROOMS` that annotations of these name, and their bases;
    and the public members of all.
    """
    names = {name.full_name: name for name in public_names(root)}
    members: dict[ast.ClassDef, list[PublicName]] = {}
    for name in names.values():
        if name.owner is not None:
            members.setdefault(name.owner, []).append(name)
    waiting = [*_exported(root), *_named_by_pages(root)]
    waiting += [name.full_name for name in names.values() if name.module == _TECHNIQUES and name.owner is None]
    found: set[tuple[str, str]] = set()
    while waiting:
        full_name = waiting.pop(0)
        if full_name not in names or names[full_name].key(root) in found:
            continue
        name = names[full_name]
        whole = [name, *(members.get(name.node, []) if isinstance(name.node, ast.ClassDef) else [])]
        found |= {one.key(root) for one in whole}
        for other in sorted({each for one in whole for each in _named_by(one, root)}):
            if API_ROOMS & set(other.split(".")[:-1]) and other in names and names[other].is_class:
                waiting.append(other)
    return found


def _named_by(name: PublicName, root: Path) -> Iterator[str]:
    """The full names of what the annotations of a definition name, and of its bases."""
    texts = [*(kind for _, kind in name.parameters), name.result]
    if isinstance(name.node, ast.ClassDef):
        texts += map(ast.unparse, name.node.bases)
        texts += (ast.unparse(one.annotation) for one in name.node.body if isinstance(one, ast.AnnAssign))
    elif name.is_property and name.node.returns is not None:
        texts.append(ast.unparse(name.node.returns))
    for text in texts:
        for word in re.findall(r"[A-Za-z_]\w*", text):
            yield _definition(name.module, word, root)


def _named_by_pages(root: Path) -> Iterator[str]:
    """The full names of what the Python examples of the pages import, and of what the pages call by its full name."""
    for page in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        text = page.read_text("utf-8")
        yield from re.findall(r"`(suspectra(?:\.\w+)+)(?:\(\))?`", text)
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            for module, imported in re.findall(r"^(?:>>> )?from (suspectra[\w.]*) import (.+)$", block, re.MULTILINE):
                yield from (_definition(module, word.strip(), root) for word in imported.split(","))


@cache
def _modules(root: Path) -> tuple[tuple[Path, str, ast.Module], ...]:
    found = []
    for package in PACKAGES:
        for path in sorted((root / "analysis" / package).rglob("*.py")):
            parts = path.relative_to(root / "analysis").with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.append((path, module, ast.parse(path.read_text("utf-8"))))
    return tuple(found)


@cache
def _imports(root: Path) -> dict[str, dict[str, str]]:
    """For each module, the names that it imports at its top from another one, and from which."""
    found: dict[str, dict[str, str]] = {}
    for _, module, tree in _modules(root):
        conditional = (part for one in tree.body if isinstance(one, ast.If) for part in one.body)
        imports = (one for one in (*tree.body, *conditional) if isinstance(one, ast.ImportFrom) and one.module)
        found[module] = {alias.asname or alias.name: one.module or "" for one in imports for alias in one.names}
    return found


def _definition(module: str, name: str, root: Path) -> str:
    """The full name of what a name in a module is, where it is defined."""
    imports = _imports(root)
    while name in imports.get(module, {}) and imports[module][name] in imports:
        module = imports[module][name]
    return f"{module}.{name}"


def _exported(root: Path) -> Iterator[str]:
    """The full names of what `suspectra` exports, where it is defined."""
    return (_definition("suspectra", name, root) for name in _imports(root)["suspectra"])


@cache
def _classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for _, _, tree in _modules(ROOT) for node in tree.body if isinstance(node, ast.ClassDef)}


def _is_public(node: ast.AST) -> TypeGuard[Definition]:
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


EXPORTED = frozenset(_exported(ROOT))
"""What `suspectra` exports, by the full name of its definition."""

if __name__ == "__main__":
    if sys.argv[1:] != ["--list"]:
        sys.exit("usage: python docs/public_names.py --list")
    print("\n".join(f"{path}:{name}" for path, name in sorted(api_names())))
