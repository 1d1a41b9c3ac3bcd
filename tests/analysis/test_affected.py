"""Which tests a change can reach: decided on a recording, and compared with real runs of everything."""

import io
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from suspectra.base.errors import UsageError
from suspectra.cli.main import cli
from suspectra.evidence.recording import RecordingSource
from suspectra.recording import launch, merging
from suspectra.selection.revision import Revision, project_files, refusal
from suspectra.selection.selection import select
from suspectra_recorder.log import compaction
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, split_json
from suspectra_recorder.log.frames import frames as log_frames

PROJECT = Path(__file__).parents[1] / "fixtures" / "affected"
ALL = {
    "test_days",
    "test_shared",
    "test_other",
    "test_in",
    "test_generated",
    "test_late",
    "test_base",
    "test_constant",
    "test_unit",
    "test_property",
    "app.tax.documented",
}


@pytest.fixture(scope="module", autouse=True)
def without_other_plugins():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield


def record(folder, *arguments, **options):
    """Run pytest with the recorder; its status and what was said."""
    reported = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        status = launch.run(["pytest", "-q", "-p", "no:cacheprovider", *arguments], folder, report=reported, **options)
    return status, reported.getvalue()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "project"
    shutil.copytree(PROJECT, folder)
    status, reported = record(folder)
    assert status == 0, reported
    return folder


@pytest.fixture
def project(recorded, tmp_path):
    return Path(shutil.copytree(recorded, tmp_path / "project"))


def edit(folder, file, old, new):
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def short(names):
    return {name.split("::")[-1].partition("[")[0] for name in names}


def test_after_no_change_nothing_is_chosen(project):
    selection = select(str(project))
    assert (selection.failed, dict(selection.affected)) == ((), {})
    assert short(selection.left_out) == ALL


