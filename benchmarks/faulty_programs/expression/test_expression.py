import pytest
from expression import evaluate


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("12 + 3", 15),
        ("1+2+3", 6),
        ("2*3+4", 10),
        ("2+3*4", 14),
        ("(2+3)*4", 20),
        ("9-4", 5),
        ("9-4-3", 2),
        ("8-(3-1)", 6),
        ("10-2*3-1", 3),
    ],
)
def test_evaluate(text, expected):
    assert evaluate(text) == expected


@pytest.mark.parametrize("text", ["", "1+", "1 2 x", "(*"])
def test_wrong(text):
    with pytest.raises(ValueError, match="is"):
        evaluate(text)
