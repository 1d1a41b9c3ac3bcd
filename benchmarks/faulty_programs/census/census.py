"""People and households."""

from dataclasses import dataclass, field


@dataclass
class Person:
    name: str
    age: int
    income: int = 0


@dataclass
class Household:
    street: str
    people: list = field(default_factory=list)

    def adults(self):
        return [person for person in self.people if person.age >= 18]

    def income(self):
        return sum(person.income for person in self.people)

    def share(self):
        if not self.people:
            return 0
        return self.income() // len(self.people)


def oldest(household):
    best = None
    for person in household.people:
        if best is None or person.income > best.income:
            best = person
    return best.name if best else None


def by_street(households):
    found = {}
    for household in households:
        found.setdefault(household.street, []).append(oldest(household))
    return found
