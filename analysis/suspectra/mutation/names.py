"""Mutation operators of names: another variable, another attribute, another key."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.precedence import Precedence
from suspectra.mutation.scopes import position
from suspectra.mutation.site import Change, MutationSite, Operator
from suspectra.mutation.value_types import is_read

_CONSTANT = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.BitXor, ast.BitAnd, ast.BitOr)
"""Operators with which two equal operands say nothing, or no more than one."""


def _variable(site: MutationSite) -> Iterator[Change]:
    """``a`` → ``b``, ``self.a`` → ``self.b``, ``a`` → ``self.a``: another variable or attribute."""
    node = site.node
    if isinstance(node, (ast.Name, ast.Attribute)) and is_read(node):
        for text in _others(site, node):
            if not _says_nothing(site, text):
                yield site.source.span(node), text


def _others(site: MutationSite, node: ast.Name | ast.Attribute) -> Iterator[str]:
    """What may have been meant where a name is read."""
    parent, text = site.parent, site.source.segment(node)
    if isinstance(node, ast.Name):
        is_function = isinstance(parent, ast.Call) and node is parent.func
        is_object = isinstance(parent, ast.Attribute)
        if node.id in site.variables and not is_function and not is_object and text == node.id:
            yield from site.variables.others(node)
            if site.own_attributes is not None and site.own_attributes.read(node.id, site.itself):
                yield f"{site.itself}.{node.id}"
    elif isinstance(node.value, ast.Name) and text.endswith(node.attr):
        own = site.own_attributes is not None and node.value.id == site.itself
        attributes = site.own_attributes if own and site.own_attributes is not None else site.attributes
        base = text[: -len(node.attr)]
        yield from (base + other for other in attributes.others(node, node.value.id))
        is_function = isinstance(parent, ast.Call) and node is parent.func
        if own and not is_function and site.variables.bound_before(node.attr, position(node)):
            yield node.attr


def _says_nothing(site: MutationSite, text: str) -> bool:
    """Whether a value would be assigned to where it comes from, or be an operand beside itself."""
    node, parent = site.node, site.parent
    beside: list[ast.expr] = []
    if isinstance(parent, ast.Assign):
        beside = parent.targets
    elif isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
        beside = [parent.target]
    elif isinstance(parent, ast.Compare):
        beside = [parent.left, *parent.comparators] if len(parent.ops) == 1 else []
    elif isinstance(parent, ast.BoolOp):
        beside = parent.values
    elif isinstance(parent, ast.BinOp) and isinstance(parent.op, _CONSTANT):
        beside = [parent.left, parent.right]
    return any(one is not node and site.source.segment(one) == text for one in beside)


def _key(site: MutationSite) -> Iterator[Change]:
    """``a["x"]`` → ``a["y"]``: another key that the function uses."""
    node, parent = site.node, site.parent
    is_key = isinstance(parent, ast.Subscript) and node is parent.slice
    if is_key and isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from (site.put(node, repr(key), Precedence.ATOM) for key in site.keys.others(node))


NAMES: dict[str, Operator] = {"variable": _variable, "key": _key}
"""By name."""
