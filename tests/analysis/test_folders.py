"""Where the recorder writes: never through a link out of the workspace, and never code that others could change."""

import json
import marshal
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suspectra.evidence.c.writer import CRecorder
from suspectra_recorder import folders
from suspectra_recorder.folders import RecordingError, cache_folder, make_recording_folder
from suspectra_recorder.instrumentation.cache import CodeCache, Instrumented

APP = "def half(n):\n    return n // 3\n"
TESTS = (
    "import app\n\ndef test_half():\n    assert app.half(6) == 3\n\ndef test_nothing():\n    assert app.half(0) == 0\n"
)


@pytest.fixture
def work(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    (root / "app.py").write_text(APP)
    (root / "test_app.py").write_text(TESTS)
    return root


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """The folder of the user's caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches"


def suspectra(root, *arguments):
    command = [sys.executable, "-m", "suspectra", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)


def record(root):
    return suspectra(root, "record", "--", "pytest", "-q", "-p", "no:cacheprovider")


def files_in(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


# the cache


def forged(path, text):
    """A file of the cache with other code under the right key."""
    data = path.read_bytes()
    size = int.from_bytes(data[68:72], "little")
    cells = int.from_bytes(data[64:68], "little")
    code = compile(text, str(path), "exec")
    cache = CodeCache.__new__(CodeCache)
    cache.folder = str(path.parent)
    cache._file = lambda name: str(path)
    cache.store("", data[32:64], Instrumented(code, cells, data[73 : 73 + size]))


def test_code_is_kept_outside_the_workspace_for_the_user_alone(work, caches):
    assert record(work).returncode == 1
    assert not (work / ".suspectra" / "cache").exists()
    kept = files_in(caches)
    assert len(kept) >= 2
    for path in [caches / "suspectra", *(caches / "suspectra").rglob("*")]:
        assert not path.stat().st_mode & 0o077, path


@pytest.mark.slow
def test_a_forged_file_in_the_workspace_runs_nothing(work, caches, tmp_path):
    assert record(work).returncode == 1
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef half(n):\n    return 3\n"
    [cached] = (caches / "suspectra").iterdir()
    brought = work / ".suspectra" / "cache"
    shutil.copytree(cached, brought)
    for path in files_in(brought):
        forged(path, text)
    shutil.rmtree(caches)
    for part in (brought, work / ".cache" / "suspectra" / cached.name):
        if part != brought:
            shutil.copytree(brought, part)
    assert record(work).returncode == 1, "half(6) is still 2"
    assert not (tmp_path / "ran").exists()


@pytest.mark.slow
def test_the_forged_file_would_have_run(work, caches, tmp_path):
    """What the test above forges is what the recorder reads, or it would show nothing."""
    assert record(work).returncode == 1
    for path in files_in(caches):
        forged(path, f"open({str(tmp_path / 'ran')!r}, 'w')\ndef half(n):\n    return 3\n")
    record(work)
    assert (tmp_path / "ran").exists()


def test_a_cache_inside_the_workspace_is_not_used(work, monkeypatch):
    assert cache_folder(str(work), {"XDG_CACHE_HOME": str(work / "caches")}) is None
    assert not (work / "caches").exists()
    (work.parent / "link").symlink_to(work)
    assert cache_folder(str(work), {"XDG_CACHE_HOME": str(work.parent / "link")}) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(work / "caches"))
    done = record(work)
    assert done.returncode == 1, "it is instrumented each time"
    assert "recorded 2 tests" in done.stderr


def test_a_relative_folder_is_not_taken(work, monkeypatch, tmp_path):
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = cache_folder(str(work), {"XDG_CACHE_HOME": "caches"})
    assert Path(folder).parent == tmp_path / "home" / ".cache" / "suspectra"


@pytest.mark.parametrize("part", ["suspectra", "workspace"])
@pytest.mark.parametrize("state", ["link", "file", "writable"])
def test_folders_that_others_may_change_are_refused(work, caches, part, state):
    whole = Path(cache_folder(str(work)))
    place = whole if part == "workspace" else whole.parent
    elsewhere = work.parent / "elsewhere"
    if state == "writable":
        place.chmod(0o770)
    else:
        shutil.rmtree(place)
        if state == "link":
            elsewhere.mkdir(mode=0o700)
            place.symlink_to(elsewhere)
        else:
            place.write_text("")
    assert cache_folder(str(work)) is None
    if state == "link":
        assert not list(elsewhere.iterdir())


def test_folders_of_others_are_refused(work, caches):
    if os.geteuid() != 0:
        pytest.fail("this test gives a folder to another user: run it as root")
    place = caches / "suspectra"
    place.mkdir(parents=True, mode=0o700)
    os.chown(place, 65534, 65534)
    assert cache_folder(str(work)) is None


def test_files_that_others_may_change_are_not_read(tmp_path):
    cache = CodeCache(str(tmp_path / "cache"))
    key = cache.key("app.py", "0" * 64, "")
    cache.store("app.py", key, Instrumented(compile("", "app.py", "exec"), 8, b"map"))
    assert cache.load("app.py", key)
    Path(cache._file("app.py")).chmod(0o666)
    assert cache.load("app.py", key) is None


def test_old_parts_of_the_cache_are_removed_a_few_at_a_time(work, caches):
    parts = caches / "suspectra"
    parts.mkdir(parents=True, mode=0o700)
    long_ago = time.time() - folders.OLDEST - 60
    for number in range(folders.MAX_REMOVED + 5):
        old = parts / f"old{number}"
        old.mkdir()
        (old / "code").write_text("")
        os.utime(old, (long_ago, long_ago))
    (parts / "recent").mkdir()
    elsewhere = work.parent / "elsewhere"
    elsewhere.mkdir()
    (parts / "link").symlink_to(elsewhere)
    own = cache_folder(str(work))
    assert len(list(parts.glob("old*"))) == 5
    assert cache_folder(str(work)) == own
    assert not list(parts.glob("old*"))
    assert (parts / "recent").exists()
    assert Path(own).exists()
    assert elsewhere.exists()


def test_the_cache_holds_so_many_workspaces(work, caches, monkeypatch):
    monkeypatch.setattr(folders, "MAX_WORKSPACES", 3)
    made = []
    for number in range(6):
        made.append(cache_folder(f"{work}-{number}"))
        os.utime(made[-1], (time.time() - 100 + number,) * 2)
    there = [folder for folder in made if os.path.exists(folder)]
    assert there == made[-3:]


@pytest.mark.slow
def test_the_old_folder_is_ignored(work, caches):
    old = work / ".suspectra" / "cache"
    old.mkdir(parents=True)
    (old / "code").write_bytes(marshal.dumps(compile("1/0", "x", "exec")))
    assert record(work).returncode == 1
    assert [path.name for path in old.iterdir()] == ["code"]


# recordings


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", [".suspectra", ".suspectra/recording"])
def test_nothing_is_recorded_through_a_link(work, elsewhere, name):
    link = work / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    refusals = (
        (["record"], "is a link"),
        (["record", "--", "python", "-m", "unittest"], "is a link"),
        (["rank"], "leads out"),
    )
    for command, words in refusals:
        done = suspectra(work, *command)
        assert done.returncode == 2
        assert f"it {words}" in done.stderr
        assert "Traceback" not in done.stderr
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("command", [["pytest", "-q"], ["python", "-m", "unittest"]], ids=lambda words: words[-1])
def test_a_run_that_could_not_be_recorded_is_no_success(work, command):
    (work / "test_app.py").write_text("import unittest\nclass TestIt(unittest.TestCase):\n    def test(self): pass\n")
    (work / ".suspectra").write_text("in the way")
    done = suspectra(work, "record", "--", *command)
    assert ".suspectra: nothing can be recorded: it is a link or a file" in done.stderr
    assert "1 passed" in done.stdout or "OK" in done.stderr, "the tests ran all the same"
    assert done.returncode == 2


@pytest.mark.parametrize("name", [".suspectra", ".suspectra/recording-c", ".suspectra/recording-c/objects"])
def test_nothing_of_c_is_recorded_through_a_link(work, elsewhere, name):
    link = work / name
    link.parent.mkdir(exist_ok=True, parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises(RecordingError, match="it is a link"):
        CRecorder(work, {})
    done = suspectra(work, "record-c", "--command", "true", "--tests", "list.tsv")
    assert done.returncode
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("name", ["lock", "tests.log"])
def test_files_of_a_recording_of_c_are_not_opened_through_a_link(work, elsewhere, name):
    target = elsewhere / "precious"
    target.write_bytes(b"mine")
    folder = work / ".suspectra" / "recording-c"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(target)
    with pytest.raises(Exception, match="link") as caught, CRecorder(work, {}) as recorder:
        recorder.end(["a"])
    assert type(caught.value).__name__ in ("RecordingError", "UsageError")
    assert target.read_bytes() == b"mine"


def test_a_link_for_the_list_of_ignored_files_is_not_written_through(work, elsewhere):
    (work / ".suspectra").mkdir()
    (work / ".suspectra" / ".gitignore").symlink_to(elsewhere / "new")
    make_recording_folder(str(work), "recording")
    assert not list(elsewhere.iterdir())


@pytest.mark.slow
def test_logs_that_are_links_are_left_alone(work, elsewhere):
    target = elsewhere / "precious"
    target.write_bytes(b"mine")
    folder = work / ".suspectra" / "recording"
    folder.mkdir(parents=True)
    assert record(work).returncode == 1
    [log] = folder.glob("*")
    link = folder / f"{'0' * 20}-1{log.suffix}"
    link.symlink_to(target)
    for _ in range(3):
        assert record(work).returncode == 1
    assert target.read_bytes() == b"mine"
    assert link.is_symlink()


@pytest.mark.slow
@pytest.mark.parametrize("name", [".suspectra", ".suspectra/recording"])
def test_nothing_is_merged_through_a_link(work, elsewhere, tmp_path, name):
    assert record(work).returncode == 1
    target = tmp_path / "other" / name
    target.parent.mkdir(parents=True)
    target.symlink_to(elsewhere)
    into = suspectra(tmp_path, "merge", "other/.suspectra/recording", "work")
    assert into.returncode
    assert "it is a link" in into.stderr
    assert not list(elsewhere.iterdir())
    (work / name).rename(tmp_path / "moved")
    (work / name).symlink_to(tmp_path / "moved")
    from_ = suspectra(tmp_path, "merge", "out", "work")
    assert from_.returncode
    assert "it is a link" in from_.stderr


# names that are not UTF-8


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A recording of a file whose name is not UTF-8."""
    root = tmp_path_factory.mktemp("odd")
    os.makedirs(os.fsencode(root) + b"/src/caf\xe9")
    with open(os.fsencode(root) + b"/src/caf\xe9/app\xff.py", "w") as stream:
        stream.write("def half(n):\n    if n:\n        return n // 3\n    return 0\n")
    (root / "test_app.py").write_text(
        "import importlib.util, os\n"
        "path = os.fsdecode(os.path.dirname(__file__).encode() + b'/src/caf\\xe9/app\\xff.py')\n"
        "spec = importlib.util.spec_from_file_location('app', path)\n"
        "app = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(app)\n" + TESTS.removeprefix("import app\n")
    )
    assert record(root).returncode == 1
    return root


PLACE = os.fsdecode(b"src/caf\xe9/app\xff.py:3")


COMMANDS = [
    *(["rank", "--format", form] for form in ("table", "json", "csv", "markdown", "sarif")),
    *(["rank", "--format", form, "-o", "OUT"] for form in ("table", "json", "csv", "markdown", "sarif")),
    ["report", "--html", "OUT"],
    ["markov", PLACE],
    ["markov", PLACE, "--svg", "OUT"],
    ["explain", PLACE],
    ["affected"],
    ["affected", "--format", "json"],
]
# each command with streams of its own, of the kind that the process was given
EACH = """
import json, sys
from suspectra.cli.main import run
given = sys.stdout, sys.stderr
for command in json.load(sys.stdin):
    files = zip((command["out"], command["err"]), given)
    streams = [open(file, "w", encoding=one.encoding, errors=one.errors) for file, one in files]
    sys.stdout, sys.stderr = streams
    status = run(command["words"])
    for stream in streams:
        stream.close()
    sys.stdout, sys.stderr = given
    print(status)
"""


@pytest.fixture(scope="module", params=["utf-8", "ascii"])
def answers(odd, request, tmp_path_factory):
    """Status, stdout, stderr and file of each command, all run by one process with such an encoding."""
    folder = tmp_path_factory.mktemp(request.param)
    commands = []
    for number, command in enumerate(COMMANDS):
        words = [str(folder / f"{number}.file") if word == "OUT" else word for word in command]
        commands.append({"words": words, **{part: str(folder / f"{number}.{part}") for part in ("out", "err")}})
    done = subprocess.run(
        [sys.executable, "-c", EACH],
        cwd=odd,
        env={**os.environ, "PYTHONIOENCODING": request.param},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    statuses = [int(line) for line in done.stdout.split()]
    return [
        (status, *((folder / f"{number}.{part}") for part in ("out", "err", "file")))
        for number, status in enumerate(statuses)
    ]


@pytest.mark.parametrize(
    "command", COMMANDS, ids=lambda words: "-".join(word.strip("-") for word in words if word != PLACE)
)
def test_every_output_shows_names_that_are_not_utf8(answers, command):
    status, out, err, file = answers[COMMANDS.index(command)]
    assert status == 0, err.read_bytes()
    assert b"Traceback" not in err.read_bytes()
    if "OUT" in command:
        assert file.read_bytes().decode("utf-8")
    else:
        assert out.read_bytes()
    if "sarif" in command:
        text = (file if "OUT" in command else out).read_text()
        assert '"uri": "src/caf%E9/app%FF.py"' in text, "the bytes of the name, as URIs have them"
