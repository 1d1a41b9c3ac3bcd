"""The recorder on sys.monitoring records what probes record."""

import ctypes
import gc
import operator
import re
import signal
import sys
import threading
import types
from collections import deque
from functools import partial
from pathlib import Path

import pytest

from suspectra_recorder.instrumentation.cell_constants import with_cells
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.instrumentation.monitoring import Monitor, unavailable
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.probe_choice import choose

FIXTURES = Path(__file__).parents[1] / "fixtures"
CELLS = "__suspectra_monitoring_cells__"

MONITORING = sys.version_info >= (3, 12)


def sources():
    paths = [*sorted((FIXTURES / "recording" / "zoo").glob("*.py")), FIXTURES / "python_source_zoo.py"]
    needed = {path: path.stem.partition("_py3")[2] for path in paths}
    return [path for path, minor in needed.items() if not minor or sys.version_info >= (3, int(minor))]


def harvests(path, monitor=None):
    """The cells set while a source is imported, and by each of its cases."""
    tree, module_map = instrument(path.read_bytes(), str(path), CELLS)
    code = compile(tree, str(path), "exec", dont_inherit=True)
    file = LoadedFile(path.name, "", [0] * module_map.cells, b"")
    code = with_cells(code, CELLS, file) if monitor is None else monitor.watch(code, CELLS, file)
    found = {}

    def harvest(name):
        found[name] = [cell for cell, value in enumerate(file.cells) if value]
        file.cells[:] = [0] * len(file.cells)
        if monitor is not None:
            monitor.rearm()

    module = types.ModuleType("zoo")
    exec(code, module.__dict__)
    harvest("import")
    for name in [name for name in vars(module) if name.startswith("case_")] * 2:
        getattr(module, name)()
        harvest(name)
    return found


def test_it_says_why_it_is_unavailable():
    if not MONITORING:
        assert re.fullmatch(r"Python 3\.1[01] has no sys.monitoring", unavailable())
        with pytest.raises(RuntimeError, match="has no sys"):
            Monitor()
        return
    assert unavailable() == ""
    monitor = Monitor()
    try:
        assert unavailable() == "sys.monitoring is in use by suspectra"
        with pytest.raises(RuntimeError, match="is in use by suspectra"):
            Monitor()
    finally:
        monitor.close()
    assert unavailable() == ""


if MONITORING:

    @pytest.fixture
    def monitor():
        monitor = Monitor()
        yield monitor
        monitor.close()

    def test_it_leaves_the_numbers_to_the_tools_that_want_them(monitor):
        for number in (0, 1, 2, 3, 5):  # a debugger, coverage, a profiler, Hypothesis and an optimizer
            sys.monitoring.use_tool_id(number, "another")
            sys.monitoring.free_tool_id(number)

    def test_what_another_tool_has_is_not_taken(tmp_path):
        sys.monitoring.use_tool_id(4, "another")
        try:
            choice = choose("monitoring", str(tmp_path), counting=False)
        finally:
            sys.monitoring.free_tool_id(4)
        assert choice == (False, "recording by probes: sys.monitoring is in use by another")

    @pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
    def test_the_same_cells_are_set_case_by_case(path, monitor):
        assert harvests(path, monitor) == harvests(path)

    class Cells(list):
        """Cells that count how often one of them is set."""

        stores = 0

        def __setitem__(self, place, value):
            self.stores += isinstance(place, int)
            super().__setitem__(place, value)

    def load(source, monitor):
        """The names of a module, and its cells."""
        tree, module_map = instrument(source.encode(), "generated.py", CELLS)
        file = LoadedFile("generated.py", "", Cells([0] * module_map.cells), b"")
        names = {}
        exec(monitor.watch(compile(tree, "generated.py", "exec", dont_inherit=True), CELLS, file), names)
        file.cells[:] = [0] * module_map.cells
        monitor.rearm()
        file.cells.stores = 0
        return names, file.cells

    def test_a_probe_is_reported_once_and_again_when_asked(monitor):
        source = "def f(n):\n    t = 0\n    for i in range(n):\n        if i % 2:\n            t += i\n    return t\n"
        names, cells = load(source, monitor)
        for _ in range(2):
            names["f"](1000)
            names["f"](1000)
            assert cells.stores == sum(cells) == 5
            monitor.rearm()
            cells[:] = [0] * len(cells)
            cells.stores = 0
        names["f"](0)
        assert sum(cells) == 2

    def test_many_constants_and_names(monitor):
        lines = [f"    x = name_{i} = {i + 1000}.5 if n else f(n)" for i in range(700)]
        names, cells = load("\n".join(["def f(n):", *lines, "    return x", ""]), monitor)
        assert names["f"](1) == 1699.5
        assert sum(cells) == cells.stores == 701

    def test_copied_generators_are_recorded(monitor):
        source = "import types\n@types.coroutine\ndef f():\n    yield 1\n    yield 2\n"
        names, cells = load(source, monitor)
        assert list(names["f"]()) == [1, 2]
        assert sum(cells) == 2

    def test_code_that_is_gone_is_forgotten(monitor):
        names, cells = load("def f():\n    return 1\n", monitor)
        names["f"]()
        names.clear()
        gc.collect()
        monitor.rearm()
        names, cells = load("def g():\n    return 1\n", monitor)
        names["g"]()
        assert sum(cells) == 1

    def test_a_signal_that_comes_while_code_goes_is_heard(monitor):
        class Alarm(Exception):
            pass

        def ring(*_):
            raise Alarm

        names, _ = load("def f():\n    return 1\n", monitor)
        former = signal.signal(signal.SIGUSR1, ring)
        # nothing of Python runs between the signal and the end of the code
        both = [partial(ctypes.pythonapi.PyErr_SetInterruptEx, signal.SIGUSR1), names.clear]

        def run():
            deque(map(operator.call, both), maxlen=0)
            load("", monitor)  # Python looks for signals at every call

        try:
            with pytest.raises(Alarm):
                run()
        finally:
            signal.signal(signal.SIGUSR1, former)
        assert not names
        load("def g():\n    return 1\n", monitor)
        assert len(monitor._watched) == 2  # the module and g

    def test_all_threads_are_watched(monitor):
        names, cells = load("def f(n):\n    if n:\n        return 1\n    return 2\n", monitor)
        threads = [threading.Thread(target=names["f"], args=(n,)) for n in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(cells) == 3

    def test_watched_code_runs_on_when_nobody_watches(monitor):
        names, cells = load("def f():\n    return 1\n", monitor)
        monitor.close()
        assert names["f"]() == 1
        assert sum(cells) == 0
