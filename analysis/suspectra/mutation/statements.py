"""Mutation operators of whole statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.site import Change, Operator, Site

_DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert, ast.Delete)
_JUMPS = (ast.Return, ast.Break, ast.Continue)
_YIELDS = (ast.Yield, ast.YieldFrom)  # without them a generator may be a plain function


def _return_none(site: Site) -> Iterator[Change]:
    """``return a`` → ``return None``."""
    node = site.node
    if isinstance(node, ast.Return) and node.value is not None:
        already = isinstance(node.value, ast.Constant) and node.value.value is None
        yield from () if already else [(site.source.span(node), "return None")]


def _deletion(site: Site) -> Iterator[Change]:
    """A statement → ``pass``, unless nothing would follow a jump anyway."""
    node = site.node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return
    if (isinstance(node, _JUMPS) and site.last) or any(isinstance(part, _YIELDS) for part in ast.walk(node)):
        return
    if isinstance(node, (*_DELETED, *_JUMPS)):
        yield site.source.span(node), "pass"


STATEMENTS: dict[str, Operator] = {"return none": _return_none, "deletion": _deletion}
"""By name."""
