"""Fares of a bus."""


def reduced(age, student=False, disabled=False):
    if disabled:
        return True
    if age < 6 or age >= 65:
        return True
    return student and age > 27


def fare(zones, age, student=False, disabled=False):
    if age < 6:
        return 0
    price = 200 + 50 * (zones - 1)
    if reduced(age, student, disabled):
        price //= 2
    return price


def group(people, zones):
    prices = sorted(fare(zones, **person) for person in people)
    if len(prices) >= 5:
        prices = prices[1:]
    return sum(prices)
