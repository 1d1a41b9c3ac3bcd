"""Invoices in cents."""


def net(items):
    return sum(count * price for count, price in items)


def tax(amount, percent):
    return int(amount * percent / 100)


def discount(amount, code):
    if code == "friend":
        return amount // 10
    if code == "first" and amount >= 5000:
        return 500
    return 0


def gross(items, percent=19, code=""):
    amount = net(items)
    amount -= discount(amount, code)
    return amount + tax(amount, percent)


def shown(cents):
    return f"{cents // 100}.{cents % 100:02}"
