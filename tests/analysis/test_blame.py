"""Who changed a line last, as git says in a repository of its own."""

import re
import subprocess

import pytest

from suspectra.selection.blame import blame


@pytest.fixture
def repository(tmp_path):
    def commit(author, text, subject, day):
        (tmp_path / "cart.py").write_text(text)
        person = f"{author} <{author.lower()}@example.org>"
        options = ("-c", f"user.name={author}", "-c", "user.email=x@example.org")
        for arguments in (
            ("add", "cart.py"),
            (*options, "commit", "-q", f"--author={person}", f"--date={day}T12:00", "-m", subject),
        ):
            subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    commit("Ada", "a = 1\nb = 2\nc = 3\n", "Begin", "2026-01-01")
    commit("Grace", "a = 1\nb = 20\nc = 3\n", "Raise b", "2026-01-02")
    return tmp_path


def test_the_newest_change_of_lines_is_named_where_they_are_now(repository):
    now = ["# new", "a = 1", "b = 20", "c = 4"]
    found = [blame(str(repository), "cart.py", now, line, line) for line in range(1, 5)]
    assert [one and one.author for one in found] == ["", "Ada", "Grace", ""]
    assert str(found[0]) == "This change is not committed yet"
    assert re.fullmatch("Changed last: Grace, [0-9a-f]{8} “Raise b”", str(found[2]))
    assert blame(str(repository), "cart.py", now, 2, 3).author == "Grace"
    assert blame(str(repository), "other.py", now, 1, 1) is None


def test_a_folder_without_repository_has_none(tmp_path):
    assert blame(str(tmp_path), "cart.py", ["a = 1"], 1, 1) is None


def test_nothing_that_a_repository_configures_is_run(repository):
    (repository / ".gitattributes").write_text("*.py filter=x diff=x\n")
    for name in ("filter.x.clean", "filter.x.smudge", "diff.x.textconv"):
        subprocess.run(["git", "config", name, f"touch {repository}/ran; cat"], cwd=repository, check=True)
    assert blame(str(repository), "cart.py", ["a = 1"], 1, 1).author == "Ada"
    assert not (repository / "ran").exists()
