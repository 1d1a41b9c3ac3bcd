"""The code of live functions is replaced by that of mutants, and given back."""

import importlib.util
import sys
from pathlib import Path

import pytest

from suspectra.mutation.excerpt import excerpt
from suspectra.mutation.mutant import mutants
from suspectra.mutation.parsed_source import ParsedSource
from suspectra_recorder.experiments.decisions.switchboard import StepsSpent, Switchboard
from suspectra_recorder.experiments.mutants import Mutating
from suspectra_recorder.failures.tracebacks import message_digest

LIVE = Path(__file__).parents[1] / "fixtures" / "mutation" / "live.py"


def loaded(path):
    spec = importlib.util.spec_from_file_location("live", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mutating(path, board=None):
    """A kind of run that has found the functions of a file."""
    kind = Mutating(board or Switchboard(), lambda name: "live.py" if name == str(path) else None)
    kind.prepare()
    return kind


def job(source, mutant):
    made = excerpt(source, mutant)
    return {"file": "live.py", "source": made.text, "functions": [list(name) for name in made.functions]}


@pytest.fixture(scope="module")
def found():
    """What each mutant changes: line, description, how many functions it was put into, and the results that differ."""
    live, source = loaded(LIVE), ParsedSource(LIVE.read_bytes())
    kind, before, all_changes = mutating(LIVE), live.results(), []
    end = LIVE.read_text().splitlines().index("def results():") + 1
    for mutant in mutants(source, range(end)):
        kind.apply(job(source, mutant))
        results = live.results()
        reached = kind.take_back()["reached"]
        assert live.results() == before, "its own code is back"
        differing = {name: value for name, value in results.items() if value != before[name]}
        all_changes.append((mutant.edit.line, mutant.description, reached, differing))
    return all_changes


def test_functions_of_every_kind_run_the_code_of_mutants(found):
    changed = {name for *_, results in found for name in results}
    assert changed == loaded(LIVE).results().keys()
    assert all(reached for *_, reached, _ in found)


@pytest.mark.parametrize(
    ("description", "results"),
    [
        ("`found = super().name()` → `pass`", {"super": "NameError"}),  # nothing else needs __class__
        ("`self.__private = n` → `pass`", {"private name": "AttributeError"}),
        ('`__class__.__name__ + "x"` → `"x"`', {"inner class": "x"}),
        ("`return function(*arguments), label * ma…` → `return None`", {"decorated": None}),
    ],
)
def test_variables_of_other_scopes_stay_what_they_are(found, description, results):
    assert [changes for _, text, _, changes in found if text == description] == [results]


def test_a_closure_that_is_alive_gets_the_code_and_so_do_new_ones(found):
    (changes,) = [changes for _, text, _, changes in found if text == "`return y > 1` → `return None`"]
    assert changes == {"new closure": None, "old closure": None}
    (changes,) = [changes for _, text, _, changes in found if text == "`label * many` → `label`"]
    assert changes == {"decorated": (8, "a")}


def test_a_function_that_is_not_there_is_not_reached(tmp_path):
    source = ParsedSource(LIVE.read_bytes())
    kind = mutating(tmp_path / "other.py")
    kind.apply(job(source, next(mutants(source))))
    assert kind.take_back() == {"reached": 0}


def test_an_endless_mutant_ends_after_some_decisions(tmp_path):
    path = tmp_path / "live.py"
    path.write_text("def f(n):\n    while n > 0:\n        n -= 1\n    return n\n")
    live, source, board = loaded(path), ParsedSource(path.read_bytes()), Switchboard()
    kind = mutating(path, board)
    (endless,) = [one for one in mutants(source) if one.description == "`n -= 1` → `pass`"]
    board.limit(100)
    kind.apply(job(source, endless))
    with pytest.raises(StepsSpent):
        live.f(3)
    board.leave()
    kind.take_back()
    assert live.f(3) == 0


def test_lines_of_a_mutant_are_those_of_the_file(tmp_path):
    path = tmp_path / "live.py"
    path.write_text("def f(n):\n    print(\n        n,\n    )\n    return n.missing\n")
    live, source = loaded(path), ParsedSource(path.read_bytes())
    kind = mutating(path)
    kind.apply(job(source, next(one for one in mutants(source) if one.edit.text == "pass")))
    with pytest.raises(AttributeError) as caught:
        live.f(3)
    kind.take_back()
    assert caught.traceback[-1].lineno + 1 == 5


def test_annotations_that_are_not_evaluated_stay_so(tmp_path):
    path = tmp_path / "live.py"
    path.write_text(
        "from __future__ import annotations\n"
        "def f(n):\n    def g(a: missing) -> missing:\n        return a\n    return g(n)\n"
    )
    live, source = loaded(path), ParsedSource(path.read_bytes())
    kind = mutating(path)
    kind.apply(job(source, next(one for one in mutants(source) if one.edit.line == 4)))
    assert live.f(3) is None
    kind.take_back()
    assert live.f(3) == 3


class Loud:
    """Says when it is asked for anything."""

    def __repr__(self):
        raise AssertionError("asked")

    __eq__ = __hash__ = __str__ = __repr__


def test_a_message_is_known_without_calling_the_program():
    class Failure(ValueError):
        def __str__(self):
            raise AssertionError("asked")

        @property
        def args(self):
            raise AssertionError("asked")

    digests = [message_digest(Failure(*given)) for given in ((1,), (2,), ((1, "a"),), (Loud(),), (Loud(),))]
    assert len(set(digests)) == 4
    assert digests[3] == digests[4]
    assert message_digest(ValueError("at 0x7f00>")) == message_digest(ValueError("at 0x7e01>"))
    assert message_digest(ValueError("a")) != message_digest(KeyError("a"))
    assert sys.intern(digests[0]) == digests[0]
