"""States of running programs: read and changed without calling the program, also in callers, on every Python."""

import ast
import collections
import enum
import sys
import textwrap
import types
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from suspectra.paths.searches.recorded_statements import RecordedStatements
from suspectra.paths.state_differences import compare_states
from suspectra.paths.structure import comparable_points
from suspectra_recorder.experiments.values.memory_changes import NotChanged, change
from suspectra_recorder.experiments.values.memory_graph import MAX_NODES, Variable, memory_graph
from suspectra_recorder.experiments.values.program_states import StatementMarks
from suspectra_recorder.instrumentation.cell_constants import with_cells


class Noisy:
    """Fails if its own code is ever called."""

    __slots__ = ("__dict__", "kept")

    def _never(self, *_):
        raise AssertionError("code of the program was called")

    __eq__ = __hash__ = __repr__ = __len__ = __iter__ = __bool__ = __setattr__ = __getitem__ = __reduce__ = _never
    __getattribute__ = __deepcopy__ = __copy__ = _never


def noisy(**attributes):
    made = object.__new__(Noisy)
    Noisy.__dict__["kept"].__set__(made, 1)
    stored = Noisy.__dict__["__dict__"].__get__(made)
    stored.update(attributes)
    return made


def stored(value):
    return Noisy.__dict__["__dict__"].__get__(value)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: int
    y: object


class Stack(list):
    def append(self, item):
        raise AssertionError("code of the program was called")

    __len__ = __iter__ = __setitem__ = append


@dataclass(slots=True)
class Slotted:
    one: int
    two: object = None


def state(**variables):
    return memory_graph([Variable(0, "f", name, value) for name, value in variables.items()])


def made_equal(failing, passing):
    """Apply all differences to a variable of a running function; what it is then, and what is left."""

    def f(a):
        found = compare_states(state(a=failing), state(a=passing))
        change([sys._getframe()], [one.change for one in found.differences])
        return a, [str(one.place) for one in found.differences], found.fixed

    return f(passing)


@pytest.mark.parametrize(
    ("failing", "passing", "places"),
    [
        (1, 2, ["a"]),
        ("x" * 500, "x", ["a"]),
        ([1, 2, 3], [1, 5], ["len(a)", "a[1]"]),
        ([1], [1, 5, 6], ["len(a)"]),
        ({"x": 1, "y": [2]}, {"x": 1, "y": [3], "z": 1}, ["a['z']", "a['y'][0]"]),
        ({1, 2}, {2, 3}, ["1 in a", "3 in a"]),
        ((1, [2], (3, 4)), (1, [2], (3, 5)), ["a[2][1]"]),
        (Point(1, [2]), Point(1, [3]), ["a[1][0]"]),
        (collections.OrderedDict(x=1), collections.OrderedDict(y=1), ["a['x']", "a['y']"]),
        (collections.Counter("aab"), collections.Counter("b"), ["a['a']"]),
        (collections.deque([1, 2]), collections.deque([1]), ["len(a)"]),
        (Slotted(1, {"k": Colour.RED}), Slotted(2, {"k": Colour.BLUE}), ["a.one", "a.two['k']"]),
        (frozenset({1}), frozenset({2}), ["a"]),
        ([len, Colour, str], [len, Point, sum], ["a[1]", "a[2]"]),
        ({"new": Slotted(1, Point(2, {3}))}, {}, ["a['new']"]),
    ],
    ids=repr,
)
def test_what_was_different_is_equal_when_all_is_applied_in_place(failing, passing, places):
    changed, found, fixed = made_equal(failing, passing)
    assert (changed, found, fixed) == (failing, places, [])
    assert type(changed) is type(failing)
    if isinstance(passing, (list, dict, set, collections.deque)):
        assert changed is passing


def test_code_of_the_program_is_never_called():
    inside, other = Stack([1, 2]), Stack([1])
    one, two = noisy(a=1, items=inside), noisy(a=2, items=other, more=noisy(a=3))
    changed, found, fixed = made_equal(one, two)
    assert (found, fixed) == (["len(a.items)", "a.more", "a.a"], [])
    assert changed is two
    assert list.__len__(other) == 2
    assert stored(two)["items"] is other
    assert (stored(two)["a"], len(stored(two))) == (1, 2)


def test_cycles_and_objects_at_two_places_end_and_stay_what_they_are():
    def ring(value):
        items = [value]
        items.append(items)
        return {"ring": items, "again": items}

    passing = ring(2)
    changed, found, _ = made_equal(ring(1), passing)
    assert found == ["a['ring'][0]"]
    assert changed["ring"] is changed["again"] is changed["ring"][1]
    first, second = [1], [1]
    changed, found, _ = made_equal({"x": first, "y": first}, {"x": first, "y": second})
    assert found == ["a['y']"]
    assert changed["x"] is changed["y"]


