"""Invoices: lines of goods, discounts, tax, and the journal entry they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from ledger.discounts import Discount, best_discount
from ledger.journal import Entry, Journal, Posting
from ledger.money import Money, total
from ledger.tax import TaxTable


@dataclass(frozen=True)
class Line:
    text: str
    price: Money
    quantity: int = 1
    category: str = "goods"
    until: date | None = None

    def __post_init__(self) -> None:
        if self.quantity < 1:
            raise ValueError(f"{self.text}: a line has a quantity of one or more")

    @property
    def gross_of_discount(self) -> Money:
        return self.price.times(self.quantity)


@dataclass
class Invoice:
    number: str
    day: date
    table: TaxTable
    lines: list[Line] = field(default_factory=list)
    discounts: list[Discount] = field(default_factory=list)
    printed_total: Money | None = None

    def add(self, line: Line) -> Invoice:
        self.lines.append(line)
        return self

    def discount_of(self, line: Line) -> Money:
        return best_discount(self.discounts, line.price, line.quantity)

    def net_of(self, line: Line) -> Money:
        return line.gross_of_discount - self.discount_of(line)

    @property
    def net(self) -> Money:
        return total([self.net_of(line) for line in self.lines])

    @property
    def discount(self) -> Money:
        return total([self.discount_of(line) for line in self.lines])

    def taxable(self) -> dict[tuple[str, date], Money]:
        """Net amounts by category and by the last day of delivery: what is taxed together."""
        nets: dict[tuple[str, date], Money] = {}
        for line in self.lines:
            key = line.category, line.until or self.day
            nets[key] = nets.get(key, Money(0)) + self.net_of(line)
        return nets

    @property
    def tax(self) -> Money:
        parts = []
        for (category, until), net in self.taxable().items():
            parts.append(self.table.tax(category, net, self.day, until))
        return total(parts)

    @property
    def gross(self) -> Money:
        return self.net + self.tax

    def tax_share(self) -> Decimal:
        return self.tax.amount / self.net.amount if self.net else Decimal(0)

    def post_to(self, journal: Journal) -> Entry:
        """Book the invoice: what the customer owes against sales, discounts and tax.

        The customer owes what the printed invoice says, where one was printed.
        """
        chart = journal.chart
        owed = self.printed_total if self.printed_total is not None else self.gross
        postings = [
            Posting(chart[1400], debit=owed),
            Posting(chart[8400], credit=self.net + self.discount),
            Posting(chart[1776], credit=self.tax),
        ]
        if self.discount:
            postings.append(Posting(chart[4730], debit=self.discount))
        return journal.post(Entry(self.day, f"Invoice {self.number}", tuple(postings)))
