"""Mutation operators of names: another variable, another attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.site import Change, Operator, Site
from suspectra.mutation.value_types import is_read


def _variable(site: Site) -> Iterator[Change]:
    """``a`` → ``b``, ``self.a`` → ``self.b``: another variable of the function, another attribute of the object."""
    node, parent = site.node, site.parent
    if isinstance(node, ast.Name) and is_read(node):
        is_function = isinstance(parent, ast.Call) and node is parent.func
        is_object = isinstance(parent, ast.Attribute)
        if node.id in site.variables and not is_function and not is_object and site.source.segment(node) == node.id:
            for other in site.variables.others(node):
                if not _does_nothing(parent, other):
                    yield site.source.span(node), other
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_read(node):
        own = site.own_attributes is not None and node.value.id == site.itself
        attributes = site.own_attributes if own and site.own_attributes is not None else site.attributes
        text = site.source.segment(node)
        if text.endswith(node.attr):
            base = text[: -len(node.attr)]
            yield from ((site.source.span(node), base + other) for other in attributes.others(node, node.value.id))


def _does_nothing(parent: ast.AST, name: str) -> bool:
    """Whether a value would be assigned to the variable that it comes from."""
    return isinstance(parent, ast.Assign) and any(
        isinstance(target, ast.Name) and target.id == name for target in parent.targets
    )


NAMES: dict[str, Operator] = {"variable": _variable}
"""By name."""
