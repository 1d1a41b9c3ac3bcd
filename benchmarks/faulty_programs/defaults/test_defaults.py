import pytest
from defaults import described, first_given, resolve


def test_all_defaults():
    assert described({}, {}) == "defaults"


def test_option():
    assert described({"width": 100}, {}) == "width=100"


def test_option_before_config():
    assert resolve({"width": 100}, {"width": 60})["width"] == 100


def test_config():
    assert resolve({}, {"name": "x"})["name"] == "x"


def test_no_retries():
    assert resolve({"retries": 0}, {})["retries"] == 0


def test_no_color():
    assert described({}, {"color": False}) == "color=False"


@pytest.mark.parametrize("values", [(), (None, None)])
def test_nothing_given(values):
    assert first_given(*values) is None


def test_second():
    assert first_given(None, 4) == 4
