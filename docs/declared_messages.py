"""The messages of the protocol, read from where they are declared: each type, its fields, and their texts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from suspectra_server import messages

_PRIMITIVES = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "None": "null"}


@dataclass(frozen=True)
class DeclaredField:
    """A field of a message, or a value of an enumeration."""

    name: str
    type: str  # as TypeScript writes it
    text: str


@dataclass(frozen=True)
class DeclaredType:
    """A message, or a name for another type."""

    name: str
    text: str
    fields: tuple[DeclaredField, ...] = ()  # its own, without those of the message that it extends
    extends: str = ""
    alias: str = ""  # the type that it is a name for, as TypeScript writes it


def declared_types() -> list[DeclaredType]:
    """All types of messages, in the order in which they are declared."""
    tree = ast.parse(Path(messages.__file__).read_text("utf-8"))
    found: list[DeclaredType] = []
    for statement, text in _with_texts(tree.body):
        if isinstance(statement, ast.AnnAssign):
            found.append(DeclaredType(_name(statement.target), text, alias=_type(statement.value)))
        elif isinstance(statement, ast.ClassDef):
            found.append(_from_class(statement))
    return found


def _from_class(declared: ast.ClassDef) -> DeclaredType:
    text = " ".join((ast.get_docstring(declared) or "").split())
    fields = tuple(
        DeclaredField(_name(one.target), _type(one.annotation), text)
        if isinstance(one, ast.AnnAssign)
        else DeclaredField(_name(one.targets[0]), _type(one.value), text)
        for one, text in _with_texts(declared.body)
        if isinstance(one, ast.AnnAssign | ast.Assign)
    )
    base = _name(declared.bases[-1])
    if base == "Enum":
        return DeclaredType(declared.name, text, fields, alias=" | ".join(field.type for field in fields))
    return DeclaredType(declared.name, text, fields, extends="" if base == "TypedDict" else base)


def _with_texts(body: Iterable[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement with the string below it, on one line."""
    body = list(body)
    for statement, below in zip(body, [*body[1:], None], strict=True):
        value = below.value if isinstance(below, ast.Expr) else None
        text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
        yield statement, " ".join(text.split())


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def _type(node: ast.expr | None) -> str:
    """A type as TypeScript writes it."""
    if isinstance(node, ast.BinOp):
        return f"{_type(node.left)} | {_type(node.right)}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return f"'{node.value}'"
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        types = [_type(one) for one in inner]
        match _name(node.value):
            case "list":
                return f"({types[0]})[]" if "|" in types[0] else f"{types[0]}[]"
            case "dict":
                return f"Record<{', '.join(types)}>"
            case "Literal":
                return " | ".join(types)
    if isinstance(node, ast.Name | ast.Attribute | ast.Constant):
        return _PRIMITIVES.get(_name(node), _name(node))
    raise ValueError(f"no type of a message: {ast.unparse(node) if node else node}")
