"""Hands out rooms of a house."""


class Room:
    def __init__(self, number, beds, quiet=False):
        self.number = number
        self.beds = beds
        self.quiet = quiet
        self.guests = []

    def free(self):
        return self.beds - len(self.guests)


class House:
    def __init__(self, rooms):
        self.rooms = rooms

    def find(self, people, quiet):
        best = None
        for room in self.rooms:
            if room.free() >= people:
                if best is None or room.free() < best.free():
                    best = room
        return best

    def book(self, names, quiet=False):
        room = self.find(len(names), quiet)
        if room is None:
            return None
        room.guests.extend(names)
        return room.number

    def leave(self, name):
        for room in self.rooms:
            if name in room.guests:
                room.guests.remove(name)
                return True
        return False
