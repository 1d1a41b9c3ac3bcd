from datetime import date
from decimal import Decimal

import pytest
from ledger.money import Money
from ledger.tax import UnknownCategory


@pytest.mark.parametrize(
    ("category", "day", "rate"),
    [
        ("goods", date(2019, 5, 5), "0.19"),
        ("goods", date(2020, 10, 1), "0.16"),
        ("goods", date(2023, 3, 1), "0.19"),
        ("food", date(2019, 5, 5), "0.07"),
        ("food", date(2020, 12, 31), "0.05"),
        ("stamps", date(2024, 1, 2), "0"),
    ],
)
def test_rates(table, category, day, rate):
    assert table.rate_on(category, day) == Decimal(rate)


def test_no_tax_before_there_was_one(table):
    assert table.rate_on("goods", date(1980, 1, 1)) == 0


def test_unknown_category(table):
    with pytest.raises(UnknownCategory):
        table.rate_on("yachts", date(2024, 1, 1))


def test_late_rates_are_sorted_in(table):
    table.add("goods", date(2015, 1, 1), "0.20")
    assert table.rate_on("goods", date(2016, 1, 1)) == Decimal("0.20")
    assert table.categories() == ["food", "goods", "stamps"]


def test_tax_of_an_amount(table):
    assert table.tax("goods", Money.of("100"), date(2024, 2, 2)) == Money.of("19")


def test_a_period_in_which_the_rate_changes(table):
    assert table.tax("goods", Money.of("366"), date(2020, 1, 1), date(2020, 12, 31)) == Money.of("64.02")


def test_a_period_must_not_run_backwards(table):
    with pytest.raises(ValueError, match="ends before"):
        table.tax("goods", Money.of("1"), date(2024, 1, 2), date(2024, 1, 1))


def test_changes_in_a_period(table):
    assert table.changes("food", date(2020, 7, 1), date(2021, 6, 30)) == [date(2021, 1, 1)]
    assert table.changes("stamps", date(2000, 1, 1), date(2024, 1, 1)) == []


def test_a_change_to_the_same_rate_costs_nothing(table):
    table.add("stamps", date(2024, 1, 1), "0")
    assert table.tax("stamps", Money.of("10"), date(2023, 12, 1), date(2024, 1, 31)) == Money(0)
