"""The kind of run that is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType

import pytest

from suspectra_recorder.experiments.messages import Findings, RunRequest, TracedRunAnswer
from suspectra_recorder.experiments.run_kind import RunKind
from suspectra_recorder.experiments.traces.traced_calls import TracedState
from suspectra_recorder.experiments.traces.tracer import Tracer
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys

__builtins__ = library_references.builtins

_STARTS = ("subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec")


class TracingDependences(RunKind):
    """The program as it is, with its dependences: see `RunRequest`."""

    alters = False

    def __init__(self, is_test: Callable[[str], bool]):
        self.instrument = self._tracer = Tracer(is_test)
        self.plugin = self
        self._state: TracedState | None = None
        self._failure, self._phase = -1, ""
        self._started: list[str] | None = None
        self._descriptor = -1

    def begin(self) -> None:
        """Trace what is imported: a test may depend on it."""
        self._tracer.trace_imports()

    def prepare(self) -> None:
        """Trace no longer, until a test runs."""
        self._tracer.rest()

    def apply(self, job: RunRequest) -> None:
        """Trace from now on."""
        self._failure, self._phase = -1, ""
        # what other processes execute is not traced, and whoever asks is told so
        self._watch_processes()
        self._descriptor = os.open(job["columns"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        # JSON has lists
        only = [(path, line) for path, line in job["only"]] if "only" in job else None
        self._state = self._tracer.start(self._descriptor, only, job["most"])

    def _watch_processes(self) -> None:
        """Note which processes are started. There is no way to take this back, so it is done once for a process."""
        if self._started is None:
            started: list[str] = []

            def hook(event: str, arguments: tuple[object, ...]) -> None:
                if event in _STARTS:
                    started.append(event)

            sys.addaudithook(hook)
            self._started = started
        self._started.clear()

    @property
    def traces(self) -> bool:
        """Whether a run is being traced."""
        return self._state is not None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Keep where the exception that ends the test came from."""
        yield  # pytest's plugin for unittest says first what failed
        if self._state is not None and call.excinfo is not None and not self._phase:
            error = call.excinfo.value
            trace = self._inside(call.excinfo.tb)
            self._failure = self._state.origins.for_exception(error, trace)
            self._phase = str(call.when)
            if self._failure < 0 and trace is not None:  # that of a subtest, which goes on
                self._failure = self._state.swallowed(error, trace)

    def _inside(self, trace: TracebackType | None) -> TracebackType | None:
        """The innermost part of a traceback in traced code."""
        found, paths = None, tuple(f"/{source.path}" for source in self._tracer.sources)
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.replace(os.sep, "/").endswith(paths):
                found = trace
            trace = trace.tb_next
        return found

    def take_back(self) -> Findings:
        """The places of the nodes, their texts, and what is not in the trace."""
        self._tracer.stop()
        state = self._state
        assert state is not None
        columns = state.columns
        # the file is read as soon as the answer has come
        columns.flush()
        os.close(self._descriptor)
        self._state = None
        traced: TracedRunAnswer = {
            "nodes": columns.count,
            "imported": columns.imported,
            "left_out_imports": self._tracer.left_out_imports,
            "full": columns.full,
            "texts": columns.texts,
            "failure": self._failure,
            "phase": self._phase,
            "threads": len(set(state.threads)),
            "processes": sorted(set(self._started or ())),
            "sources": [source.table for source in self._tracer.sources if not columns.used.isdisjoint(source.numbers)],
        }
        return {"dependences": traced}
