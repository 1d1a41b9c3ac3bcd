"""Which commands run tests by unittest, itself or in a runner that stands on it, such as Django's."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

MODULES = ("unittest", "django", "nose2", "zope.testrunner", "testtools.run")
"""What ``python -m`` runs tests by."""

PROGRAMS = ("django-admin", "nose2", "zope-testrunner")
"""Programs that do the same."""

_PYTEST = ("pytest", "py.test")
_MENTIONED = ("unittest", "django")  # in a script; Django's names only a function that finds the runner
_MAX_SCRIPT = 1 << 20  # bytes
_INTERPRETER = re.compile(r"(python|pypy)[\d.]*w?")


def runs_unittest(words: Sequence[str], folder: str) -> bool:
    """Whether a command runs tests by unittest: by a known module or program, or by a script or module of its own.

    A script is only read, not run: it has to mention unittest or Django, and not pytest. So has a module. For the
    `__main__` of a package, which often only calls another module of it, a file beside it can mention them.
    """
    words = words[_interpreter(words) :]
    names = [_name(word) for word in words]
    modules = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "-m"]
    if any(name in _PYTEST for name in (*names, *modules)):
        return False
    if any(name in PROGRAMS for name in names) or any(module in MODULES for module in modules):
        return True
    if "-c" in words:
        return False
    return _mentions_runner(os.path.join(folder, _script(words))) or any(_runs_by(name, folder) for name in modules)


def starts_interpreter(words: Sequence[str]) -> bool:
    """Whether a Python process only starts another one that runs the tests, as ``poetry run python`` does.

    Whether there is a second interpreter.
    """
    return _interpreter(words) > 0


def _interpreter(words: Sequence[str]) -> int:
    """The index of the last word that is a Python interpreter; 0 if there is none."""
    return max((i for i, word in enumerate(words) if _INTERPRETER.fullmatch(_name(word))), default=0)


def _name(word: str) -> str:
    return os.path.basename(word).removesuffix(".exe")


def _script(words: Sequence[str]) -> str:
    """The script of a command: the first word that is named like one, else the first argument of an interpreter."""
    named = (word for word in words if word.endswith(".py"))
    given = (word for word in words[1:] if not word.startswith("-") and _INTERPRETER.fullmatch(_name(words[0])))
    return next(named, next(given, ""))


def _runs_by(module: str, folder: str) -> bool:
    """Whether ``python -m`` with a module of a folder runs tests by unittest."""
    path = os.path.join(folder, *module.split("."))
    main = os.path.join(path, "__main__.py")
    if not os.path.isfile(main):
        return _mentions_runner(f"{path}.py")
    if "pytest" in _text(main):
        return False
    return any(_mentions_runner(os.path.join(path, name)) for name in os.listdir(path) if name.endswith(".py"))


def _mentions_runner(script: str) -> bool:
    text = _text(script)
    return "pytest" not in text and any(word in text for word in _MENTIONED)


def _text(script: str) -> str:
    try:
        with open(script, encoding="utf-8", errors="replace") as stream:
            return stream.read(_MAX_SCRIPT)
    except OSError:
        return ""
