import pytest
from files import extension, numbered, stem, unused


@pytest.mark.parametrize(("name", "expected"), [("a.txt", "txt"), ("a.tar.gz", "gz"), (".profile", ""), ("make", "")])
def test_extension(name, expected):
    assert extension(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("image.py", "image"), ("a.tar.gz", "a.tar"), ("make", "make"), ("text.txt", "text")]
)
def test_stem(name, expected):
    assert stem(name) == expected


def test_numbered():
    assert numbered("image.png", 2) == "image-2.png"


def test_unused():
    assert unused("a.md", ["b.md"]) == "a.md"


def test_used():
    assert unused("a.md", ["a.md", "a-2.md"]) == "a-3.md"
