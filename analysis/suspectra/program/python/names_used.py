"""Which variables and attributes a part of a source reads, writes, or may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from suspectra.program.python.named_paths import MUTATORS, Path, evaluated_parts, path_of
from suspectra.program.python.point_effects import NO_EFFECTS, Effects

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class NamesUsed:
    """What one point of an evaluation reads and writes."""

    reads: frozenset[Path] = frozenset()
    writes: frozenset[Path] = frozenset()  # what it certainly gives another value
    # what may be another object's state afterwards: a container of which an item is assigned, an object of which a
    # method is called for what it does
    changes: frozenset[Path] = frozenset()
    effects: Effects = NO_EFFECTS  # what it does with objects that are known elsewhere, too

    @classmethod
    def from_nodes(cls, *nodes: ast.AST) -> NamesUsed:
        """Read parts of a source.

        Without what functions in it do when they are called.
        """
        reads: set[Path] = set()
        writes: set[Path] = set()
        changes: set[Path] = set()
        for node in nodes:
            for part in _walk(node):
                _read(part, reads, writes, changes)
            if isinstance(node, ast.Expr):
                changes.update(_changed_by_call(node.value))
        local = {name for node in nodes for name in _comprehension_names(node)}
        return cls(
            frozenset(path for path in reads if path[0] not in local),
            frozenset(path for path in writes if path[0] not in local),
            frozenset(path for path in changes if path[0] not in local),
            Effects.from_nodes(*nodes),
        )

    @classmethod
    def from_loop(cls, node: ast.For | ast.AsyncFor) -> NamesUsed:
        """Read the head of a ``for``, as far as each round depends on it."""
        used = cls.from_nodes(node.target, node.iter)
        return replace(used, effects=used.effects.taking_from(node.iter))

    @classmethod
    def from_handler(cls, node: ast.ExceptHandler) -> NamesUsed:
        """Read the head of an ``except``."""
        used = cls() if node.type is None else cls.from_nodes(node.type)
        written = frozenset({(node.name,)} if node.name else ())
        return cls(used.reads, written, effects=used.effects)

    @classmethod
    def from_case(cls, node: ast.match_case, subject: ast.expr) -> NamesUsed:
        """Read the head of an arm of ``match``."""
        used = cls.from_nodes(subject, *([] if node.guard is None else [node.guard]))
        captured = set()
        for part in ast.walk(node.pattern):
            name = part.rest if isinstance(part, ast.MatchMapping) else getattr(part, "name", None)
            if name is not None:
                captured.add((name,))
        return cls(used.reads, frozenset(captured), effects=used.effects)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All parts that are evaluated with a node; of `a.b` the whole is used, not `a`."""
    return evaluated_parts(node, _is_path)


def _comprehension_names(node: ast.AST) -> Iterator[str]:
    for part in _walk(node):
        if isinstance(part, _COMPREHENSIONS):
            for generator in part.generators:
                yield from (name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name))


def _read(node: ast.AST, reads: set[Path], writes: set[Path], changes: set[Path]) -> None:
    if isinstance(node, ast.Name | ast.Attribute):
        path = path_of(node)
        if path is not None:
            (reads if isinstance(node.ctx, ast.Load) else writes).add(path)
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        changes.update(_known(path_of(node.value)))
    elif isinstance(node, ast.AugAssign):
        reads.update(_known(path_of(node.target)))
    elif isinstance(node, ast.Import | ast.ImportFrom):
        writes.update(((alias.asname or alias.name.partition(".")[0]),) for alias in node.names)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        changes.update(_known(path_of(node.func.value)))


def _changed_by_call(node: ast.expr) -> Iterator[Path]:
    """What a call may change that is made for what it does."""
    call = node.value if isinstance(node, ast.Await) else node
    if isinstance(call, ast.Call):
        if isinstance(call.func, ast.Attribute):
            yield from _known(path_of(call.func.value))
        for argument in (*call.args, *[keyword.value for keyword in call.keywords]):
            yield from _known(path_of(argument))


def _known(path: Path | None) -> tuple[Path, ...]:
    return () if path is None else (path,)


def _is_path(node: ast.AST) -> bool:
    """Whether a node is an attribute of an attribute ... of a variable, and nothing else."""
    if not isinstance(node, ast.Attribute):
        return False
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
