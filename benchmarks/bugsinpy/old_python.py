"""A pytest plugin that gives programs of 2012 to 2020 the names that Python and pytest no longer have.

They only moved: `collections.Mapping` is `collections.abc.Mapping`, and `get_marker` is `get_closest_marker`. And each
test begins with an event loop, as it did when tests of the same process did not take it away.
"""

from __future__ import annotations

import asyncio
import collections
import collections.abc
import inspect
import types
import warnings

import pytest

for name in collections.abc.__all__:
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))
for module, old, new in (
    (inspect, "getargspec", lambda function: inspect.getfullargspec(function)[:4]),
    (asyncio, "coroutine", types.coroutine),
    (asyncio, "async", asyncio.ensure_future),
    (pytest.Item, "get_marker", pytest.Item.get_closest_marker),
):
    if not hasattr(module, old):
        setattr(module, old, new)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            asyncio.get_event_loop()
        except RuntimeError:
            asyncio.set_event_loop(asyncio.new_event_loop())
