"""The lines of runs as they are noted, in order and with their calls; the program must stay as it is."""

import sys

import pytest

from suspectra.paths.searches.executed_lines import as_text, common_lines, lines_of
from suspectra_recorder.experiments.decisions import lines as recorder
from suspectra_recorder.experiments.decisions.lines import NotingLines

SOURCE = """\
def total(prices, limit):
    result = sum(
        numbers(prices)
    )
    try:
        check(result, limit)
    except ValueError:
        result = limit
    return result


def numbers(prices):
    for price in prices:
        yield price


def check(value, limit):
    if value > limit:
        raise ValueError(value)
"""


@pytest.fixture(scope="module")
def total():
    names = {}
    exec(compile(SOURCE, "/work/cart.py", "exec"), names)
    return names["total"]


def noted(call, *arguments):
    kind = NotingLines({"/work/cart.py": "cart.py"}.get)
    kind.apply({"kind": "lines"})
    try:
        call(*arguments)
    finally:
        found = kind.take_back()
    return lines_of({"outcome": "passed", "exception": "", "seconds": 0.0, **found})


def test_lines_come_in_their_order_with_their_calls(total):
    before = sys.gettrace()
    small, large = noted(total, [1, 2], 5), noted(total, [1, 2], 2)
    assert sys.gettrace() is before
    assert {one.location.file for one in small} == {"cart.py"}
    pairs = [(one.location.line, one.depth) for one in large]
    loop = [(13, 2), (14, 2), (13, 2), (14, 2), (13, 2)]
    assert [pair for pair in pairs if pair[1] == 2] == [*loop, (18, 2), (19, 2)]
    assert pairs[-4:] == [(19, 2), (7, 1), (8, 1), (9, 1)]
    assert large[common_lines(small, large) - 1].location.line == 18
    assert small[common_lines(small, large)].location.line == 9
    lines = SOURCE.splitlines()
    text = as_text(large, lambda file, line: lines[line - 1]).splitlines()
    assert text[-3:] == [
        "    except ValueError:  # cart.py:7",
        "        result = limit  # cart.py:8",
        "    return result  # cart.py:9",
    ]
    assert "            raise ValueError(value)  # cart.py:19" in text


def test_of_a_long_run_the_first_lines_are_kept(total, monkeypatch):
    monkeypatch.setattr(recorder, "MAX_LINES", 9)
    assert noted(total, range(100), 2) == noted(total, range(200), 2)
    assert len(noted(total, range(100), 2)) == 9
