"""The chart of accounts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class AccountKind(Enum):
    ASSET = "asset"
    LIABILITY = "liability"
    INCOME = "income"
    EXPENSE = "expense"

    @property
    def debit_raises(self) -> bool:
        return self in (AccountKind.ASSET, AccountKind.EXPENSE)


@dataclass(frozen=True)
class Account:
    number: int
    name: str
    kind: AccountKind


class DuplicateAccount(ValueError):
    """A number that is taken already."""


@dataclass
class Chart:
    """Accounts by number."""

    accounts: dict[int, Account] = field(default_factory=dict)

    def open(self, number: int, name: str, kind: AccountKind) -> Account:
        if number in self.accounts:
            raise DuplicateAccount(f"{number} is {self.accounts[number].name}")
        account = Account(number, name, kind)
        self.accounts[number] = account
        return account

    def __getitem__(self, number: int) -> Account:
        return self.accounts[number]

    def of_kind(self, kind: AccountKind) -> list[Account]:
        return [account for account in self.accounts.values() if account.kind is kind]


def shop_chart() -> Chart:
    chart = Chart()
    chart.open(1000, "Cash", AccountKind.ASSET)
    chart.open(1400, "Receivables", AccountKind.ASSET)
    chart.open(1776, "Tax owed", AccountKind.LIABILITY)
    chart.open(4730, "Discounts given", AccountKind.EXPENSE)
    chart.open(8400, "Sales", AccountKind.INCOME)
    return chart
