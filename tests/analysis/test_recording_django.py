"""A project of Django, recorded as its own commands run its tests. Django is real, and pytest is not needed."""

import io
import sys
from pathlib import Path

import pytest

from suspectra.evidence.discovery import run_again_by
from suspectra.evidence.recording import RecordingSource
from suspectra.localizer import Localizer
from suspectra.recording.launch import run
from suspectra.techniques import make_technique

PLUGINS = Path(sys.prefix) / "plugins"
REQUIREMENTS = Path(__file__).parents[1] / "plugins.txt"

MANAGE = """\
import os
import sys

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
"""
RUNNER = """\
import os
import sys

import django
from django.conf import settings
from django.test.utils import get_runner

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
django.setup()
sys.exit(bool(get_runner(settings)().run_tests(["cart", "shop"])))
"""
FILES = {
    "manage.py": MANAGE,
    "runtests.py": RUNNER,
    "shop/__init__.py": "",
    "shop/settings.py": """\
SECRET_KEY = "no secret"
INSTALLED_APPS = ["cart"]
ROOT_URLCONF = "shop.urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
""",
    "shop/urls.py": 'from cart.views import index\nfrom django.urls import path\n\nurlpatterns = [path("", index)]\n',
    "shop/tests.py": """\
from cart.models import total
from django.test import SimpleTestCase

class Empty(SimpleTestCase):
    def test_total(self):
        self.assertEqual(total([]), 0)
""",
    "cart/__init__.py": "",
    "cart/models.py": """\
from django.db import models


class Item(models.Model):
    price = models.IntegerField()
    quantity = models.IntegerField(default=1)


def total(items):
    found = 0
    for item in items:
        found += item.price
    return found
""",
    "cart/views.py": """\
from cart.models import Item, total
from django.http import JsonResponse


def index(request):
    return JsonResponse({"total": total(Item.objects.all())})
""",
    "cart/tests.py": """\
from cart.models import Item, total
from django.test import TestCase


class Items(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.tea = Item.objects.create(price=5, quantity=2)

    def test_price(self):
        self.assertEqual(self.tea.price, 5)

    def test_total(self):
        self.assertEqual(total([self.tea]), 10)

    def test_page(self):
        self.assertEqual(self.client.get("/").json(), {"total": 10})


class NoItems(TestCase):
    def test_page(self):
        self.assertEqual(self.client.get("/").json(), {"total": 0})
""",
}
EXPECTED = {
    "cart/tests.py::Items::test_page": "failed",
    "cart/tests.py::Items::test_price": "passed",
    "cart/tests.py::Items::test_total": "failed",
    "cart/tests.py::NoItems::test_page": "passed",
    "shop/tests.py::Empty::test_total": "passed",
}
COMMANDS = ["manage.py test", "runtests.py", "-m django test --settings shop.settings"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    assert PLUGINS.is_dir(), f"{sys.executable} -m pip install --no-deps --target {PLUGINS} -r {REQUIREMENTS}"
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(folder, words, **options):
    reported = io.StringIO()
    status = run(["python", *words.split()], folder, python=sys.executable, report=reported, **options)
    return status, reported.getvalue()


@pytest.mark.parametrize("words", COMMANDS)
def test_its_tests_are_recorded_and_their_fault_is_found(project, words):
    """Models are imported before any module of unittest is, by what sets Django up."""
    status, reported = record(project, words)
    assert (status, "recorded 5 tests" in reported) == (1, True), reported
    source = RecordingSource(project)
    evidence = source.read()
    assert ({test.name: test.verdict.value for test in evidence.tests}, evidence.problems) == (EXPECTED, ())
    assert run_again_by(source) == ("python", *words.split())
    suspect = Localizer(make_technique("evidence")).update(evidence).suspect(0)
    assert (suspect.location.file, suspect.location.line) == ("cart/models.py", 12)


@pytest.mark.slow
def test_what_failed_and_what_a_change_can_affect_runs_again(project):
    record(project, "manage.py test")
    model = project / "cart" / "models.py"
    model.write_text(model.read_text().replace("item.price\n", "item.price * item.quantity\n"))
    status, reported = record(project, "manage.py test", failed_and_affected=True)
    assert (status, "recorded 4 tests" in reported) == (0, True), reported  # not the one that uses no item
    evidence = RecordingSource(project).read()
    assert {test.verdict.value for test in evidence.tests} == {"passed"}
    assert len(evidence.tests) == len(EXPECTED)


@pytest.mark.slow
def test_tests_in_other_processes_are_not_lost_without_a_word(project):
    status, reported = record(project, "manage.py test --parallel 2 cart.tests.NoItems shop")
    assert (status, "recorded 0 tests" in reported, "--parallel" in reported) == (0, True, True), reported


def test_what_django_prints_stays_as_it_is(project, capfd):
    record(project, "manage.py test -v 0 shop")
    _, err = capfd.readouterr()
    assert err.splitlines()[-1] == "OK", err
