"""Statements a bookkeeper hands out: profit and loss, what is owed, a plain-text journal."""

from __future__ import annotations

from datetime import date

from ledger.accounts import AccountKind
from ledger.journal import Journal
from ledger.money import Money, total


def profit(journal: Journal) -> Money:
    balances = journal.balances()
    income = [balances.get(a.number, Money(0)) for a in journal.chart.of_kind(AccountKind.INCOME)]
    expense = [balances.get(a.number, Money(0)) for a in journal.chart.of_kind(AccountKind.EXPENSE)]
    return total(income) - total(expense)


def open_items(journal: Journal, today: date) -> Money:
    return journal.balance(1400, on=today)


def quarter_of(day: date) -> tuple[date, date]:
    first_month = 3 * ((day.month - 1) // 3) + 1
    first = date(day.year, first_month, 1)
    if first_month == 10:
        return first, date(day.year, 12, 31)
    after = date(day.year, first_month + 3, 1)
    return first, date.fromordinal(after.toordinal() - 1)


def tax_return(journal: Journal, day: date) -> Money:
    """The tax to pay for the quarter of a day."""
    first, last = quarter_of(day)
    owed = Money(0)
    for entry in journal.between(first, last):
        for posting in entry.postings:
            if posting.account.number == 1776:
                owed = owed + posting.change
    return owed


def journal_text(journal: Journal) -> str:
    lines = []
    for entry in sorted(journal.entries, key=lambda entry: entry.day):
        lines.append(f"{entry.day.isoformat()}  {entry.text}")
        for posting in entry.postings:
            side = "debit" if posting.debit else "credit"
            amount = posting.debit if posting.debit else posting.credit
            lines.append(f"    {posting.account.name:<16} {side:<6} {amount}")
    return "\n".join(lines)
