"""What a runner executes to explain why a test failed belongs to no test."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra.selection.selection import select

# the comment names what a test has executed that ran the line
APP = """
    import gates

    class Price:
        def __init__(self, euros):
            self.euros = euros  # init

        def __eq__(self, other):
            return self.euros == other.euros  # eq

        def __repr__(self):
            import lazy
            return f"{self.euros} euros"  # repr

        def is_cheap(self):
            return False  # cheap

    class Proxy:
        def __getattr__(self, name):
            raise AttributeError(name)  # getattr

    class Slow:
        def __repr__(self):
            gates.explaining.set()  # slow
            return str(gates.worked.wait(60))  # slow

    class Refused(Exception):
        def __str__(self):
            return "refused"  # str

    def refuse(price):
        raise Refused(price)  # refuse

    def work():
        gates.worked.set()  # work

    def report():
        return "reported"  # report
"""
GATES = "import threading\nexplaining, worked = threading.Event(), threading.Event()"
CONFTEST = """
    import pytest
    from app import report

    pytest_plugins = ["pytester"]

    def pytest_assertrepr_compare(left):
        return [report(), repr(left)]

    def pytest_runtest_makereport(call):
        if call.excinfo:
            report()

    def pytest_runtest_logreport(report):
        if report.failed:
            globals()["report"]()

    def pytest_exception_interact():
        report()
"""
PYTEST = """
    import threading
    from unittest.mock import Mock
    import pytest
    from app import Price, Proxy, Slow, refuse, work

    PROXY = Proxy()

    def test_passes():  # init eq
        assert Price(1) == Price(1)

    def test_comparison():  # init eq
        assert Price(1) == Price(2)

    def test_list():  # init eq
        assert [Price(1)] == [Price(2)]

    def test_local():  # init
        price = Price(1)
        assert price is None

    def test_global():
        assert PROXY is None

    def test_call():  # init cheap
        assert Price(1).is_cheap()

    def test_message():  # init
        assert False, Price(1)

    def test_own_message():  # init repr
        assert False, repr(Price(1))

    def test_calls_repr():  # init repr
        assert repr(Price(1)) == "free"

    def test_raises():  # init refuse
        refuse(Price(1))

    def test_expects_a_message():  # init eq
        with pytest.raises(AssertionError, match="1 euros"):
            assert Price(1) == Price(2)

    def test_mock():  # init eq
        mock = Mock()
        mock(Price(1))
        mock.assert_called_with(Price(2))

    def test_mock_that_is_called():  # init
        mock = Mock()
        mock(Price(1))
        mock.assert_not_called()

    def test_thread():  # work
        import gates
        thread = threading.Thread(target=lambda: gates.explaining.wait(60) and work())
        thread.start()
        try:
            assert Slow() is None
        finally:
            thread.join()

    def test_runs_pytest(pytester):  # init eq repr
        pytester.makepyfile("from app import Price\\ndef test_it():\\n    assert Price(1) == Price(2)")
        pytester.runpytest_inprocess("-p", "no:suspectra").assert_outcomes(failed=1)
"""
UNITTEST = """
    import unittest
    from app import Price

    class TestPrice(unittest.TestCase):
        def test_equal(self):  # init eq
            self.assertEqual(Price(1), Price(2))

        def test_lists(self):  # init eq
            self.assertEqual([Price(1)], [Price(2)])

        def test_dicts(self):  # init eq
            self.assertEqual({1: Price(1)}, {1: Price(2)})

        def test_none(self):  # init
            self.assertIsNone(Price(1))

        def test_error(self):  # init refuse
            from app import refuse
            refuse(Price(1))

        def test_fails(self):  # init repr
            self.fail(repr(Price(1)))
"""
MONITORING = [("--recorder", "monitoring")] * (sys.version_info >= (3, 12))


def record(folder, options, *command):
    files = {"app.py": APP, "gates.py": GATES, "lazy.py": "import app\napp.report()", "conftest.py": CONFTEST}
    files |= {"test_app.py": PYTEST, "test_price.py": UNITTEST}
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text).strip("\n") + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "suspectra", "record", *options, "--", sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 1, done.stdout + done.stderr


def executed(folder):
    """By test what it has executed."""
    lines = textwrap.dedent(APP).strip("\n").splitlines()
    evidence = RecordingSource(folder).read()
    assert evidence.problems == ()
    elements, found = evidence.elements, {}
    for test, row in zip(evidence.tests, evidence.rows, strict=True):
        places = [elements.location(i) for i in row.tolist()]
        found[test.name.rpartition("::")[2]] = {
            lines[place.line - 1].partition("# ")[2] for place in places if place.file == "app.py"
        } - {""}
    return found


def expected(*sources):
    found = re.findall(r"^ *def (test_\w+)\(.*?\):(.*)$", "\n".join(sources), re.MULTILINE)
    return {name: set(tags.partition("# ")[2].split()) for name, tags in found}


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--counts",), *MONITORING])
def test_explanations_of_pytest_belong_to_no_test(tmp_path, options):
    record(tmp_path, options, "pytest", "-q", "--showlocals")
    assert executed(tmp_path) == expected(PYTEST, UNITTEST)
    app = tmp_path / "app.py"
    app.write_text(app.read_text().replace(' euros"', ' dollars"'))
    reached = {"test_app.py::test_expects_a_message", "test_app.py::test_runs_pytest"}
    assert set(select(str(tmp_path)).affected) == reached


def test_explanations_of_unittest_belong_to_no_test(tmp_path):
    record(tmp_path, (), "unittest", "--locals", "test_price")
    assert executed(tmp_path) == expected(UNITTEST)