# file, what is replaced, by what, the tests that can notice: the doctest of a file notices any change of its text, and
# an inherited test any change of tests in the files it comes from
IN_TEST_MORE = {"test_late", "test_constant", "test_unit", "test_property"}
IN_TEST_TAX = {"test_days", "test_shared", "test_other", "test_in", "test_base"}
DOCTEST, INHERITED = "app.tax.documented", "test_base"
IMPORTERS = ALL - {"test_generated"}  # of app.tax and app.rates
PROPERTY = """        return 1

    @value.setter
    def value(self, value):
        pass
"""
EDITS = {
    "comment": ("app/tax.py", "class Table", "# a comment\n\n\nclass Table", {DOCTEST}),
    "docstring": ("app/rates.py", '"""Rates."""', '"""Rates of all kinds."""', set()),
    "layout": ("app/tax.py", "return n * RATE", "return (\n            n * RATE\n        )", {DOCTEST}),
    "method": ("app/tax.py", "n * RATE", "RATE * n", {"test_days", DOCTEST}),
    "function": ("app/tax.py", "sum([2])", "sum([1, 1])", {"test_other", "test_in", "test_unit", DOCTEST}),
    "fixture": ("app/rates.py", "return x * RATE", "return RATE * x", {"test_days", "test_shared"}),
    "constant": ("app/rates.py", "RATE = 3", "RATE = 4 - 1", IMPORTERS),
    "decorator": ("app/tax.py", "def other", "@staticmethod\ndef other", IMPORTERS),
    "called at import": ("app/table.py", "i * i", "i + i", {"test_generated"}),
    "late import": ("app/late.py", "VALUE = 1", "VALUE = 2", IN_TEST_MORE),
    "called late": ("app/late.py", "return 5", "return 6", IN_TEST_MORE),
    "default": ("app/tax.py", "def other(x=0)", "def other(x=1)", {"test_other", "test_in", "test_unit", DOCTEST}),
    "method added": ("app/tax.py", "    def rate", "    def more(self): ...\n\n    def rate", IMPORTERS),
    "helper added": ("app/tax.py", "def other", "def fresh():\n    return 1\n\n\ndef other", {DOCTEST}),
    "builtin hidden": ("app/tax.py", "def other", "def sum(_):\n    return 1\n\n\ndef other", IMPORTERS),
    "test": ("tests/test_tax.py", "other(2) == 1", "1 == other(2)", {"test_in", INHERITED}),
    "test added": ("tests/test_tax.py", "def test_days", "def test_more():\n    pass\n\n\ndef test_days", {INHERITED}),
    "comment in tests": ("tests/test_tax.py", "def test_days", "# days\ndef test_days", set()),
    "parametrisation": ("tests/test_tax.py", "[0, 1]", "[0, 2]", {"test_other", INHERITED}),
    "test helper": ("tests/test_tax.py", "return 0", "return 0 + 0", IN_TEST_TAX),
    "helper module": ("tests/test_helpers.py", "return 3", "return 3 + 0", {"test_generated"}),
    "inherited test": ("tests/base.py", "assert self.value", "assert not not self.value", {INHERITED}),
    "two of one name": (
        "app/rates.py",
        PROPERTY,
        PROPERTY.replace("1", "+1").replace("pass", "return"),
        {"test_property"},
    ),
    "conftest": ("tests/conftest.py", "return 7", "return 8", ALL - {DOCTEST}),
    "broken": ("app/table.py", "def square", "def (", {"test_generated"}),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_reaches(project, name):
    file, old, new, expected = EDITS[name]
    edit(project, file, old, new)
    selection = select(str(project))
    assert short(selection.affected) == expected
    assert selection.known == len(selection.left_out) + len(selection.affected)


def test_a_file_that_is_gone_or_new(project):
    (project / "app" / "table.py").rename(project / "app" / "squares.py")
    assert short(select(str(project)).affected) == {"test_generated"}
    (project / "app" / "squares.py").rename(project / "app" / "table.py")
    assert not select(str(project)).affected
    (project / "conftest.py").write_text("")
    assert short(select(str(project)).affected) == ALL
    (project / "conftest.py").unlink()
    (project / "tests" / "test_more.py").unlink()
    selection = select(str(project))
    assert short(selection.left_out) == ALL - IN_TEST_MORE
    assert not selection.affected


def test_a_module_that_could_not_be_imported_before(tmp_path):
    (tmp_path / "app.py").write_text("try:\n    import fast\nexcept ImportError:\n    fast = None\n")
    (tmp_path / "test_app.py").write_text("import app\n\n\ndef test_it():\n    assert app.fast is None\n")
    record(tmp_path)
    assert not select(str(tmp_path)).affected
    (tmp_path / "fast.py").write_text("")
    assert list(select(str(tmp_path)).affected.values()) == [("fast.py: what runs at import",)]


@pytest.mark.slow
def test_a_function_that_a_late_import_calls_again_reaches_the_users_of_the_module(tmp_path):
    (tmp_path / "app.py").write_text("def f():\n    return 1\n")
    (tmp_path / "late.py").write_text("import app\n\nVALUE = app.f()\n")
    (tmp_path / "other.py").write_text("import app\n\n\ndef g():\n    return 1\n")
    tests = {
        "first": "import app\n\n\ndef test_first():\n    assert app.f()\n    import late\n",
        "second": "def test_second():\n    from late import VALUE\n\n    assert VALUE == 1\n",
        "third": "import other\n\n\ndef test_third():\n    assert other.g()\n",
    }
    for name, text in tests.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    record(tmp_path)
    edit(tmp_path, "app.py", "return 1", "return 2")
    # test_third imports the file of the function, but not the module whose import called it
    assert short(select(str(tmp_path)).affected) == {"test_first", "test_second"}
    status, _ = record(tmp_path, failed_and_affected=True)
    assert status == 1
    assert short(select(str(tmp_path)).failed) == {"test_second"}


@pytest.mark.parametrize(
    "names",
    ["__import__('plug' + 'in')", "importlib.import_module('plug' + 'in')", "importlib.import_module('plugin')"],
)
def test_modules_that_are_imported_by_made_up_names(tmp_path, names):
    (tmp_path / "plugin.py").write_text("LIMIT = 1\n")
    (tmp_path / "app.py").write_text(f"import importlib\n\nlimit = {names}.LIMIT\n")
    (tmp_path / "test_app.py").write_text("import app\n\n\ndef test_it():\n    assert app.limit\n")
    record(tmp_path)
    edit(tmp_path, "plugin.py", "1", "0")
    assert short(select(str(tmp_path)).affected) == {"test_it"}


def test_what_cannot_be_read_runs(project):
    (log,) = (project / ".suspectra" / "recording").glob("*.log")
    data = log.read_bytes()
    log.write_bytes(data[: len(data) // 2])
    torn = select(str(project))
    assert short(torn.left_out) < ALL
    assert not torn.affected
    log.write_bytes(b"")
    assert select(str(project)).known == 0
    shutil.rmtree(project / ".suspectra")
    assert "so all tests run" in select(str(project)).summary()


def test_damage_makes_tests_run(project):
    """Every frame is whole by its checksum, but what is in it was changed at random."""
    chance = random.Random(3)
    (log,) = (project / ".suspectra" / "recording").glob("*.log")
    edit(project, "app/rates.py", "return x * RATE", "return RATE * x")
    entries = list(log_frames(log.read_bytes()))
    needed = short(select(str(project)).affected)
    for step in range(120):
        only_rows = step % 2
        damaged = [MAGIC]
        for kind, payload, _ in entries:
            start = 0
            if only_rows:
                start = (
                    len(payload) - len(split_json(payload)[1]) if kind in (FrameKind.TEST, FrameKind.SHARED) else None
                )
            if start is not None and chance.random() < 0.3:
                at = chance.randrange(start, len(payload) + 1)
                payload = payload[:at] + chance.randbytes(chance.randrange(4)) + payload[at + chance.randrange(4) :]
            damaged.append(frame(FrameKind(kind), payload))
        log.write_bytes(b"".join(damaged))
        selection = select(str(project))
        assert selection.known <= 12
        if only_rows:
            assert needed <= short(selection.affected)


def test_data_that_changed_is_reported(project):
    (project / "rates.json").write_text("{}")
    (project / "README\x1b[31m.md").write_text("")
    selection = select(str(project))
    assert not selection.affected
    assert {"rates.json", "README\x1b[31m.md"} <= set(selection.others)
    assert "is not known: run without" in selection.notice()
    assert "\x1b" not in selection.notice()


def test_a_page_of_the_ranking_is_not_data(project, monkeypatch):
    monkeypatch.chdir(project)
    (project / "tests" / "test_fail.py").write_text("from app import tax\ndef test_fail(): assert tax.other() == 3\n")
    record(project, "tests/test_fail.py")
    page = project / "out.html"
    done = CliRunner().invoke(cli, ["report", "--html", str(page)])
    assert page.exists(), done.output
    (project / "other.html").write_text("<p>")
    selection = select(str(project))
    assert {"out.html", "other.html"} & set(selection.others) == {"other.html"}
    assert "which tests read it is not known" in replace(selection, others=("other.html",)).notice()


# --- git


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def repository(project):
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    return project


@pytest.mark.slow
def test_since_a_revision(repository):
    root = str(repository)
    assert not select(root, "HEAD").affected
    edit(repository, "app/table.py", "i * i", "i**2")
    git(repository, "commit", "-qam", "squares")
    record(repository, failed_and_affected=True)
    edit(repository, "tests/test_tax.py", "other(2) == 1", "1 == other(2)")
    record(repository, failed_and_affected=True)
    assert not select(root).affected, "all of it has been run"
    assert short(select(root, "HEAD").affected) == {"test_in", INHERITED}, "what is not committed"
    assert short(select(root, "HEAD~1").affected) == {"test_in", INHERITED, "test_generated"}
    git(repository, "checkout", "-q", "HEAD~1", "--", "app/table.py")
    assert short(select(root, "HEAD~1").affected) == {"test_in", INHERITED, "test_generated"}, "it was another one"
    (repository / "rates.csv").write_text("1")
    assert "rates.csv" in select(root, "HEAD").others
    assert "rates.csv" in select(root).others
    (repository / ".gitignore").write_text("*.csv\n")
    assert select(root, "HEAD").others == ()


def test_files_that_are_new_or_renamed_since_a_revision(repository):
    (repository / "app" / "table.py").rename(repository / "app" / "squares.py")
    edit(repository, "tests/test_table.py", "app.table", "app.squares")
    record(repository, failed_and_affected=True)
    assert not select(str(repository)).affected
    assert short(select(str(repository), "HEAD").affected) == {"test_generated"}


NAMES = ["tab\there", "new\nline", 'quo"te', "späce ünï", "-dash", "*star", "back\\slash", os.fsdecode(b"\xff\xfe")]


def test_odd_file_names(repository):
    for name in NAMES:
        (repository / name).write_text("1")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "odd")
    assert set(NAMES) <= Revision.from_name(str(repository), "HEAD").files.keys()
    assert set(NAMES) <= set(project_files(str(repository)))
    for name in NAMES:
        (repository / name).write_text("2")
    selection = select(str(repository), "HEAD")
    assert set(NAMES) <= set(selection.others)
    assert selection.notice().isprintable()


@pytest.mark.parametrize(
    "revision", ["", "-x", "--help", "--upload-pack=touch x", "nope", "HEAD:app", "HEAD\0", "HEAD~9", "a b\n"]
)
def test_revisions_that_are_none(repository, revision):
    with pytest.raises(UsageError, match="is not a revision") as caught:
        select(str(repository), revision)
    assert caught.value.problem.cure


def test_no_repository_and_no_git(project, monkeypatch):
    with pytest.raises(UsageError, match="not a git repository"):
        select(str(project), "HEAD")
    assert not select(str(project)).affected
    monkeypatch.setenv("PATH", str(project))
    with pytest.raises(UsageError, match="git can't be run"):
        select(str(project), "HEAD")
    assert not select(str(project)).affected


def test_a_repository_of_another_user(repository, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)  # which may trust all folders
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    with pytest.raises(UsageError, match="belongs to another user") as caught:
        select(str(repository / "app"), "HEAD")
    assert caught.value.problem.cure.endswith(f"--add safe.directory {repository}`")
    assert refusal(str(repository / "app")) == caught.value.problem


def test_no_refusal_without_a_repository(repository, tmp_path):
    assert refusal(str(repository)) is refusal(str(tmp_path)) is None


def test_a_shallow_clone(repository, tmp_path):
    edit(repository, "app/table.py", "i * i", "i**2")
    git(repository, "commit", "-qam", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    shutil.copytree(repository / ".suspectra", tmp_path / "shallow" / ".suspectra")
    assert short(select(str(tmp_path / "shallow")).affected) == {"test_generated"}
    with pytest.raises(UsageError, match="is not a revision"):
        select(str(tmp_path / "shallow"), "HEAD~1")


def test_a_workspace_below_the_repository(project, tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "outside.txt").write_text("")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "all")
    (tmp_path / "outside.txt").write_text("changed")
    edit(project, "app/table.py", "i * i", "i**2")
    selection = select(str(project), "HEAD")
    assert short(selection.affected) == {"test_generated"}
    assert selection.others == ()


def with_submodule(repository, tmp_path):
    """Add a submodule with a file; the folder of the other repository."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "data.txt").write_text("1")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "data")
    git(repository, "submodule", "--quiet", "add", str(other), "sub")
    return other


def test_submodules_are_followed_and_links_are_not(repository, tmp_path):
    other = with_submodule(repository, tmp_path)
    (repository / "link.txt").symlink_to(other / "data.txt")
    (repository / "away").symlink_to(other)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "links")
    (other / "data.txt").write_text("2")
    (repository / "sub" / "data.txt").write_text("2")
    assert select(str(repository), "HEAD").others == ("sub/data.txt",)
    (repository / "sub" / "data.txt").write_text("1")
    (repository / "link.txt").unlink()
    (repository / "link.txt").symlink_to("/etc/passwd")
    assert select(str(repository), "HEAD").others == ("link.txt",)
    source = repository / "app" / "table.py"
    source.unlink()
    source.symlink_to(other / "data.txt")
    assert short(select(str(repository)).affected) == {"test_generated"}, "what leads out of the workspace is gone"


@pytest.mark.parametrize("inside", ["", "sub"])
def test_nothing_that_a_repository_or_submodule_names_is_run(repository, tmp_path, inside):
    with_submodule(repository, tmp_path)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "sub")
    folder = repository / inside
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    settings = {
        "core.fsmonitor": trap,
        "core.pager": trap,
        "core.sshCommand": trap,
        "diff.external": trap,
        "diff.trap.textconv": trap,
        "diff.trap.command": trap,
        "filter.trap.clean": trap,
        "filter.trap.smudge": trap,
        "filter.trap.process": trap,
        "core.hooksPath": tmp_path / "hooks",
        "alias.ls-tree": f"!{trap}",
    }
    (tmp_path / "hooks").mkdir()
    for hook in ("post-index-change", "post-checkout", "pre-commit", "fsmonitor-watchman"):
        shutil.copy(trap, tmp_path / "hooks" / hook)
    for key, value in settings.items():
        git(folder, "config", key, str(value))
    about = repository / ".git" / ("modules/sub/info" if inside else "info")
    about.mkdir(exist_ok=True)
    (about / "attributes").write_text("* diff=trap filter=trap\n")
    edit(repository, "app/table.py", "i * i", "i**2")
    (repository / "sub" / "data.txt").write_text("2")
    (repository / "more.txt").write_text("")
    selection = select(str(repository), "HEAD")
    assert (short(selection.affected), selection.others) == ({"test_generated"}, ("more.txt", "sub/data.txt"))
    assert select(str(repository)).affected
    assert not (tmp_path / "sprung").exists()
    subprocess.run(["git", "diff", "HEAD"], cwd=folder, capture_output=True, check=False)
    assert (tmp_path / "sprung").exists(), "the trap works"


def test_other_ends_of_lines_are_no_change(repository):
    for path in repository.rglob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (repository / "pytest.ini").write_bytes((repository / "pytest.ini").read_bytes().replace(b"\n", b"\r\n"))
    selection = select(str(repository), "HEAD")
    assert (short(selection.affected), selection.others) == ({DOCTEST}, ())


def test_the_commands(repository, monkeypatch):
    edit(repository, "app/table.py", "i * i", "i**2")
    ask = ["affected", "--workspace", str(repository)]
    shown = CliRunner().invoke(cli, ask)
    assert shown.exit_code == 0
    assert shown.output.startswith("tests/test_table.py::test_generated\n    app/table.py: what runs at import\n")
    assert "12 known tests: 0 failed last time, 1 reached" in shown.output
    reported = json.loads(CliRunner().invoke(cli, [*ask, "--format", "json", "--since", "HEAD"]).output)
    name, reasons = "tests/test_table.py::test_generated", ["app/table.py: what runs at import"]
    assert reported == {"known": 12, "tests": [{"name": name, "reasons": reasons}], "other_files": []}
    with pytest.raises(UsageError, match="goes with --failed-and-affected"):
        record(repository, since="HEAD")


# --- real runs


def outcome(folder):
    """Every recorded test with its verdict, what it executed and its edges, by line."""
    evidence = RecordingSource(folder, edges=True).read()
    elements, edges = evidence.elements, evidence.edges
    lines = [(evidence.files[f].path, n) for f, n in zip(elements.file.tolist(), elements.line.tolist(), strict=True)]
    table = edges.edges
    ends = list(zip(table.file.tolist(), table.source.tolist(), table.target.tolist(), strict=True))
    return {
        test.name: (test.verdict.value, {lines[i] for i in row.tolist()}, {ends[i] for i in taken.tolist()})
        for test, row, taken in zip(evidence.tests, evidence.rows, edges.rows, strict=True)
    }


def fresh_copy(folder, to):
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns(".suspectra", "__pycache__"))
    return to


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["plain", "xdist"])
def test_only_what_is_needed_runs(project, workers, capfd):
    edit(project, "tests/test_tax.py", "assert other(2) == 1", "assert other(2) == 0")
    status, reported = record(project, *workers, failed_and_affected=True)
    assert status == 1
    assert (
        "0 failed last time, 2 reached by what changed (tests/test_tax.py changed); 2 tests and new ones run"
        in reported
    )
    assert "recorded 2 tests in" in reported
    edit(project, "tests/test_tax.py", "def test_days", "def test_more():\n    pass\n\n\ndef test_days")
    edit(project, "app/table.py", "i * i", "i**2")
    status, reported = record(project, *workers, failed_and_affected=True)
    assert status == 1
    assert "1 failed last time, 2 reached by what changed" in reported
    assert "recorded 4 tests, 1 of them new, in" in reported
    edit(project, "tests/test_tax.py", "assert other(2) == 0", "assert other(2) == 1")
    assert record(project, *workers, failed_and_affected=True)[0] == 0
    status, reported = record(project, *workers, failed_and_affected=True)
    assert status == 0, "nothing to run is no failure"
    assert "0 reached by what changed; only new ones run" in reported
    assert {v for v, *_ in outcome(project).values()} == {"passed"}
    assert short(outcome(project)) == ALL | {"test_more"}


def test_what_an_interrupted_run_did_not_come_to_stays_chosen(project):
    edit(project, "app/rates.py", "RATE = 3", "RATE = 4")
    status, _ = record(project, "-x", failed_and_affected=True)
    assert status == 1
    again = select(str(project))
    assert short(again.failed) == {"test_days"}
    assert {"test_shared", "test_other", "test_in"} <= short(again.affected)


def test_another_python_runs_all(project, monkeypatch):
    from suspectra.selection import selection

    asked = selection.select

    def elsewhere(root, since):
        found = asked(root, since)
        return selection.Selection(found.known, left_out=dict.fromkeys(found.left_out, "3.9.0"))

    monkeypatch.setattr(selection, "select", elsewhere)
    _, reported = record(project, failed_and_affected=True)
    assert "recorded 12 tests in" in reported


@pytest.mark.parametrize("options", [{"include_tests": True}, {"counts": True}], ids=lambda o: "".join(o))
def test_other_ways_to_record(project, options):
    shutil.rmtree(project / ".suspectra")
    record(project, **options)
    assert not select(str(project)).affected
    edit(project, "tests/test_tax.py", "def test_days", "def test_more():\n    pass\n\n\ndef test_days")
    edit(project, "app/rates.py", "return x * RATE", "return RATE * x")
    assert short(select(str(project)).affected) == {"test_days", "test_shared", INHERITED}


@pytest.mark.slow
def test_shards(project, tmp_path):
    shards = []
    for file in ("test_tax.py", "test_more.py"):
        shards.append(fresh_copy(project, tmp_path / file))
        record(shards[-1], f"tests/{file}")
    shutil.rmtree(project / ".suspectra")
    merging.merge(project / ".suspectra" / "recording", shards)
    assert not select(str(project)).affected
    edit(project, "app/rates.py", "return x * RATE", "return RATE * x")
    assert short(select(str(project)).affected) == {"test_days", "test_shared"}
    _, reported = record(project, failed_and_affected=True)
    assert "recorded 4 tests, 2 of them new, in" in reported
    assert not select(str(project)).affected


@pytest.mark.slow
def test_merged_logs_choose_the_same(project):
    edit(project, "app/rates.py", "RATE = 3", "RATE = 4 - 1")
    record(project, failed_and_affected=True)
    edit(project, "app/tax.py", "n * RATE", "RATE * n")
    assert short(select(str(project)).affected) == {"test_days", DOCTEST}
    before, rows = select(str(project)), outcome(project)
    folder = project / ".suspectra" / "recording"
    assert len(list(folder.iterdir())) == 2
    compaction.compact(str(folder), max_logs=0)
    assert len(list(folder.iterdir())) == 1
    assert select(str(project)) == before
    assert outcome(project) == rows


@pytest.mark.slow
def test_what_did_not_run_again_is_on_the_new_lines(project, tmp_path):
    edit(project, "app/tax.py", "class Table", "# more lines\n\n\nclass Table")
    edit(project, "app/tax.py", "    def rate(self):", "    def rate(self):\n        # and here")
    edit(project, "app/tax.py", "return sum([2])", "return max([2])")
    edit(project, "app/tax.py", "    if x:", "    if (  # a comment\n        x\n    ):")
    record(project, failed_and_affected=True)
    whole = fresh_copy(project, tmp_path / "whole")
    record(whole)
    assert outcome(project) == outcome(whole)
    assert RecordingSource(project).read().problems == ()


class Program:
    """A project that grows and changes at random: modules that import and call those before them, and their tests.

    What a function gives is a number below seven; tests that expect another one fail.
    """

    def __init__(self, folder, chance, modules=4, functions=3):
        self.folder, self.chance = folder, chance
        self.constants = {f"m{i}": chance.randrange(7) for i in range(modules)}
        names = [(module, f"f{n}") for module in self.constants for n in range(functions)]
        self.functions = {name: self._body(int(name[0][1:])) for name in names}
        self.tests = {f"test_{n}": self._test() for n in range(12)}
        self.comments = 0
        self.fixture = 1
        self.decorated = dict.fromkeys(self.constants, False)
        self.write()

    def _body(self, number):
        callee = None
        if number and self.chance.random() < 0.7:
            callee = (f"m{self.chance.randrange(number)}", f"f{self.chance.randrange(3)}")
        return [self.chance.randrange(7), self.chance.randrange(1, 4), callee]

    def _test(self):
        return [self.chance.choice(list(self.functions)), self.chance.randrange(5), self.chance.randrange(7)]

    def write(self):
        (self.folder / "tests").mkdir(parents=True, exist_ok=True)
        (self.folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
        for number, (module, constant) in enumerate(self.constants.items()):
            text = "# more\n" * (self.comments % 5) + "".join(f"import m{i}\n" for i in range(number))
            text += f"CONSTANT = {constant}\n\n\ndef same(function):\n    return function\n\n"
            for (where, name), (plus, limit, callee) in self.functions.items():
                if where == module:
                    called = f"{callee[0]}.{callee[1]}(x)" if callee else "x"
                    text += f"\n{'@same' if self.decorated[module] else ''}\ndef {name}(x):\n    if x > {limit}:\n"
                    text += f"        return ({called} + {plus}) % 7\n    return (x + CONSTANT) % 7\n"
            text += "\n\nTABLE = [f0(x) for x in range(3)]\n"
            (self.folder / f"{module}.py").write_text(text)
        (self.folder / "tests" / "conftest.py").write_text(
            "import pytest\n\nimport m0\n\n\n@pytest.fixture(scope='session')\ndef shared():\n"
            f"    return m0.f1({self.fixture})\n"
        )
        for part in range(3):
            text = "import m0, m1, m2, m3\n"
            for name, ((module, function), x, expected) in self.tests.items():
                if int(name[5:]) % 3 == part:
                    used = f"{module}.TABLE[{x % 3}]" if x == 4 else f"{module}.{function}({x})"
                    fixture = "shared" if x == 3 else ""
                    text += f"\n\ndef {name}({fixture}):\n    assert ({used} + {fixture or 0}) % 7 != {expected}\n"
            (self.folder / "tests" / f"test_part{part}.py").write_text(text)

    def change(self):
        """One random edit; what it was."""
        kind = self.chance.choice(
            ["body", "body", "body", "constant", "comment", "test", "new test", "decorator", "fixture", "function"]
        )
        if kind == "body":
            where = self.chance.choice(list(self.functions))
            self.functions[where] = self._body(int(where[0][1:]))
        elif kind == "constant":
            self.constants[self.chance.choice(list(self.constants))] = self.chance.randrange(7)
        elif kind == "comment":
            self.comments += 1
        elif kind == "test":
            self.tests[self.chance.choice(list(self.tests))] = self._test()
        elif kind == "new test":
            self.tests[f"test_{len(self.tests)}"] = self._test()
        elif kind == "decorator":
            module = self.chance.choice(list(self.constants))
            self.decorated[module] = not self.decorated[module]
        elif kind == "fixture":
            self.fixture = self.chance.randrange(5)
        elif kind == "function":
            module = self.chance.choice(list(self.constants))
            self.functions[module, f"g{len(self.functions)}"] = self._body(0)
        self.write()
        return kind


@pytest.mark.slow
def test_random_edits_end_as_if_all_tests_had_run(tmp_path, seed):
    program = Program(tmp_path / "program", random.Random(seed + 5))
    record(program.folder)
    spared = 0
    for step in range(8):
        kind = program.change()
        _, reported = record(program.folder, failed_and_affected=True)
        spared += len(program.tests) - int(reported.split("recorded ")[1].split()[0])
        whole = fresh_copy(program.folder, tmp_path / f"whole{step}")
        record(whole)
        some, everything = outcome(program.folder), outcome(whole)
        assert some.keys() == everything.keys(), kind
        for name, expected in everything.items():
            assert some[name] == expected, (kind, name, reported)
    assert spared > (0 if seed else 20)  # how many depends on the edits


@pytest.mark.slow
def test_a_run_on_save_begins_with_what_failed_and_ends_after_many_new_failures(tmp_path):
    """It says one line for each failure; what the recording says of it stays the same."""
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "app.py").write_text("def value():\n    return 1\n\n\ndef other():\n    return 2\n")
    (tmp_path / "test_app.py").write_text(
        "import pytest\nfrom app import other, value\n\n\n@pytest.mark.parametrize('n', range(70))\n"
        "def test_value(n):\n    assert value() == 1\n\n\ndef test_other():\n    assert other() == 3\n"
    )
    assert record(tmp_path)[0] == 1
    (tmp_path / "app.py").write_text("def value():\n    return 5\n\n\ndef other():\n    return 2\n")
    command = [sys.executable, "-m", "suspectra", "record", "--failed-and-affected", "--live", "--", "pytest", "-v"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    verdicts = [line.split()[0] for line in done.stdout.splitlines() if "FAILED" in line and "%" in line]
    assert verdicts[0] == "test_app.py::test_other"
    assert len(verdicts) == 51, "the others in the order of the time that they took"
    assert "def test_value" not in done.stdout
    failed = [test for test in RecordingSource(tmp_path).read().tests if test.verdict.failing]
    assert len(failed) == 51
    assert {test.message.splitlines()[0] for test in failed} == {"assert 2 == 3", "assert 5 == 1"}
    with pytest.raises(UsageError, match="--live: it goes with --failed-and-affected"):
        record(tmp_path, live=True)


REPORTS = {  # the files of reports, each with the options that write it
    "report.xml": "--junit-xml=report.xml",
    "htmlcov/index.html": "--cov=app --cov-report=html --cov-fail-under=90",
    "coverage.xml": "--cov-report=xml",
    "coverage.lcov": "--cov-report=lcov",
    "coverage.json": "--cov-report=json",
    ".coverage": "",
    "page.html": "--html=page.html --self-contained-html",
    "log.jsonl": "--report-log=log.jsonl",
    ".report.json": "--json-report",
    ".test_durations": "--store-durations",
}
INI = "[{}]\npythonpath = .\naddopts = {}\n"
CONFIGURATIONS = {
    "pytest.ini": INI.format("pytest", "{}"),
    "tox.ini": INI.format("pytest", "{}"),
    "setup.cfg": INI.format("tool:pytest", "{}"),
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = "."\naddopts = "{}"\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("file", CONFIGURATIONS)
def test_runs_by_an_editor_leave_the_reports_of_the_last_whole_run(tmp_path, file):
    """No report, no threshold of pytest-cov is about a few tests; a run that the user starts writes what it is told."""
    (tmp_path / file).write_text(CONFIGURATIONS[file].format(" ".join(REPORTS.values())))
    (tmp_path / "app.py").write_text("def value():\n    return 1\n\n\ndef other():\n    return 2\n")
    tests = "def test_value():\n    assert value() == 1\n\n\ndef test_other():\n    assert other() == 2\n"
    (tmp_path / "test_app.py").write_text(f"from app import other, value\n\n\n{tests}")
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    environment["PYTHONPATH"] = str(Path(sys.prefix) / "plugins")

    def run(*arguments):
        command = [sys.executable, "-m", "suspectra", "record", *arguments, "--", "pytest"]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    def reports():
        return {name: (tmp_path / name).read_bytes() for name in REPORTS}

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    before = reports()
    (tmp_path / "app.py").write_text("def value():\n    return 1\n\n\ndef other():\n    return 1 + 1\n")
    done = run("--failed-and-affected", "--live")
    assert (done.returncode, reports()) == (0, before), done.stdout
    assert "1 passed, 1 deselected" in done.stdout
    (tmp_path / "chosen").write_text("test_app.py::test_value\n")
    done = run("--only", "chosen")
    assert (done.returncode, reports()) == (0, before), done.stdout
    (tmp_path / "app.py").write_text("def value():\n    return 1\n\n\ndef other():\n    return 3 - 1\n")
    assert run("--failed-and-affected").returncode != 0, "a threshold that the user asked for"
    after = reports()
    assert [name for name in REPORTS if after[name] == before[name]] == []
