from decimal import Decimal

import pytest
from ledger.discounts import BulkDiscount, LoyaltyDiscount, best_discount
from ledger.money import Money

TEN = Money.of("10")


@pytest.mark.parametrize(("quantity", "off"), [(9, "0"), (10, "10"), (20, "20")])
def test_bulk(quantity, off):
    assert BulkDiscount(10, Decimal("0.1")).off(TEN, quantity) == Money.of(off)


@pytest.mark.parametrize(("years", "off"), [(0, "0"), (1, "0.10"), (5, "0.50"), (30, "0.50")])
def test_loyalty(years, off):
    assert LoyaltyDiscount(years).off(TEN, 1) == Money.of(off)


def test_the_best_one_counts():
    discounts = [LoyaltyDiscount(2), BulkDiscount(2, Decimal("0.5")), LoyaltyDiscount(1)]
    assert best_discount(discounts, TEN, 2) == Money.of("10")


def test_no_discount():
    assert best_discount([], TEN, 3) == Money(0)
