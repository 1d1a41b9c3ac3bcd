"""A menu of actions on a counter."""


class Counter:
    def __init__(self):
        self.value = 0

    def add(self, amount):
        self.value += amount
        return self.value


def actions(counter, amounts):
    found = {}
    for amount in amounts:
        found[f"+{amount}"] = lambda: counter.add(amount)
    return found


class Menu:
    def __init__(self, amounts):
        self.counter = Counter()
        self.actions = actions(self.counter, amounts)
        self.unknown = []

    def choose(self, name):
        action = self.actions.get(name)
        if action is None:
            self.unknown.append(name)
            return self.counter.value
        return action()

    def names(self):
        return sorted(self.actions)


def run(amounts, chosen):
    menu = Menu(amounts)
    for name in chosen:
        menu.choose(name)
    return menu.counter.value
