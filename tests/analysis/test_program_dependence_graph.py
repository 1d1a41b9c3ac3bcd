"""The dependences between the statements of Python sources, and the score of paper 001 over them."""

import pytest

from suspectra.base.errors import UsageError
from suspectra.evaluation.source_scores import pdg_score
from suspectra.program.python.dependence_graph import ProgramDependenceGraph

FIGURE_1 = b"""\
x = int(input())
v = 0
if x > 0:
    u = 5
else:
    u = v
print(u)
unused = 1
"""
SHOP = b"""\
from rates import TAX
LIMIT = 100
seen = []
class Cart:
    discount = 0
    def __init__(self, owner):
        self.owner = owner
        self.prices = []
    def add(self, price):
        if price > LIMIT:
            return False
        self.prices.append(price)
        seen.append(price)
        return True
    def total(self):
        result = 0
        for price in self.prices:
            result += price
        return result * TAX - self.discount
def report(cart):
    return f"{cart.owner}: {cart.total()} of {len(seen)}"
"""
RATES = b"TAX = 2\n"


def edges(**sources):
    """Pairs of lines, without the file in which both are."""
    graph = ProgramDependenceGraph.from_sources({f"{name}.py": source for name, source in sources.items()})
    lines = [(file.removesuffix(".py"), span.line) for file, span in graph.places]
    return {
        f"{one[1]}>{other[1]}" if one[0] == other[0] else f"{one[0]}:{one[1]}>{other[1]}"
        for one, other in ((lines[a], lines[b]) for a, b in graph.edges.tolist())
    }


def test_the_dependences_of_the_papers_first_example():
    assert edges(program=FIGURE_1) == {"1>3", "2>6", "3>4", "3>6", "4>7", "6>7"}


def test_dependences_between_functions_and_files():
    found = edges(shop=SHOP, rates=RATES)
    within = {"6>7", "6>8", "9>10", "10>11", "10>12", "10>13", "10>14", "16>18", "17>18", "18>19", "16>19"}
    parameters = {"9>12", "9>13", "15>17", "15>19", "20>21"}
    shared = {"2>10", "3>13", "3>21", "13>21", "8>12", "12>17", "5>19", "8>17", "7>21"}
    calls = {"21>15", "19>21"}
    imports = {"1>19", "rates:1>1"}
    assert within | parameters | shared | calls | imports <= found
    assert not {"2>12", "5>21", "11>12", "4>12"} & found  # nothing depends on what it does not use


@pytest.mark.parametrize(
    ("report", "faulty", "score"),
    [
        ([4], [4], 6 / 7),
        ([3], [6], 3 / 7),  # 1 and 4 are as far from 3
        ([7], [2], 2 / 7),  # backwards 4 and 6, then 2 and 3
        ([4], [6], 0),  # directions are not mixed: nothing leads from one arm to the other
        ([8], [2], 0),
        ([], [2], 0),
        ([5, 99], [2], 0),  # no statements
        ([99, 2], [2], 6 / 7),
    ],
)
def test_the_score_counts_what_has_to_be_examined(report, faulty, score):
    sources = {"program.py": FIGURE_1, "damaged.py": b"def"}
    places = [[("program.py", line) for line in lines] for lines in (report, faulty)]
    assert pdg_score(sources, *places) == pytest.approx(score)


def test_a_fault_without_a_statement_is_an_error():
    with pytest.raises(UsageError) as error:
        pdg_score({"program.py": FIGURE_1}, [("program.py", 3)], [("program.py", 5)])
    assert error.value.problem.cure
