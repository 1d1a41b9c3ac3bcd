"""Mutation operators of whole statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suspectra.mutation.precedence import Precedence
from suspectra.mutation.scopes import position
from suspectra.mutation.site import Change, MutationSite, Operator

_DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert, ast.Delete)
_JUMPS = (ast.Return, ast.Break, ast.Continue)
_BROAD = frozenset({"Exception", "BaseException"})
_NEVER_ADDED = (ast.Constant, ast.Compare, ast.BoolOp, ast.Lambda, ast.Dict, ast.DictComp, ast.Set, ast.SetComp)
_YIELDS = (ast.Yield, ast.YieldFrom)  # without them a generator may be a plain function


def _return_none(site: MutationSite) -> Iterator[Change]:
    """``return a`` → ``return None``."""
    node = site.node
    if isinstance(node, ast.Return) and node.value is not None:
        already = isinstance(node.value, ast.Constant) and node.value.value is None
        yield from () if already else [(site.source.span(node), "return None")]


def _deletion(site: MutationSite) -> Iterator[Change]:
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


def _jump(site: MutationSite) -> Iterator[Change]:
    """``break`` → ``continue`` and the reverse."""
    node = site.node
    if isinstance(node, (ast.Break, ast.Continue)):
        yield site.source.span(node), "continue" if isinstance(node, ast.Break) else "break"


def _handler(site: MutationSite) -> Iterator[Change]:
    """``except KeyError`` → ``except Exception``."""
    node, parent = site.node, site.parent
    is_type = isinstance(parent, ast.ExceptHandler) and node is parent.type
    if is_type and isinstance(node, ast.expr) and getattr(node, "id", "") not in _BROAD:
        yield site.put(node, "Exception", Precedence.ATOM)


def _accumulation(site: MutationSite) -> Iterator[Change]:
    """``a = b`` → ``a += b``, where the variable has a value already."""
    node = site.node
    if not isinstance(node, ast.Assign) or len(node.targets) > 1 or isinstance(node.value, _NEVER_ADDED):
        return
    target = node.targets[0]
    if isinstance(target, ast.Name) and site.variables.bound_before(target.id, position(target)):
        place = site.between(target, node.value, "=")
        if place is not None and all(getattr(part, "id", "") != target.id for part in ast.walk(node.value)):
            yield place, "+="


STATEMENTS: dict[str, Operator] = {
    "return none": _return_none,
    "deletion": _deletion,
    "jump": _jump,
    "handler": _handler,
    "accumulation": _accumulation,
}
"""By name."""
