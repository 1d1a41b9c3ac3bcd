"""The hooks of pytest that say what it is doing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suspectra_recorder.activity import COLLECTION, TEST, Activity
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins


class ActivityHooks:
    """Notes which test runs, and what is being collected."""

    def __init__(self, activity: Activity):
        self._activity = activity

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """Note what is being collected."""
        with self._activity.during(COLLECTION, collector.nodeid, str(collector.path)):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note which test runs."""
        with self._activity.during(TEST, item.nodeid, str(item.path), (item.location[1] or 0) + 1):
            yield
