from decimal import Decimal

import pytest
from ledger.money import MixedCurrencies, Money, total


@pytest.mark.parametrize(("amount", "cents"), [("1", 100), ("0.005", 1), ("0.004", 0), ("19.99", 1999), ("-3.5", -350)])
def test_amounts_round_like_a_till(amount, cents):
    assert Money.of(amount).cents == cents


def test_sum_and_difference():
    assert Money.of("1.10") + Money.of("2.20") == Money.of("3.30")
    assert Money.of("1") - Money.of("2") == -Money.of("1")


def test_currencies_do_not_mix():
    with pytest.raises(MixedCurrencies):
        Money.of("1") + Money.of("1", "CHF")
    with pytest.raises(MixedCurrencies):
        assert Money.of("1") < Money.of("1", "CHF")


def test_order():
    assert Money.of("1") < Money.of("2") <= Money.of("2")
    assert not Money(0)


@pytest.mark.parametrize(("cents", "parts"), [(100, 3), (7, 2), (0, 4), (5, 7)])
def test_splitting_loses_no_cent(cents, parts):
    shares = Money(cents).split(parts)
    assert total(shares) == Money(cents)
    assert shares[0].cents - shares[-1].cents in (0, 1)


def test_no_split_into_nothing():
    with pytest.raises(ValueError, match="one part"):
        Money(1).split(0)


def test_text():
    assert str(Money(123456)) == "1,234.56 EUR"
    assert str(Money(-5, "CHF")) == "-0.05 CHF"


def test_times():
    assert Money.of("0.99").times(Decimal("0.19")) == Money.of("0.19")
