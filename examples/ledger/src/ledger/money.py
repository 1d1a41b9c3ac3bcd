"""Amounts of money: exact, in one currency, rounded the way a till rounds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import total_ordering

CENT = Decimal("0.01")


class MixedCurrencies(ValueError):
    """Two amounts of different currencies met in one sum."""


@total_ordering
@dataclass(frozen=True)
class Money:
    """An amount in cents of a currency."""

    cents: int
    currency: str = "EUR"

    @classmethod
    def of(cls, amount: str | int | Decimal, currency: str = "EUR") -> Money:
        value = Decimal(amount).quantize(CENT, ROUND_HALF_UP)
        return cls(int(value * 100), currency)

    @property
    def amount(self) -> Decimal:
        return Decimal(self.cents) / 100

    def _same(self, other: Money) -> None:
        if self.currency != other.currency:
            raise MixedCurrencies(f"{self.currency} and {other.currency}")

    def __add__(self, other: Money) -> Money:
        self._same(other)
        return Money(self.cents + other.cents, self.currency)

    def __sub__(self, other: Money) -> Money:
        self._same(other)
        return Money(self.cents - other.cents, self.currency)

    def __neg__(self) -> Money:
        return Money(-self.cents, self.currency)

    def __lt__(self, other: Money) -> bool:
        self._same(other)
        return self.cents < other.cents

    def __bool__(self) -> bool:
        return self.cents != 0

    def times(self, factor: Decimal | int) -> Money:
        product = (self.amount * Decimal(factor)).quantize(CENT, ROUND_HALF_UP)
        return Money.of(product, self.currency)

    def split(self, parts: int) -> list[Money]:
        """Share an amount out so that no cent is lost: the first shares get the odd cents."""
        if parts < 1:
            raise ValueError("an amount is split into one part or more")
        share, odd = divmod(self.cents, parts)
        return [Money(share + (i < odd), self.currency) for i in range(parts)]

    def __str__(self) -> str:
        sign = "-" if self.cents < 0 else ""
        whole, rest = divmod(abs(self.cents), 100)
        return f"{sign}{whole:,}.{rest:02} {self.currency}"


def total(amounts: list[Money], currency: str = "EUR") -> Money:
    result = Money(0, currency)
    for amount in amounts:
        result = result + amount
    return result
