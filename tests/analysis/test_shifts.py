"""Shifts: the difference that a value needs in all failing tests, from experiments with each."""

import datetime
import json

import pytest

from suspectra.experiments.alterations.replacing import NotedValues, ValuePlace
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.why.shifts import NeededDifference, differences, in_words, shifted

PLACE = ValuePlace("a.py", 0, "assignment", "ends", 4, 0, 4)


def tried(test, name, detail, instance=EVERY):
    passed = ExperimentOutcome.PASSED
    return Experiment(test, "value", "a.py", 4, 4, 0, name, instance, "one more", passed, detail=detail)


def noted(*texts):
    return NotedValues({PLACE: texts}, {}, ())


def dates(*days):
    return "a" + json.dumps([f"d{day}" for day in days])


def test_a_date_that_is_a_day_later_is_so_in_another_test():
    one = tried("t1", "ends[1]", "2020-07-15")
    (wanted,) = differences(one, noted(dates("2020-07-01", "2020-07-14")))
    assert wanted == NeededDifference("ends[1]", datetime.timedelta(days=1), EVERY)
    other = shifted(one, wanted, noted(dates("2020-07-01", "2020-12-31")))
    assert (other.place, other.part, other.alternate.value) == (PLACE, ("[1]",), datetime.date(2021, 1, 1))
    assert other.experiment("t2").condition == "with ends[1] = 2021-01-01"


def test_a_number_differs_at_the_time_that_was_altered():
    one = tried("t1", "ends", "7", 2)
    (wanted,) = differences(one, noted("i3", "i9"))
    assert (wanted.by, wanted.instance) == (-2, 2)
    assert shifted(one, wanted, noted("i6")) is None, "it was not executed twice"
    assert shifted(one, wanted, noted("i6", "i1")).alternate.value == -1


@pytest.mark.parametrize(("detail", "text"), [("None", "i9"), ("9", "i9"), ("7", "s7")])
def test_what_is_no_number_or_the_same_has_no_difference(detail, text):
    assert not list(differences(tried("t1", "ends", detail), noted(text)))


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (datetime.timedelta(days=-2), "2 days earlier"),
        (datetime.timedelta(days=1), "one day later"),
        (-5, "less by 5"),
        (0.5, "greater by 0.5"),
    ],
)
def test_it_is_said_in_words(by, said):
    assert in_words(by) == said
