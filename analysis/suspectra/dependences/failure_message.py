"""What only says how a test failed: it is computed before an assertion of unittest, and no reason for the failure."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from suspectra.dependences.graph import DependenceGraph
from suspectra.dependences.trace import DependenceTrace
from suspectra.program.python.points import Span
from suspectra_recorder.instrumentation.source import parse


def without_message(trace: DependenceTrace, source_of: Callable[[str], bytes | None]) -> DependenceTrace:
    """Leave out that a failure depends on the message that an assertion of unittest is given.

    The ``assert`` of Python computes its message after it has failed, so only these need it.
    """
    if trace.failure < 0 or not trace.is_test[trace.failure]:
        return trace
    site = trace.sites[trace.graph.site[trace.failure]]
    message = _message_at(source_of(site.file) or b"", site.line, site.column) if site.kind == "native" else None
    if message is None:
        return trace
    places = [(one.file, (one.line, one.column)) for one in trace.sites]
    inside = np.array([file == site.file and message[:2] <= at < message[2:] for file, at in places], bool)
    graph = trace.graph
    dropped = (graph.target == trace.failure) & inside[graph.site[graph.source]]
    start = graph.start.copy()
    start[trace.failure + 1 :] -= np.count_nonzero(dropped)
    kept = DependenceGraph(graph.site, graph.instance, start, graph.source[~dropped], graph.kind[~dropped])
    return replace(trace, graph=kept)


def _message_at(source: bytes, line: int, column: int) -> Span | None:
    """Where the message of the assertion of unittest is that begins at a place."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == (line, column):
            found = _message_of(node)
            return None if found is None else Span.from_node(found)
    return None


def _message_of(call: ast.Call) -> ast.expr | None:
    """The message that a method of unittest is given, if it is given one besides what it compares."""
    import inspect
    from unittest import TestCase

    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    method = getattr(TestCase, name, None) if name.startswith("assert") else None
    parameters = list(inspect.signature(method).parameters)[1:] if method else []
    if "msg" not in parameters:
        return None
    named = [one.value for one in call.keywords if one.arg == "msg"]
    place = parameters.index("msg")
    given = call.args[: place + 1]
    if any(isinstance(one, ast.Starred) for one in given):
        return None
    return named[0] if named else given[place] if len(given) > place else None
