from settings import changed, read, value_of, without_remark


def test_number():
    assert read(["size=3"]) == {"size": 3}


def test_blanks_around_the_sign():
    assert read(["size = 3"]) == {"size": 3}


def test_switch():
    assert read(["[log]", "on =yes"]) == {"log.on": True}


def test_remark():
    assert read(["# nothing", "", "a=b  # c"]) == {"a": "b"}


def test_remark_alone():
    assert without_remark("#") == ""


def test_negative():
    assert value_of("-7") == -7


def test_sections():
    assert read(["[a]", "x=1", "[b]", "x=2"]) == {"a.x": 1, "b.x": 2}


def test_changed():
    assert changed(read(["a=1", "b=2"]), read(["b=3", "c=no"])) == ["a", "b", "c"]


def test_unchanged():
    assert changed({"a": 1}, {"a": 1}) == []
