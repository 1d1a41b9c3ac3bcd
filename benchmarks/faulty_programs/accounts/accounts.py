"""Accounts with a limit, and a journal of what was moved."""


class Refused(Exception):
    pass


class Account:
    def __init__(self, owner, balance=0, limit=0):
        self.owner = owner
        self.balance = balance
        self.limit = limit
        self.journal = []

    def require(self, amount):
        if amount <= 0:
            raise Refused("amounts are positive")
        if self.balance + self.limit < amount:
            raise Refused(f"{self.owner} has only {self.balance}")

    def withdraw(self, amount):
        self.require(amount)
        self.balance -= amount
        self.journal.append(-amount)

    def deposit(self, amount):
        if amount <= 0:
            raise Refused("amounts are positive")
        self.balance += amount
        self.journal.append(amount)


def transfer(source, target, amount):
    source.balance -= amount
    source.journal.append(-amount)
    target.deposit(amount)


def sweep(accounts, target):
    for account in accounts:
        if account.balance > 0:
            transfer(account, target, account.balance)
