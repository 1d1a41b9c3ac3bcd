"""Sparse symbolic exploration: symbols, the solver, and the paths that values can take."""

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suspectra.causes.solver import SmtSolver
from suspectra.dependences.exploration import MAX_PATHS, Exploration, ExploredPath
from suspectra_recorder.experiments.inputs.symbols import MAX_CONSTRAINTS, SymbolicPath

# symbols


def test_symbols_are_the_values_that_they_stand_for():
    path = SymbolicPath()
    number, ratio, text = path.symbol("n", 7), path.symbol("r", 2.5), path.symbol("t", "ab")
    assert (number + 1, 1 + number, number * 2.5, -number, abs(-number), number // 2, 7 % number, number / 2) == (
        *(8, 8, 17.5, -7, 7, 3, 0),
        3.5,
    )
    assert (ratio - 1, 10 / ratio, text + "c", "c" + text) == (1.5, 4.0, "abc", "cab")
    assert ([*range(9)][number], {7: "seven"}[number], {"ab": 1}[text]) == (7, "seven", 1)
    assert isinstance(number, int)
    assert (f"{number:03}", text.upper(), json.dumps([number, ratio, text])) == ("007", "AB", '[7, 2.5, "ab"]')
    assert sorted([number, 3]) == [3, 7]


def test_comparisons_of_symbols_are_constraints_and_each_is_noted_once():
    path = SymbolicPath()
    number, text = path.symbol("n", 7), path.symbol("t", "ab")
    taken = [number < 3, bool(number - 7), 5 == number + 1, text == "ab", "b" in text, text.startswith("b")]
    assert taken == [False, False, False, True, True, False]
    assert number >= 3
    assert not number < 3
    n, t = ("symbol", "n", "int"), ("symbol", "t", "str")
    assert path.constraints == [
        (("<", n, 3), False),
        (("!=", ("-", n, 7), 0), False),
        (("==", ("+", n, 1), 5), False),
        (("==", t, "ab"), True),
        (("contains", t, "b"), True),
        (("starts", t, "b"), False),
        ((">=", n, 3), True),
    ]
    assert path.last == 0


def test_what_has_no_term_gives_plain_values_and_long_paths_end():
    path = SymbolicPath()
    number = path.symbol("n", 7)
    for value in (number & 3, int(number), round(number), str(number), number + float("nan"), number * 2**300):
        assert type(value) in (int, float, str)
    assert path.symbol("b", True) is True
    assert path.symbol("x", None) is None
    grown = number
    for _ in range(1000):
        grown = grown + 1
    assert type(grown) is int
    assert [number > limit for limit in range(1000)].count(True) == 7
    assert len(path.constraints) == MAX_CONSTRAINTS
    path.closed = True
    assert type(number + 1) is int


# the solver

TERMS = st.recursive(
    st.sampled_from([("symbol", "a", "int"), ("symbol", "b", "int")]) | st.integers(-20, 20),
    lambda terms: (
        st.tuples(st.sampled_from("+-*"), terms, terms)
        | st.tuples(st.sampled_from(["//", "%"]), terms, st.integers(-5, 5).filter(bool))
        | st.tuples(st.sampled_from(["negative", "absolute"]), terms)
    ),
    max_leaves=4,
)


def computed(term, values):
    """The value of a term as Python computes it."""
    if not isinstance(term, tuple):
        return term
    if term[0] == "symbol":
        return values[term[1]]
    signs = {"negative": "-({0})", "absolute": "abs({0})"}
    text = signs.get(term[0], f"({{0}}) {term[0]} ({{1}})").format(*(computed(one, values) for one in term[1:]))
    return eval(compile(ast.parse(text, mode="eval"), "term", "eval"))


@given(TERMS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.integers(-30, 30), st.booleans())
def test_what_the_solver_finds_solves_the_constraint_in_python(left, sign, right, truth):
    found = SmtSolver().solve([((sign, left, right), truth)])
    if found is not None:
        values = {"a": 0, "b": 0, **found}
        assert computed((sign, left, right), values) is truth


@pytest.mark.parametrize("sign", ["//", "%", "/"])
def test_nothing_is_divided_by_zero(sign):
    term = (sign, 7, ("symbol", "a", "int"))
    assert SmtSolver().solve([((">", term, 100), True)]) is None
    found = SmtSolver().solve([((">", term, 1), True)])
    assert computed((">", term, 1), found)


def test_texts_and_fractions_are_solved_too():
    t, x = ("symbol", "t", "str"), ("symbol", "x", "float")
    found = SmtSolver().solve([(("starts", t, "ab"), True), (("ends", t, "c"), True), (("==", t, "abc"), False)])
    assert found["t"].startswith("ab")
    assert found["t"].endswith("c")
    assert SmtSolver().solve([(("==", ("*", x, 2), 5), True)]) == {"x": 2.5}
    assert SmtSolver().solve([(("unknown", x), True)]) is None
    assert SmtSolver().solve([(("<", x, t), True)]) is None


# sparse symbolic exploration, of a program that is interpreted here


class Interpreted:
    """Runs a function with symbols; it returns whether the property holds, None where it does not get there."""

    def __init__(self, program, start, decisions=10, ended=lambda values: True):
        self.program, self.start, self.decisions, self.is_ended = program, start, decisions, ended
        self.made = []

    def along(self, values):
        path = SymbolicPath()
        used = {**self.start, **(values or {})}
        self.made.append(used)
        holds = self.program(**{name: path.symbol(name, value) for name, value in used.items()})
        last = [[path.last]] if holds is False and path.constraints else []
        return ExploredPath(
            path.constraints, holds is True, holds is not None, last, self.decisions, self.is_ended(used)
        )

    def repairs(self, values):
        self.made.append({**self.start, **values})
        return self.program(**self.made[-1]) is True


def explored(program, *, failing=10, **start):
    runs = Interpreted(program, start)
    return Exploration(runs, SmtSolver(), failing).succeeds(), runs.made


def test_the_property_is_solved_on_the_path_of_the_failing_run():
    found, made = explored(lambda a: a < 10 and a == 7, a=3)
    assert found
    assert made == [{"a": 3}, {"a": 7}]


def test_other_paths_are_explored_until_one_gets_there():
    def program(a, b):
        if a > 100:
            if b % 7 == 3:
                return a + b == 150
            return None
        return False

    found, made = explored(program, a=1, b=1)
    assert found
    assert program(**made[-1])


def test_what_can_not_hold_is_given_up():
    found, made = explored(lambda a: (a > 3 or a < -3) and a * a == 2, a=1)
    assert not found
    assert len(made) <= MAX_PATHS + 1


def test_a_path_that_does_not_arrive_is_deferred():
    """The first decision leads away, and with the second one the property holds."""

    def program(a):
        if a == 5:
            return True if a > 100 else None
        return bool(a == 9)

    found, made = explored(program, a=1)
    assert found
    assert [one["a"] for one in made][-1] == 9


def test_long_paths_are_not_explored_further_and_those_that_hang_are_left():
    def program(a):
        return (a > 1000 and a == 2000) if a > 10 else False

    far = Interpreted(program, {"a": 1}, decisions=101)
    assert not Exploration(far, SmtSolver(), 10).succeeds()
    hanging = Interpreted(program, {"a": 1}, ended=lambda values: values["a"] <= 10)
    assert not Exploration(hanging, SmtSolver(), 10).succeeds()
    assert Exploration(Interpreted(program, {"a": 1}), SmtSolver(), 10).succeeds()
