"""Faults in small classic programs, whose tests compare with the program without the fault.

The programs are in `classic_programs`. Each fault gets a folder with the faulty program, the correct one and a
parametrized test, so a test knows for any arguments what is right. The arguments are drawn with a fixed seed; of the
tests three that fail and 57 that pass are kept. A fault for which no arguments make a test fail is left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent / "classic_programs"
SEED = 7
MAX_DRAWN = 3_000
FAILING, PASSING = 3, 57

Arguments = tuple[Any, ...]


class Classic(NamedTuple):
    """A program: its function, what draws arguments, and faults as the old text and the new one."""

    entry: str
    parameters: str
    draw: Callable[[Random], Arguments]
    faults: tuple[tuple[str, str], ...]


def _tcas(random: Random) -> Arguments:
    return (
        random.choice([299, 300, 601, 700, 900]),
        random.random() < 0.9,
        random.random() < 0.7,
        random.randint(100, 2000),
        random.choice([300, 600, 601, 700]),
        random.randint(100, 2000),
        random.randint(0, 3),
        random.choice([0, 399, 400, 500, 640, 740, 800]),
        random.choice([0, 399, 400, 500, 640, 740, 800]),
        random.randint(0, 2),
        random.randint(1, 2),
        random.random() < 0.5,
    )


def _expression(random: Random, depth: int = 3) -> str:
    if depth == 0 or random.random() < 0.3:
        return str(random.randint(0, 20))
    form = random.choice(["{}+{}", "{}-{}", "{} * {}", "({})", "-{}", "({}-{})*{}"])
    return form.format(*[_expression(random, depth - 1) for _ in range(3)])


def _search(random: Random) -> Arguments:
    items = sorted(random.sample(range(12), random.randint(0, 6)))
    return items, random.choice(items) if items and random.random() < 0.7 else random.randint(0, 12)


def _letters(random: Random, letters: str) -> str:
    return "".join(random.choice(letters) for _ in range(random.randint(0, 5)))


CLASSICS = {
    "mid": Classic(
        "mid",
        "x, y, z",
        lambda r: tuple(r.randint(-1, 6) for _ in range(3)),
        (("            m = x\n    else", "            m = y\n    else"), ("if x < y", "if x < z")),
    ),
    "triangle": Classic(
        "kind",
        "a, b, c",
        lambda r: tuple(r.randint(0, 5) for _ in range(3)),
        (
            ("same == 2 and a + c > b", "same == 2 and a + b > c"),
            ("same > 3", "same > 2"),
            ("same = same + 2", "same = same + 1"),
        ),
    ),
    "tcas": Classic(
        "alt_sep_test",
        "vertical, confidence, two_of_three, own, rate, other, layer, up, down, rac, capability, inhibit",
        _tcas,
        (
            ("s.vertical_sep >= MINSEP and s.up_sep", "s.vertical_sep > MINSEP + 400 and s.up_sep"),
            ("not s.down_sep >= alim(s))", "not s.down_sep > alim(s))"),
            ("s.up_sep + NOZCROSS if", "s.up_sep + MINSEP if"),
            ("two_of_three and rac == 0", "two_of_three or rac == 0"),
            ("and own_rate <= OLEV", ""),
            ("OLEV = 600", "OLEV = 1000"),
            ("[400, 500,", "[401, 500,"),
            ("elif need_up", "elif need_up or need_down"),
        ),
    ),
    "search": Classic(
        "search",
        "items, wanted",
        _search,
        (("high = middle - 1", "high = middle - 2"), ("while low <= high", "while low < high")),
    ),
    "sort": Classic(
        "insertion_sort",
        "items",
        lambda r: ([r.randint(0, 9) for _ in range(r.randint(0, 6))],),
        (("while j >= 0", "while j > 0"), ("range(1, len(items))", "range(2, len(items))")),
    ),
    "roman": Classic(
        "to_int",
        "text",
        lambda r: (_letters(r, "IVXLCDM"),),
        (("value < previous", "value <= previous"), ("total = total - value", "total = total - previous")),
    ),
    "calc": Classic(
        "calc",
        "text",
        lambda r: (_expression(r),),
        (
            ("value = value - right", "value = right - value"),
            ("n = n * 10", "n = n * 8"),
            ("return -value, i", "return value, i"),
            ("value, i + 1\n    if", "value, i\n    if"),
        ),
    ),
    "days": Classic(
        "day_of_year",
        "year, month, day",
        lambda r: (r.choice([1900, 2000, 2023, 2024, 2100]), r.randint(0, 13), r.randint(0, 31)),
        (
            ("if month > 2 and leap", "if month >= 2 and leap"),
            ("        last = 29", "        last = 28"),
            ("while m < month", "while m <= month - 2"),
            ("    if year % 100 == 0:\n        return False\n", ""),
        ),
    ),
    "fee": Classic(
        "fee",
        "weight, distance, express, member",
        lambda r: (r.randint(0, 60), r.randint(0, 900), r.random() < 0.5, r.random() < 0.5),
        (
            ("if base > 1000", "if base > 10000"),
            ("if distance > 100", "if distance > 400"),
            ("base = base * 2", "base = base + 2"),
            ("(weight - 20) * 30", "(weight - 20) * 3"),
        ),
    ),
    "wildcard": Classic(
        "matches",
        "pattern, text",
        lambda r: (_letters(r, "ab?**"), _letters(r, "ab")),
        (
            ("            j = mark\n", "            j = j + 1\n"),
            ("return i == len(pattern)", "return i >= len(pattern) - 1"),
        ),
    ),
}


def make(folder: Path) -> None:
    """Make the folders of all faults that are not there yet."""
    for name, classic in CLASSICS.items():
        correct = (PROGRAMS / f"{name}.py").read_text("utf-8")
        for number, (old, new) in enumerate(classic.faults):
            into = folder / f"{name}-{number}"
            if not (into / "faults.txt").exists():
                _make(into, name, classic, correct, correct.replace(old, new))


def _make(into: Path, name: str, classic: Classic, correct: str, faulty: str) -> None:
    cases = _cases(classic, correct, faulty)
    if cases is None:
        return
    into.mkdir(parents=True, exist_ok=True)
    shown = cases if "," in classic.parameters else [value for (value,) in cases]
    write_program(into, name, classic, correct, faulty, repr(shown))
    (into / "faults.txt").write_text(f"{name}.py:{_faulty_line(correct, faulty)}  # seeded fault\n", "utf-8")


def write_program(into: Path, name: str, classic: Classic, correct: str, faulty: str, cases: str) -> None:
    """Write a faulty program, the correct one, and a test of it with these cases."""
    reference, entry = f"test_correct_{name}", classic.entry  # a name of test code: only the faulty one is searched
    (into / f"{name}.py").write_text(faulty, "utf-8")
    (into / f"{reference}.py").write_text(correct, "utf-8")
    parameters = classic.parameters
    test = [
        "import pytest",
        f"import {reference}",
        f"import {name}",
        f"@pytest.mark.parametrize({parameters!r}, {cases})",
        f"def test_{name}({parameters}):",
        f"    assert {name}.{entry}({parameters}) == {reference}.{entry}({parameters})",
    ]
    (into / f"test_{name}.py").write_text("\n".join(test) + "\n", "utf-8")


def _cases(classic: Classic, correct: str, faulty: str) -> list[Arguments] | None:
    draw = random.Random(SEED)
    right, wrong = (function_of(source, classic.entry) for source in (correct, faulty))
    known: dict[str, tuple[Arguments, bool]] = {}
    for _ in range(MAX_DRAWN):
        arguments = classic.draw(draw)
        known[repr(arguments)] = arguments, right(arguments) == wrong(arguments)
    failing = [arguments for arguments, passes in known.values() if not passes][:FAILING]
    passing = [arguments for arguments, passes in known.values() if passes][:PASSING]
    return failing + passing if failing else None


def function_of(source: str, entry: str) -> Callable[[Arguments], object]:
    """The function of a program, which returns the type of an exception where it raises one."""
    space: dict[str, Any] = {}
    exec(compile(source, entry, "exec"), space)

    def call(arguments: Arguments) -> object:
        try:
            return space[entry](*arguments)
        except (IndexError, TypeError, ValueError) as error:
            return type(error)

    return call


def _faulty_line(correct: str, faulty: str) -> int:
    """The first line that is different; for one that is missing, the line before."""
    before, after = correct.splitlines(), faulty.splitlines()
    first = next(number for number, (one, other) in enumerate(zip(before, after, strict=False), 1) if one != other)
    return first if len(before) == len(after) else first - 1
