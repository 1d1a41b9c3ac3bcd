"""What a failing test depends on that ran while modules were imported, by real processes of pytest."""

import json
import subprocess
import sys

import numpy as np
import pytest

from suspectra.causes.failing_run import constants, failing_run, points_of
from suspectra.dependences.slices import backward
from suspectra.experiments.dependences import KIND, trace_dependences
from suspectra.experiments.machine import Machine
from suspectra_recorder.experiments.traces.trace_columns import MAX_IMPORTED

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:pytest-lsp")

# what a test fails with; the lines of the program in its slice that are executed at import
TESTS = {
    "a constant": ("RATE = 2", "def f():\n    return RATE", "1"),
    "one that was bound again": ("RATE = 2\nRATE = 3\nOTHER = 4", "def f():\n    return RATE", "2"),
    "one that was added to": ("RATE = 2\nRATE += 3", "def f():\n    return RATE", "1 2"),
    "a table": ("RATES = {}\nRATES['a'] = 1\nRATES['b'] = 2", "def f():\n    return RATES['b']", "1 3"),
    "what a call has put into it": (
        "RULES = []\ndef add(rule):\n    RULES.append(rule)\nadd(3)",
        "def f():\n    return RULES[0]",
        "1 3 4",
    ),
    "two of one statement": ("A, B = 1, 2", "def f():\n    return A", "1"),
    "a decision": ("import sys\nRATE = 1\nif sys:\n    RATE = 2", "def f():\n    return RATE", "3 4"),
    "a class": ("class Cart:\n    limit = 10\n    other = 11", "def f():\n    return Cart.limit", "2"),
    "an instance": ("class Cart:\n    limit = 10\n    other = 11", "def f():\n    return Cart().limit", "2"),
    "a class that inherits": (
        "class Base:\n    limit = 10\nclass Cart(Base):\n    other = Base.limit",
        "def f():\n    return Cart().limit + Cart().other",
        "2 4",
    ),
    "a class inside": ("class A:\n    one = 1\n    class B:\n        two = 2", "def f():\n    return A.B.two", "4"),
    "a field with a default": (
        "from dataclasses import dataclass\n@dataclass\nclass Cart:\n    name: str\n    limit: int = 10",
        "def f():\n    return Cart('a').limit",
        "3 5",
    ),
    "a default": ("X = 5\ndef g(a, b=X, *, c=7):\n    return a + b", "def f():\n    return g(1)", "1 2"),
    "a default that is not used": ("def g(a, b=6):\n    return a + b", "def f():\n    return g(1, 2)", ""),
    "a decorator": (
        "def twice(function):\n    return lambda: 2 * function()\n@twice\ndef g():\n    return 1",
        "def f():\n    return g()",
        "2 4",
    ),
    "a function, which is no value": ("def g():\n    return 1\nimport os", "def f():\n    return g()", ""),
    "another module": ("from rates import LOW, HIGH", "def f():\n    return LOW", "1 rates.py:1"),
    "another module, under another name": ("from rates import LOW as L", "def f():\n    return L", "1 rates.py:1"),
    "an attribute of a module": ("import rates", "def f():\n    return rates.HIGH", "rates.py:2"),
    "a module that a function imports from": (
        "",
        "def f():\n    from rates import HIGH\n    return HIGH",
        "rates.py:2",
    ),
    "a module of a package": ("from package.inner import DEEP", "def f():\n    return DEEP", "1 package/inner.py:1"),
    "a module beside it": (
        "from package.beside import DEEPER",
        "def f():\n    return DEEPER",
        "1 package/beside.py:1-2 package/inner.py:1",
    ),
}
OTHERS = {
    "rates.py": "LOW = 1\nHIGH = 2\n",
    "package/__init__.py": "",
    "package/inner.py": "DEEP = 3\n",
    "package/beside.py": "from .inner import DEEP\nDEEPER = DEEP + 1\n",
}
NAMES = {text: f"test_{number}" for number, text in enumerate(TESTS)}


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A machine with a failing test for each program."""
    folder = tmp_path_factory.mktemp("imported")
    tests = ""
    for number, (head, function, _) in enumerate(TESTS.values()):
        write(folder, {f"program_{number}.py": f"{head}\n\n\n{function}\n"})
        tests += f"def test_{number}():\n    import program_{number}\n    assert program_{number}.f() == 'right'\n\n\n"
        tests = f"import program_{number}\n{tests}"
    write(folder, {"pytest.ini": "[pytest]\npythonpath = .\n", "test_all.py": tests, **OTHERS})
    names = [f"test_all.py::{name}" for name in NAMES.values()]
    with Machine(PYTEST, folder, "test_all.py", names, (KIND,)) as machine:
        yield machine


def trace_of(machine, text):
    return trace_dependences(machine, f"test_all.py::{NAMES[text]}")


@pytest.mark.parametrize("text", TESTS)
def test_a_slice_holds_what_ran_at_import(machine, text):
    trace = trace_of(machine, text)
    sliced = backward(trace)
    at_import = sliced.members & (trace.graph.instance == 0) & ~trace.is_test
    found = set()
    for node in np.flatnonzero(at_import).tolist():
        step = sliced.step(node)
        if step.kind != "entry":
            found.add((step.file if "program" not in step.file else "", step.line))
    expected = set()
    for word in TESTS[text][2].split():
        file, _, lines = word.rpartition(":")
        first, _, last = lines.partition("-")
        expected |= {(file, line) for line in range(int(first), int(last or first) + 1)}
    assert found == expected
    assert not trace.left_out


def test_no_alteration_reaches_what_ran_at_import(machine):
    trace = trace_of(machine, "a default")
    at_import = np.flatnonzero(trace.graph.instance == 0)
    assert len(at_import)
    assert not set(points_of(trace)) & set(at_import.tolist())
    run = failing_run(trace, lambda path: None)
    assert run.is_fixed[at_import].all()
    assert not (run.graph.instance[run.graph.source] == 0).any(), "the search for causes does not come there"
    assert not constants(trace, lambda file, line: True)[at_import].any()


def test_instances_are_those_of_the_run(machine):
    """A function that was called at import, and again by the test: the number is that of altered runs."""
    trace = trace_of(machine, "what a call has put into it")
    assert set(trace.graph.instance.tolist()) == {0, 1}


@pytest.mark.slow
def test_too_much_at_import_is_left_out_and_said(tmp_path):
    rounds = MAX_IMPORTED
    write(
        tmp_path,
        {
            "big.py": f"COUNT = 0\nwhile COUNT < {rounds}:\n    COUNT += 1\n\n\ndef f():\n    return COUNT\n",
            "test_big.py": "from big import f\n\n\ndef test_f():\n    assert f() == 0\n",
        },
    )
    with Machine(PYTEST, tmp_path, "test_big.py", ["test_big.py::test_f"], (KIND,)) as machine:
        trace = trace_dependences(machine, "test_big.py::test_f")
    assert trace.left_out == ("What ran while modules were imported is left out, since it is too long.",)
    assert backward(trace).lines(tests=False) == {"big.py": [7]}


@pytest.mark.slow
def test_the_command_says_what_ran_at_import(tmp_path):
    write(
        tmp_path,
        {
            "tax.py": "RATES = {}\nRATES['books'] = 0.7\n\n\ndef tax(kind):\n    return 100 * RATES[kind]\n",
            "test_tax.py": "from tax import tax\n\n\ndef test_books():\n    assert tax('books') == 7\n",
        },
    )
    suspectra = [sys.executable, "-m", "suspectra"]
    subprocess.run([*suspectra, "record", "--", *PYTEST], cwd=tmp_path, capture_output=True, check=False)
    sliced = [*suspectra, "slice", "--failure"]
    done = subprocess.run(sliced, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "tax.py:2  RATES['books'] = 0.7  (at import) → 0.7" in done.stdout
    done = subprocess.run([*sliced, "--format", "json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    found = found[0] if isinstance(found, list) else found
    assert found["lines"]["tax.py"] == [1, 2, 6]
    assert '"line": 2, "end_line": 2' in done.stdout.replace("\n", " ") or '"instance": 0' in done.stdout
    done = subprocess.run([*sliced, "--format", "svg"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "tax.py:2  at import" in done.stdout
