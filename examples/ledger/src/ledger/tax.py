"""Value-added tax: rates change on a day, and each category has its own."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from ledger.money import Money, total


class UnknownCategory(KeyError):
    """Goods of a category that has no rate."""


@dataclass
class TaxTable:
    """Rates by category, each in force from a day on."""

    rates: dict[str, list[tuple[date, Decimal]]] = field(default_factory=dict)

    def add(self, category: str, since: date, rate: str) -> None:
        history = self.rates.setdefault(category, [])
        history.append((since, Decimal(rate)))
        history.sort()

    def categories(self) -> list[str]:
        return sorted(self.rates)

    def rate_on(self, category: str, day: date) -> Decimal:
        """The rate in force on a day, that day included."""
        try:
            history = self.rates[category]
        except KeyError:
            raise UnknownCategory(category) from None
        days = [since for since, _ in history]
        index = bisect_right(days, day)
        if index == 0:
            return Decimal(0)
        return history[index - 1][1]

    def changes(self, category: str, first: date, last: date) -> list[date]:
        """The days within a period, its first day left out, on which a new rate took effect."""
        return [since for since, _ in self.rates.get(category, []) if first < since <= last]

    def tax(self, category: str, net: Money, first: date, last: date | None = None) -> Money:
        """The tax on what was delivered on a day, or evenly over a period."""
        last = last or first
        if last < first:
            raise ValueError(f"a period ends before it begins: {first} to {last}")
        changes = self.changes(category, first, last)
        if not changes:
            return net.times(self.rate_on(category, first))
        return self._tax_by_days(category, net, [first, *changes], last)

    def _tax_by_days(self, category: str, net: Money, starts: list[date], last: date) -> Money:
        """Each rate taxes the share of the net that falls on its days."""
        ends = [*starts[1:], last]
        days = [(end - start).days for start, end in zip(starts, ends, strict=True)]
        whole = sum(days)
        parts = []
        for start, count in zip(starts, days, strict=True):
            share = net.times(Decimal(count) / whole)
            parts.append(share.times(self.rate_on(category, start)))
        return total(parts)


def standard_table() -> TaxTable:
    table = TaxTable()
    table.add("goods", date(2007, 1, 1), "0.19")
    table.add("goods", date(2020, 7, 1), "0.16")
    table.add("goods", date(2021, 1, 1), "0.19")
    table.add("food", date(2007, 1, 1), "0.07")
    table.add("food", date(2020, 7, 1), "0.05")
    table.add("food", date(2021, 1, 1), "0.07")
    table.add("stamps", date(1990, 1, 1), "0")
    return table
