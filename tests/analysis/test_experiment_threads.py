"""A failing test whose threads take turns in another way each time, run again in real processes of pytest."""

import itertools
import sys
import time

from suspectra.experiments.alterations.switching import switches
from suspectra.experiments.repeated_tests import FailingTest, RepeatedTests
from suspectra.runs.experiment import EVERY

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
THREADS = """
import sys
import threading

from cart import price


def test_in_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # they take turns in another way each time
    found = []
    threads = [threading.Thread(target=lambda: found.extend(price(n) for n in range(300))) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        found += [price(n) for n in range(300)]
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert max(found) == 300
"""


def test_threads_may_take_turns_in_any_order(tmp_path):
    (tmp_path / "cart.py").write_text(
        "def price(n):\n    if n > 299:\n        return 300\n    return n if n % 3 else n - 1\n"
    )
    (tmp_path / "test_cart.py").write_text(THREADS)
    test = FailingTest("test_cart.py::test_in_threads", "test_cart.py")
    tests = RepeatedTests(PYTEST, tmp_path, [test])
    try:
        repeated = tests[test.name]
        assert len({*repeated.trace.threads.tolist()}) == 3
        every_time = itertools.takewhile(lambda switch: switch.instance == EVERY, switches(repeated.trace))
        made = list(repeated.experiments(every_time, end=time.monotonic() + 120))
    finally:
        tests.close()
    assert [(one.line, one.action) for one in made if one.outcome.repairs] == [(2, "true")]
