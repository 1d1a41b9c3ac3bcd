"""Projects whose tests fail because of a fault whose place is known, for a comparison with other tools.

They are made from sdists, with one test or one character changed; `small` is written by this module.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Subject:
    """A project whose tests fail because of a fault that is known.

    `sdists` gives the source, and where a second is named, the tests. `package` lies in the sdist; `edits` are
    (file, old, new) with the old text found once, or nothing to add at the end; `faults` are files and lines.
    """

    name: str
    package: str
    make: Callable[[Path, Path, Subject], None]
    faults: tuple[tuple[str, int], ...]
    project: str = ""
    version: str = ""
    edits: tuple[tuple[str, str, str], ...] = ()
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()  # folders of the sdist that contain no tests

    @property
    def source(self) -> str:
        return Path(self.package).name


def from_sdist(folder: Path, python: Path, subject: Subject) -> None:
    """Package and tests side by side, whatever the layout of the sdist."""
    with tempfile.TemporaryDirectory() as scratch:
        wanted = f"{subject.project}=={subject.version}"
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "download"]
        subprocess.run([*pip, "--no-deps", "--no-binary", ":all:", "-d", scratch, wanted], check=True)
        with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as archive:
            archive.extractall(scratch, filter="data")
        (sdist,) = (p for p in Path(scratch).iterdir() if p.is_dir())
        shutil.copytree(sdist / subject.package, folder / subject.source)
        shutil.copytree(sdist / "tests", folder / "tests", ignore=shutil.ignore_patterns(*subject.without))
    for file, old, new in subject.edits:
        path = folder / file
        text = path.read_text() if path.exists() else ""
        if text.count(old) != 1 and old:
            sys.exit(f"{subject.name}: {old!r} is not found once in {file}")
        path.write_text(text.replace(old, new) if old else text + new)


def small(folder: Path, python: Path, subject: Subject) -> None:
    """Sixteen functions, forty tests; one of them has a wrong bound, and two tests see it."""
    (folder / "shapes").mkdir()
    (folder / "tests").mkdir()
    functions = [f"def clip_{n}(value, limit):\n{_body(n)}\n" for n in range(16)]
    (folder / "shapes" / "__init__.py").touch()
    (folder / "shapes" / "clip.py").write_text("\n\n".join(functions))
    tests = ["import pytest\n\nfrom shapes import clip\n"]
    values = {n: (0, 9) if n >= 8 else (0, 9, -3) for n in range(16)}
    values[5] = (0, 7, 10)  # the last two are within the bound and fail; 0 is far from it
    for n, given in values.items():
        cases = [(value, _right(n, value)) for value in given]
        tests.append(
            f"@pytest.mark.parametrize(('value', 'expected'), {cases})\n"
            f"def test_clip_{n}(value, expected):\n    assert clip.clip_{n}(value, {10 + n}) == expected\n"
        )
    (folder / "tests" / "test_clip.py").write_text("\n\n".join(tests))


def _body(n: int) -> str:
    wrong = n == 5  # takes what is up to ten below the bound for too much
    return (
        f"    if value < 0:\n        value = -value\n"
        f"    if value > limit{' - 10' if wrong else ''}:\n        value = limit\n    return value + {n}"
    )


def _right(n: int, value: int) -> int:
    return min(abs(value), 10 + n) + n


R1 = """

def test_comment_between_two_cte():
    (statement,) = sqlparse.parse("WITH a AS (), -- between\\n b AS () SELECT * FROM b;")
    assert statement.get_type() == "SELECT"
"""
R2 = """

def test_split_two_cases_in_begin():
    case = "x := CASE WHEN a THEN 1 ELSE 2 END;\\n"
    body = f"CREATE TRIGGER t AFTER UPDATE ON x FOR EACH ROW BEGIN\\n{case}{case}END;"
    assert len(sqlparse.split(body)) == 1
"""
SUBJECTS = (
    Subject("small", "shapes", small, (("shapes/clip.py", 44),)),
    Subject(
        "r1",
        "sqlparse",
        from_sdist,
        tuple(("sqlparse/sql.py", line) for line in (431, 432, 434)),
        "sqlparse",
        "0.4.3",
        (("tests/test_regressions.py", "", R1),),
    ),
    Subject(
        "r2",
        "sqlparse",
        from_sdist,
        (("sqlparse/engine/statement_splitter.py", 66), ("sqlparse/engine/statement_splitter.py", 71)),
        "sqlparse",
        "0.5.0",
        (("tests/test_split.py", "", R2),),
    ),
    Subject(
        "m1",
        "more_itertools",
        from_sdist,
        (("more_itertools/more.py", 1960),),
        "more-itertools",
        "10.5.0",
        (("more_itertools/more.py", "q + 1 if i <= r else q", "q + 1 if i < r else q"),),
    ),
    Subject(
        "large",
        "src/marshmallow",
        from_sdist,
        (("marshmallow/validate.py", 441),),
        "marshmallow",
        "3.26.1",
        (("marshmallow/validate.py", "length > self.max", "length >= self.max"),),
        ("simplejson",),
        ("mypy_test_cases",),
    ),
    Subject(
        "toml",
        "tomlkit",
        from_sdist,
        (("tomlkit/parser.py", 967),),
        "tomlkit",
        "0.15.2",
        (("tomlkit/parser.py", "if len(close) >= 6:", "if len(close) > 6:"),),
    ),
)
