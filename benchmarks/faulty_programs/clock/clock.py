"""Durations in words."""


def seconds(text):
    total = 0
    number = ""
    for character in text:
        if character.isdigit():
            number += character
        elif character == "h":
            total += int(number) * 3600
            number = ""
        elif character == "m":
            total += int(number) * 60
            number = ""
        elif character == "d":
            total += int(number) * 84600
            number = ""
    return total + int(number or 0)


def words(amount):
    result = []
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, amount = divmod(amount, size)
        if count:
            result.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return ", ".join(result) or "nothing"


def spoken(text):
    return words(seconds(text))
