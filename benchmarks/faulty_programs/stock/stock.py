"""Goods in a store, by shelf."""


class Store:
    def __init__(self, room):
        self.room = room
        self.shelves = {}

    def used(self, shelf):
        return sum(self.shelves.get(shelf, {}).values())

    def put(self, shelf, name, count):
        rest = self.room - self.used(shelf)
        taken = min(count, rest)
        if taken > 0:
            goods = self.shelves.setdefault(shelf, {})
            goods[name] = goods.get(name, 0) + count
        return taken

    def take(self, name, count):
        taken = 0
        for goods in self.shelves.values():
            part = min(goods.get(name, 0), count - taken)
            if part:
                goods[name] -= part
                taken += part
        return taken


def delivery(store, lines):
    left = []
    for shelf, name, count in lines:
        taken = store.put(shelf, name, count)
        if taken < count:
            left.append((name, count - taken))
    return left
