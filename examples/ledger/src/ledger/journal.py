"""The journal: entries whose debits equal their credits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from ledger.accounts import Account, Chart
from ledger.money import Money, total


class UnbalancedEntry(ValueError):
    """Debits and credits of an entry differ."""


@dataclass(frozen=True)
class Posting:
    account: Account
    debit: Money = Money(0)
    credit: Money = Money(0)

    @property
    def change(self) -> Money:
        """What the posting adds to the account's balance."""
        net = self.debit - self.credit
        return net if self.account.kind.debit_raises else -net


@dataclass(frozen=True)
class Entry:
    day: date
    text: str
    postings: tuple[Posting, ...]

    def check(self) -> None:
        debit = total([posting.debit for posting in self.postings])
        credit = total([posting.credit for posting in self.postings])
        if debit != credit:
            raise UnbalancedEntry(f"{self.text}: {debit} debit, {credit} credit")


@dataclass
class Journal:
    chart: Chart
    entries: list[Entry] = field(default_factory=list)

    def post(self, entry: Entry) -> Entry:
        entry.check()
        self.entries.append(entry)
        return entry

    def between(self, first: date, last: date) -> Iterator[Entry]:
        for entry in sorted(self.entries, key=lambda entry: entry.day):
            if first <= entry.day <= last:
                yield entry

    def balance(self, number: int, on: date | None = None) -> Money:
        account = self.chart[number]
        result = Money(0)
        for entry in self.entries:
            if on is not None and entry.day > on:
                continue
            for posting in entry.postings:
                if posting.account == account:
                    result = result + posting.change
        return result

    def balances(self) -> dict[int, Money]:
        found: dict[int, Money] = defaultdict(lambda: Money(0))
        for entry in self.entries:
            for posting in entry.postings:
                number = posting.account.number
                found[number] = found[number] + posting.change
        return dict(found)

    def reverse(self, entry: Entry, day: date) -> Entry:
        """Undo an entry by its mirror image, as a bookkeeper does: nothing is ever deleted."""
        mirrored = tuple(Posting(p.account, p.credit, p.debit) for p in entry.postings)
        return self.post(Entry(day, f"Reversal: {entry.text}", mirrored))
