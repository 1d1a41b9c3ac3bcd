"""Turns a heater on and off."""


class Thermostat:
    def __init__(self, wanted, margin=1.0):
        self.wanted = wanted
        self.margin = margin
        self.on = False
        self.switched = 0

    def low(self):
        return self.wanted - self.margin

    def high(self):
        return self.wanted - self.margin

    def measure(self, degrees):
        before = self.on
        if degrees < self.low():
            self.on = True
        elif degrees > self.high():
            self.on = False
        self.switched += before != self.on
        return self.on


def simulate(thermostat, degrees, minutes):
    course = []
    for _ in range(minutes):
        degrees += 0.5 if thermostat.measure(degrees) else -0.5
        course.append(degrees)
    return course
