"""Temporary folders, and what is left of them when a process is killed."""

import os
import signal
import subprocess
import sys

from suspectra.processes import scratch
from suspectra.processes.scratch import ScratchFolder

KEEP = """
import sys
from suspectra.processes.scratch import ScratchFolder
print(ScratchFolder(sys.argv[1]).path, flush=True)
sys.stdin.read()
"""


def test_what_killed_processes_left_is_removed_and_nothing_else(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", KEEP, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    killed, kept = [process.stdout.readline().strip() for process in processes]
    os.mkdir(os.path.join(killed, "notes"))
    processes[0].send_signal(signal.SIGKILL)
    processes[0].communicate()
    unmarked, foreign, link = tmp_path / "suspectra-mine", tmp_path / "other", tmp_path / "suspectra-link"
    for folder in (unmarked, foreign):
        folder.mkdir()
    (foreign / ".in-use").touch()
    link.symlink_to(foreign)
    try:
        assert os.path.isdir(killed)
        scratch._remove_left.cache_clear()
        with ScratchFolder(str(tmp_path)) as own:
            assert {path.name for path in tmp_path.iterdir()} == {
                own.name, os.path.basename(kept), unmarked.name, foreign.name, link.name
            }  # fmt: skip
    finally:
        processes[1].communicate()
    assert not own.exists()


def test_a_tree_of_any_depth_is_removed(tmp_path):
    with ScratchFolder(str(tmp_path)) as folder:
        deepest = os.open(folder, os.O_RDONLY)
        for _ in range(3_000):  # deeper than recursion, and than a path may be long
            os.mkdir("folder", dir_fd=deepest)
            inner = os.open("folder", os.O_RDONLY, dir_fd=deepest)
            os.close(deepest)
            deepest = inner
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
        os.close(deepest)
        (folder / "kept").mkdir(mode=0o500)
        outside = tmp_path / "outside"
        outside.mkdir()
        (folder / "link").symlink_to(outside)
    assert not folder.exists()
    assert outside.exists()
