from thermostat import Thermostat, simulate


def test_cold():
    assert Thermostat(20).measure(15)


def test_warm():
    assert not Thermostat(20).measure(25)


def test_stays_off():
    assert not Thermostat(20).measure(19.5)


def test_stays_on():
    thermostat = Thermostat(20)
    thermostat.measure(15)
    assert thermostat.measure(20)


def test_goes_off():
    thermostat = Thermostat(20)
    thermostat.measure(15)
    assert not thermostat.measure(22)


def test_switched():
    thermostat = Thermostat(20)
    for degrees in (15, 22, 23):
        thermostat.measure(degrees)
    assert thermostat.switched == 2


def test_cools():
    assert simulate(Thermostat(20), 25, 2) == [24.5, 24]


def test_heats():
    assert max(simulate(Thermostat(20), 18, 20)) == 21.5
