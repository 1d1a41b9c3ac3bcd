"""The order of experiments: what is worth most per second, with equal shares of the time for failure groups."""

from suspectra.experiments.schedule import ExperimentSchedule, Stream

SWITCHES, VALUES = Stream(0, "t1", "switch"), Stream(0, "t1", "value")
OTHER_TEST, OTHER_GROUP = Stream(0, "t2", "switch"), Stream(1, "t3", "switch")


def after(schedule, stream, met, seconds=1.0):
    schedule.took(stream, seconds, [("cart.py", number) for number in range(len(met))], lambda place: met[place[1]])


def test_every_kind_begins_before_the_best_is_continued_and_other_tests_wait():
    schedule = ExperimentSchedule([SWITCHES, VALUES, OTHER_TEST])
    assert schedule.next() == SWITCHES
    after(schedule, SWITCHES, [0.5])
    assert schedule.next() == VALUES
    after(schedule, VALUES, [0.1, 0.2])
    assert schedule.next() == SWITCHES, "0.5 per second, and half of that with another test"
    after(schedule, SWITCHES, [0.1], seconds=2.0)
    assert schedule.next() == VALUES
    after(schedule, VALUES, [0.0])
    assert schedule.next() == OTHER_TEST


def test_streams_of_a_group_that_have_not_begun_can_be_hastened():
    mutants = [Stream(group, test, "mutant") for group, test in ((0, "t1"), (0, "t2"), (0, "t3"), (1, "t4"))]
    schedule = ExperimentSchedule(mutants)
    after(schedule, mutants[0], [1.0])
    after(schedule, mutants[3], [1.0])
    schedule.hasten(0, "mutant")
    assert schedule.next() == mutants[1]
    after(schedule, mutants[1], [0.1], seconds=0.1)
    assert schedule.next() == mutants[3], "groups have their shares"
    after(schedule, mutants[3], [0.1])
    assert schedule.next() == mutants[2]
    after(schedule, mutants[2], [0.1])
    after(schedule, mutants[3], [0.1])
    assert schedule.next() == mutants[0], "each was hastened once"


def test_groups_get_equal_shares_of_the_time():
    schedule = ExperimentSchedule([SWITCHES, OTHER_GROUP])
    turns = []
    for seconds in (0.5, 2.0, 0.5, 0.5, 0.5):
        turns.append(schedule.next())
        after(schedule, turns[-1], [0.1], seconds)
    assert turns == [SWITCHES, OTHER_GROUP, SWITCHES, SWITCHES, SWITCHES]
    schedule.end(SWITCHES)
    assert schedule.next() == OTHER_GROUP


def test_each_further_experiment_at_a_place_counts_for_less():
    schedule = ExperimentSchedule([SWITCHES, VALUES])
    after(schedule, VALUES, [0.5])
    schedule.took(SWITCHES, 1.0, [("cart.py", 1)] * 2, lambda place: 0.3)
    assert schedule.next() == VALUES, "0.3 + 0.15 are less than 0.5"
