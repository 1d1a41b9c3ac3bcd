"""Calls between statements of Python, by name."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from suspectra.program import Program
from suspectra.program.calls import StatementCalls
from suspectra.spectrum import Elements, Function, Spectrum

SOURCE = b"""\
class Cart:
    def __init__(self):
        self.items = []
    def total(self):
        return shipping(self) + len(self.items)
    def update(self):
        return 0

def shipping(cart):
    return helper(1)

def helper(x):
    return x

def main():
    cart = Cart()
    {}.update()
    return cart.total() or unknown()
"""
LINES = [1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 13, 15, 16, 17, 18]
FUNCTIONS = {3: 0, 5: 1, 7: 2, 10: 3, 13: 4, 16: 5, 17: 5, 18: 5}
NAMES = ["Cart.__init__", "Cart.total", "Cart.update", "shipping", "helper", "main"]


def spectrum_of(*runs):
    line = np.array(LINES, np.int32)
    function = np.array([FUNCTIONS.get(at, -1) for at in LINES], np.int32)
    functions = tuple(Function(0, name, 1, 18) for name in NAMES)
    elements = Elements(("shop.py",), np.zeros(len(line), np.int32), line, line, function, functions)
    rows = tuple(np.array(sorted(LINES.index(at) for at in run), np.int32) for run in runs)
    return Spectrum(
        tuple(f"t{i}" for i in range(len(runs))), np.ones(len(runs), bool), elements, rows, np.ones(len(line), bool)
    )


def calls_between(*given):
    return StatementCalls.from_program(*given).pairs


def lines(pairs):
    return [(LINES[x], LINES[y]) for x, y in pairs.tolist()]


def program(data=SOURCE, digest=None):
    return Program((SimpleNamespace(path="shop.py", digest=digest),), source_of=lambda path: data)


def test_calls_that_tests_made():
    everything = spectrum_of(LINES)
    # {}.update() may be any update
    assert lines(calls_between(everything, program())) == [(5, 10), (10, 13), (16, 3), (18, 5)]


def test_both_ends_in_one_test():
    apart = spectrum_of([5, 16, 18], [10, 13])
    assert lines(calls_between(apart, program())) == [(10, 13), (18, 5)]


@pytest.mark.parametrize("data", [None, b"def (", b"\x00", b"", b"(" * 5000])
def test_sources_that_say_nothing(data):
    assert calls_between(spectrum_of(LINES), program(data)).tolist() == []


def test_only_of_sources_as_they_were_run():
    spectrum = spectrum_of(LINES)
    assert len(calls_between(spectrum, program(digest=hashlib.sha256(SOURCE).hexdigest()))) == 4
    assert len(calls_between(spectrum, program(digest="0" * 64))) == 0
    assert len(calls_between(spectrum, None)) == 0


def test_two_functions_of_one_name_are_not_distinguished():
    spectrum = spectrum_of(LINES)
    spectrum.elements.functions[4].__dict__["name"] = "shipping"
    assert lines(calls_between(spectrum, program())) == [(16, 3), (18, 5)]


def test_only_files_whose_calls_are_wanted_are_read():
    read = []

    def source_of(path):
        read.append(path)
        return SOURCE

    of_shop = Program((SimpleNamespace(path="shop.py", digest=None),), source_of=source_of)
    spectrum = spectrum_of(LINES)
    every = StatementCalls.from_program(spectrum, of_shop).pairs
    assert StatementCalls.from_program(spectrum, of_shop, files=["shop.py"]).pairs.tolist() == every.tolist() != []
    read.clear()
    assert not len(StatementCalls.from_program(spectrum, of_shop, files=["other.py"]).pairs)
    assert read == ["other.py"] or read == []
