"""What changes define, use and need: which can be made without which."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from suspectra.changes.units import ChangeUnit, FileDifference, names_in
from suspectra.paths.delta_debugging import Differences
from suspectra.program.languages import is_python
from suspectra_recorder.instrumentation.source import parse

_ANYWHERE = ""  # instead of a file


@dataclass(frozen=True, eq=False)
class ChangeOrder:
    """Which changes, by their numbers, make no sense without which others.

    What uses a name that is new needs what defines it. What deletes a name needs what no longer uses it. Where the
    parameters of a function changed, all changes that mention it need each other.
    """

    needs: Sequence[frozenset[int]]  # of each change
    needed_by: Sequence[frozenset[int]]

    @classmethod
    def from_differences(
        cls,
        differences: Iterable[FileDifference],
        units: Sequence[ChangeUnit],
        more: Iterable[tuple[int, int]] = (),  # pairs of which the first needs the second
    ) -> ChangeOrder:
        """Find out from the names that both texts define and mention."""
        differences = tuple(differences)
        names = _defined(differences)
        whole = {one.path for one in differences if one.before is None or one.after is None}
        defines, uses, deletes, used, mentions = (defaultdict[tuple[str, str], set[int]](set) for _ in range(5))
        for number, unit in enumerate(units):
            before, after = names_in(unit.before), names_in(unit.after)
            own_old, own_new = ({name for name, _ in _definitions(text)} for text in _parsable(unit))
            if unit.file in whole:  # a module that is new or gone is a name, too
                module = {_module(unit.file)}
                before, after = before | module, after | module
                own_old, own_new = own_old | module, own_new | module
            if unit.moved_from:
                own_old, own_new = {_module(unit.moved_from)}, {_module(unit.file)}
                before, after = frozenset(own_old), frozenset(own_new)
            for scope in (unit.file, _ANYWHERE):
                old, new = names[scope]
                for name in after & (new.keys() - old.keys()):
                    (defines if name in own_new else uses)[scope, name].add(number)
                for name in before & (old.keys() - new.keys()):
                    (deletes if name in own_old else used)[scope, name].add(number)
                for name in (before | after) & old.keys() & new.keys():
                    if old[name] != new[name]:
                        mentions[scope, name].add(number)
        needs: list[set[int]] = [set() for _ in units]
        for (scope, name), several in uses.items():
            for number in several:
                if scope or not defines[units[number].file, name]:  # a variable of one file is seldom that of another
                    needs[number] |= defines[scope, name]
        for key, several in deletes.items():
            for number in several:
                needs[number] |= used[key]
        for several in mentions.values():
            for number in several:
                needs[number] |= several - {number}
        for one, other in more:
            needs[one].add(other)
        needed_by: list[set[int]] = [set() for _ in units]
        for number, several in enumerate(needs):
            for one in several:
                needed_by[one].add(number)
        return cls(tuple(map(frozenset, needs)), tuple(map(frozenset, needed_by)))

    def with_needed(self, made: Differences, among: Differences) -> Differences:
        """Some changes, with all that they need."""
        return _reached(made, self.needs) & among

    def together(self, made: Differences, among: Differences) -> Differences:
        """Some changes, with all that need them or that they need, and so on."""
        both = [needs | needed_by for needs, needed_by in zip(self.needs, self.needed_by, strict=True)]
        return _reached(made, both) & among

    def without_needing(self, made: Differences, left_out: Differences) -> Differences:
        """Changes without some of them, and without all that need these."""
        return made - _reached(left_out, self.needed_by)


def _reached(begin: Differences, edges: Sequence[frozenset[int]]) -> Differences:
    found, waiting = set(begin), list(begin)
    while waiting:
        more = edges[waiting.pop()] - found
        found |= more
        waiting += more
    return frozenset(found)


_Names = dict[str, set[str]]  # each with what else its users must know of it


def _defined(differences: Iterable[FileDifference]) -> dict[str, tuple[_Names, _Names]]:
    """The names that both texts of each file define, and those of the whole program."""
    found: dict[str, tuple[_Names, _Names]] = {_ANYWHERE: ({}, {})}
    for difference in differences:
        found[difference.path] = {}, {}
        if is_python(difference.path):
            for side, text in enumerate((difference.before, difference.after)):
                for name, detail in _definitions(text):
                    for scope in (difference.path, _ANYWHERE):
                        found[scope][side].setdefault(name, set()).add(detail)
                if text is not None:
                    path = difference.paths[-1 if side == 0 else 0]
                    found[_ANYWHERE][side].setdefault(_module(path), set()).add(path)
    return found


def _module(path: str) -> str:
    """The name by which a module is imported, without that of its package."""
    folder, _, name = path.removesuffix(".py").removesuffix("/__init__").rpartition("/")
    return name or folder


def _parsable(unit: ChangeUnit) -> Iterator[bytes]:
    """Both texts of a change, so that they can be parsed: without indentation, and headers with a body."""
    for text in (unit.before, unit.after):
        lines = text.splitlines()
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        code = "\n".join(line[indent:] for line in lines)
        last = next((line.rstrip() for line in reversed(code.splitlines()) if line.strip()), "")
        opens = last.endswith(":") and not last.lstrip().startswith("#")
        yield (f"{code}\n{' ' * (len(last) - len(last.lstrip()) + 1)}pass\n" if opens else code).encode()


def parsed(text: bytes | None) -> ast.Module:
    """Parse a text; what is no Python is an empty module."""
    try:
        return parse(text or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _definitions(text: bytes | None) -> Iterator[tuple[str, str]]:
    """What a text defines, each with what else its users must know of it."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, ast.dump(node.args)
        elif isinstance(node, ast.ClassDef):
            yield node.name, "class"
        elif isinstance(node, ast.arg):
            yield node.arg, ""
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, ""
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, ""
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0], ""
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name, ""
