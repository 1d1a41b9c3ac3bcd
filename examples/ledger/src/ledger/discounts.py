"""Discounts a customer may have; the best one counts, they never add up."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from ledger.money import Money


class Discount(Protocol):
    def off(self, price: Money, quantity: int) -> Money: ...


@dataclass(frozen=True)
class BulkDiscount:
    """A share of the price from a quantity on."""

    at_least: int
    share: Decimal

    def off(self, price: Money, quantity: int) -> Money:
        if quantity < self.at_least:
            return Money(0, price.currency)
        return price.times(quantity).times(self.share)


@dataclass(frozen=True)
class LoyaltyDiscount:
    """A share of the price for every full year of custom, up to a limit."""

    years: int
    per_year: Decimal = Decimal("0.01")
    limit: Decimal = Decimal("0.05")

    def off(self, price: Money, quantity: int) -> Money:
        share = min(self.per_year * self.years, self.limit)
        return price.times(quantity).times(share)


def best_discount(discounts: list[Discount], price: Money, quantity: int) -> Money:
    best = Money(0, price.currency)
    for discount in discounts:
        off = discount.off(price, quantity)
        if off > best:
            best = off
    return best