def test_what_can_not_be_copied_is_named_and_kept():
    lock, generator = __import__("threading").Lock(), (one for one in ())
    changed, found, fixed = made_equal({"lock": lock, "n": 1}, {"lock": __import__("threading").Lock(), "n": 2})
    assert found == ["a['n']"]
    assert fixed == ["a['lock'] (lock)"]
    assert changed["lock"] is not lock
    _, found, fixed = made_equal([generator], [1])
    assert (found, fixed) == ([], ["a[0] (generator)"])


def test_at_most_500_values_are_read_and_half_of_a_list_is_no_value():
    graph = state(a=[*range(2_000)])
    assert (len(graph["nodes"]), graph["full"]) == (MAX_NODES, True)
    _, found, fixed = made_equal({"x": [*range(2_000)], "n": 1}, {"n": 2})
    assert (found, fixed) == (["a['n']"], ["a['x'] (a list of 501 items)"])


def test_a_place_that_is_gone_is_refused():
    def f(a):
        change(
            [sys._getframe()], [{"depth": 0, "name": "a", "steps": ["[i9"], "what": "set", "length": 0, "nodes": []}]
        )

    with pytest.raises(NotChanged):
        f([1])


class Program:
    """A source whose statements are marked, in this process."""

    def __init__(self, text):
        self.marks = StatementMarks()
        tree = ast.parse(textwrap.dedent(text))
        add = self.marks.insert(tree, "subject.py", "<marks>", asserts=True)
        add()
        self.names = types.ModuleType("subject")
        exec(with_cells(compile(tree, "subject.py", "exec"), "<marks>", self.marks), vars(self.names))
        self.statements = RecordedStatements()

    def run(self, call):
        answer = self.marks.note()
        call(self.names)
        self.marks.leave()
        places = [("subject.py", source.first, source.points) for source in self.marks.sources.loaded]
        ended = {"outcome": "passed", "exception": "", "seconds": 0.0}
        return self.statements.from_answer({**ended, **answer(), "statements": places}).path

    def lines(self, path):
        return [self.statements.locations[number].line for number in path.statement]


def test_points_of_loops_of_other_lengths_are_comparable():
    program = Program('''\
        def outer(rows):
            """Text."""
            total = 0
            for row in rows:
                for one in row:
                    if one:
                        total += inner(one)
                total += 1
            return total


        def inner(one):
            return one


        def numbers():
            yield 1
            yield 2
        ''')
    assert program.names.outer.__doc__ == "Text."
    assert list(program.names.numbers()) == [1, 2]
    failing, passing = (
        program.run(lambda names, rows=rows: names.outer(rows)) for rows in ([[1, 2], [3]], [[1], [3, 0]])
    )
    assert program.lines(failing) == [3, 4, 5, 6, 7, 13, 6, 7, 13, 8, 5, 6, 7, 13, 8, 9]
    assert program.lines(passing) == [3, 4, 5, 6, 7, 13, 8, 5, 6, 7, 13, 6, 8, 9]
    points = comparable_points(failing, passing)
    assert [program.lines(failing)[at] for at, _ in points] == [program.lines(passing)[at] for _, at in points]
    assert points == [(at, at) for at in range(6)] + [(at, at - 3) for at in (9, 10, 11, 12, 13)] + [(14, 12), (15, 13)]


def test_variables_of_callers_and_closures_are_changed():
    program = Program("""\
        def outer(n):
            factor = 2
            items = [n]

            def inner(a):
                b = a
                return b * factor

            got = inner(n)
            return got, n, factor, items
        """)
    path = program.run(lambda names: names.outer(1))
    point = program.lines(path).index(7)
    new = [("b", 1, "i10"), ("n", 0, "i20"), ("factor", 0, "i3")]
    changes = [
        {"depth": depth, "name": name, "steps": [], "what": "set", "length": 0, "nodes": [("value", text, [], 0)]}
        for name, depth, text in new
    ]
    append = {"depth": 0, "name": "items", "steps": [], "what": "length", "length": 2}
    changes.append({**append, "nodes": [("list", "", [("[i1", 1)], 1), ("value", "i7", [], 0)]})
    answer = program.marks.stop_at(point, changes)
    assert program.names.outer(1) == (30, 20, 3, [1, 7])
    assert answer() == {"reached": 1, "refused": ""}
    assert program.names.outer(1) == (2, 1, 2, [1])
