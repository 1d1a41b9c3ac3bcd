"""A disk that is full: what is asked for is refused in words, and the last good state stays."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from suspectra.evidence.recording import RecordingSource
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame

DISK = 4 << 20  # bytes
SUSPECTRA = [sys.executable, "-m", "suspectra"]
PYTEST = ["--", sys.executable, "-m", "pytest", "-qs", "-p", "no:cacheprovider"]
APP = "def f(a):\n    if a % 2:\n        return a\n    return -a\n"
TESTS = "import app, pytest\n\n@pytest.mark.parametrize('n', range(9))\ndef test_f(n):\n    assert app.f(n) == n\n"
COMPACT = "from suspectra_recorder.log.compaction import compact; compact('.suspectra/recording', max_logs=0)"
LEARN = (
    "import pathlib; from suspectra_server.session.navigation.learned_moves import LearnedMoves; "
    "LearnedMoves(pathlib.Path('state/n.json')).add(True)"
)


def mounted(folder):
    """Whether a small disk of its own is now at a folder; only root may do that."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    return sys.platform == "linux" and os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0


def mountable():
    with tempfile.TemporaryDirectory() as folder:
        return mounted(folder) and subprocess.run(["umount", folder], check=False).returncode == 0


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(TESTS)
    assert Project(folder, False).run(*SUSPECTRA, "record", *PYTEST).returncode == 1
    return folder


@pytest.fixture(params=["limit", "disk"] if mountable() else ["limit"])
def work(request, tmp_path, recorded):
    """A recorded project that can be cramped: a disk is filled up, or files may not become larger than a word."""
    folder = tmp_path / "work"
    folder.mkdir()
    own_disk = request.param == "disk"
    assert not own_disk or mounted(folder)
    try:
        shutil.copytree(recorded, folder, dirs_exist_ok=True)
        yield Project(folder, own_disk)
    finally:
        if own_disk:
            subprocess.run(["umount", "-l", str(folder)], check=True)


class Project:
    def __init__(self, folder, own_disk):
        self.folder = folder
        self.own_disk = own_disk
        self.limit = None

    @contextmanager
    def cramped(self):
        """Meanwhile no byte can be added."""
        filler = self.folder / "filler"
        if self.own_disk:
            with open(filler, "wb", buffering=0) as file:
                for size in (4096, 1):
                    try:
                        while file.write(b"x" * size):
                            pass
                    except OSError:
                        continue
        else:
            self.limit = 8
        yield
        self.limit = None
        filler.unlink(missing_ok=True)

    def run(self, *command):
        def before():
            if self.limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.limit))

        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, preexec_fn=before, capture_output=True, text=True, timeout=120
        )
        assert "Traceback" not in done.stderr
        return done

    @property
    def verdicts(self):
        return {test.name: test.verdict.value for test in RecordingSource(self.folder).read().tests}

    @property
    def logs(self):
        return {path.name: path.read_bytes() for path in (self.folder / ".suspectra/recording").iterdir()}


@pytest.mark.slow
def test_the_recorder_keeps_the_run_before_and_fails_no_test(work):
    before, logs = work.verdicts, work.logs
    assert set(before.values()) == {"passed", "failed"}
    with work.cramped():
        done = work.run(*SUSPECTRA, "record", *PYTEST)
    assert "4 failed, 5 passed" in done.stdout
    assert "nothing can be recorded: " in done.stderr or "recording stopped: " in done.stderr
    assert work.verdicts == before
    assert {name: work.logs[name] for name in logs} == logs
    assert work.run(*SUSPECTRA, "record", *PYTEST).returncode == 1
    assert work.verdicts == before


def test_tidying_up_leaves_the_logs_as_they_were(work):
    for number in range(3):
        head = b'{"run": "r%d", "started": %d}' % (number, 1 + number)
        (work.folder / f".suspectra/recording/{number}.log").write_bytes(MAGIC + frame(FrameKind.RUN, head))
    before, logs = work.verdicts, work.logs
    with work.cramped():
        assert work.run(sys.executable, "-c", COMPACT).returncode == 0
    assert work.verdicts == before
    assert set(work.logs) <= set(logs)
    assert work.run(sys.executable, "-c", COMPACT).returncode == 0
    assert len(work.logs) == 1
    assert work.verdicts == before


def test_merging_leaves_what_was_there(work):
    before, logs = work.verdicts, work.logs
    with work.cramped():
        for out in ("merged", ".suspectra/recording"):
            done = work.run(*SUSPECTRA, "merge", out, ".suspectra/recording")
            assert done.returncode == 2
            assert "can't be written" in done.stderr
    assert work.logs == logs
    assert work.run(*SUSPECTRA, "merge", ".suspectra/recording", ".suspectra/recording").returncode == 0
    assert work.verdicts == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "file"), [(["report", "--html"], "page.html"), (["rank", "--format", "json", "-o"], "ranking.json")]
)
def test_reports_leave_the_one_before(work, arguments, file):
    assert work.run(*SUSPECTRA, *arguments, file).returncode == 0
    before = (work.folder / file).read_bytes()
    with work.cramped():
        done = work.run(*SUSPECTRA, *arguments, file)
    assert done.returncode == 2
    assert "can't be written" in done.stderr
    assert (work.folder / file).read_bytes() == before
    assert {path.name for path in work.folder.iterdir()} <= {"app.py", "test_app.py", ".suspectra", "__pycache__", file}


def test_the_server_keeps_what_it_had_learned(work):
    assert work.run(sys.executable, "-c", LEARN).returncode == 0
    state = work.folder / "state/n.json"
    before = state.read_bytes()
    with work.cramped():
        done = work.run(sys.executable, "-c", LEARN)
    assert done.returncode == 0
    assert "can't be" in done.stderr
    assert state.read_bytes() == before
    assert [path.name for path in Path(state.parent).iterdir()] == ["n.json"]
