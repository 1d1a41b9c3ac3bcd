"""Shifts: the difference that a value needs in all failing tests, from experiments with each."""

import datetime
import json

import pytest

from suspectra.experiments.alterations.replacing import NotedValues, ValuePlace
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.why.shifts import Shift, shift_of

PLACE = ValuePlace("a.py", 0, "assignment", "ends", 4, 0, 4)


def tried(test, name, detail, instance=EVERY):
    passed = ExperimentOutcome.PASSED
    return Experiment(test, "value", "a.py", 4, 4, 0, name, instance, "one more", passed, detail=detail)


def noted(*texts):
    return NotedValues({PLACE: texts}, {}, ())


def dates(*days):
    return "a" + json.dumps([f"d{day}" for day in days])


def test_each_test_has_its_own_value_and_all_differ_by_a_day():
    found = [tried("t1", "ends[1]", "2020-07-15"), tried("t2", "ends[1]", "2021-01-01")]
    values = {"t1": noted(dates("2020-07-01", "2020-07-14")), "t2": noted(dates("2020-07-01", "2020-12-31"))}
    shift = shift_of(found, values)
    assert shift == Shift("ends[1]", datetime.timedelta(days=1), 2)
    assert str(shift) == "Both failing tests pass if ends[1] is one day later."


def test_numbers_differ_at_the_time_that_was_altered():
    found = [tried("t1", "ends", "7", 2), tried("t2", "ends", "4", 1), tried("t2", "ends", "9", 1)]
    shift = shift_of(found, {"t1": noted("i3", "i9"), "t2": noted("i6")})
    assert str(shift) == "Both failing tests pass if ends is less by 2."


@pytest.mark.parametrize("other", [[tried("t2", "ends", "8")], [tried("t2", "ends", "None")], []])
def test_what_differs_otherwise_or_is_no_number_has_no_shift(other):
    assert shift_of([tried("t1", "ends", "7"), *other], {"t1": noted("i9"), "t2": noted("i6")}) is None


def test_without_noted_values_nothing_is_known():
    assert shift_of([tried("t1", "ends", "7")], {}) is None
