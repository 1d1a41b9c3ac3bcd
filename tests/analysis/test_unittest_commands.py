"""Which commands run tests by unittest."""

import pytest

from suspectra_recorder.unittest.commands import runs_unittest

COMMANDS = [
    ("python -m unittest -v", True),
    ("uv run python -m unittest", True),
    ("python3 script.py", True),
    ("python3.12 -Werror script", True),
    ("./script.py --fast", True),
    ("coverage run script.py", True),
    ("python manage.py test", True),
    ("poetry run python manage.py test shop", True),
    ("python -m django test", True),
    ("/work/bin/django-admin test", True),
    ("zope-testrunner --path src", True),
    ("pytest", False),
    ("pytest script.py", False),
    ("python -m pytest", False),
    ("python other.py", False),
    ("make script", False),
    ("python python_tests.py", False),
    ("python -c pass script.py", False),
    ("python", False),
    ("python gone.py", False),
    ("python -m script", True),
    ("python script.py -m slow", True),
    ("python -m shop.tests -v", True),
    ("python -m shop", False),
    ("python -m other", False),
    ("python -m gone", False),
    ("", False),
]


@pytest.mark.parametrize(("command", "expected"), COMMANDS)
def test_which_commands_run_unittest(tmp_path, command, expected):
    (tmp_path / "script.py").write_text("import unittest\n")
    (tmp_path / "script").write_text("import unittest\n")
    (tmp_path / "other.py").write_text("import pytest, unittest\n")
    (tmp_path / "manage.py").write_text("from django.core.management import execute_from_command_line\n")
    (tmp_path / "python_tests.py").write_text("import nothing_known\n")
    for folder, main in ((tmp_path / "shop", "import pytest\n"), (tmp_path / "shop" / "tests", "from . import run\n")):
        folder.mkdir()
        (folder / "run.py").write_text("import unittest\n")
        (folder / "__main__.py").write_text(main)
    assert runs_unittest(command.split(), str(tmp_path)) == expected
