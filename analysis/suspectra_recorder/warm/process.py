"""The plugin that keeps a process waiting which has collected tests: each run happens in a fork of it.

The fork gives functions the code that they have now, opens a log of its own, and goes on as pytest does. The waiting
process runs no test. Where it must not be forked it runs one request by itself, and ends.
"""

from __future__ import annotations

import gc
import json
import select
import signal
import socket
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from suspectra_recorder.early_start import INI_FILES
from suspectra_recorder.installed_packages import installed
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys, time
from suspectra_recorder.pytest.selection import ChosenTests
from suspectra_recorder.pytest.whole_run import REPORTS, leave_out_coverage, switch_off
from suspectra_recorder.settings import RecordingSettings
from suspectra_recorder.unrecorded_modules import imported_files
from suspectra_recorder.warm.files_read import FilesRead
from suspectra_recorder.warm.fork_obstacles import fork_obstacles
from suspectra_recorder.warm.live_code import LiveCode, NotReplaceable
from suspectra_recorder.warm.messages import WarmGreeting, WarmRunAnswer, WarmRunRequest

__builtins__ = library_references.builtins

NAME = "suspectra-warm"
_SWITCHED_OFF: dict[str, object] = {**REPORTS, "numprocesses": 0, "dist": "no", "tx": []}
# with these, the tests that are collected depend on the last run, or somebody sits at a terminal
_UNUSABLE = ("lf", "failedfirst", "newfirst", "stepwise", "testmon", "usepdb", "trace", "collectonly", "looponfail")
_END_LOOK_S = 0.005
"""Between two looks whether the tests have ended: nobody notices that, and it takes a thousandth of a processor."""
_STOP_S = 0.5
"""Between asking a run to end and killing it: the next one waits for that."""


def start(manager: pytest.PytestPluginManager, settings: RecordingSettings) -> None:
    """Keep this process waiting once it has collected its tests.

    Raises UsageError when there is no such channel: the command has closed what it inherited.
    """
    if manager.has_plugin(NAME):
        return
    with suppress(OSError):
        if stat.S_ISSOCK(os.fstat(settings.channel).st_mode):
            manager.register(_Warm(settings), NAME)
            return
    raise pytest.UsageError("the command that runs pytest closes inherited files, so it can't be kept waiting")


class _Gone(Exception):
    """Nobody asks any more."""


class _Warm:
    """The plugin."""

    def __init__(self, settings: RecordingSettings):
        os.set_inheritable(settings.channel, False)
        self._channel = socket.socket(fileno=settings.channel)
        self._rest = b""
        self._files_read = FilesRead(settings.workspace)
        self._files_read.begin()

    # while pytest starts

    @pytest.hookimpl(hookwrapper=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Leave pytest-cov out."""
        leave_out_coverage(early_config)
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Iterator[None]:
        """Let no other processes run the tests, and none of the runs write a report as if it were of all tests."""
        switch_off(config, _SWITCHED_OFF)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        """Wait for requests; what comes after this happens in the process that runs the tests of one."""
        try:
            self._wait(session)
        except (_Gone, OSError):
            os._exit(0)
        yield

    # waiting

    def _wait(self, session: pytest.Session) -> None:
        """Return in a process that is to run the tests of the session, which are those of a request."""
        config = session.config
        recording: Any = config.pluginmanager.get_plugin("suspectra-session")
        unusable = next((f"pytest's option {name} is set" for name in _UNUSABLE if getattr(config.option, name, 0)), "")
        # another plugin stands under this name where nothing can be recorded
        if not unusable and not hasattr(recording, "recorder"):
            unusable = "nothing can be recorded"
        broken = not unusable and session.testsfailed > 0
        if broken:
            unusable = "not all tests can be collected"
        greeting: WarmGreeting = {"tests": len(session.items), "once": [], "unusable": unusable, "broken": broken}
        if unusable:
            self._send(greeting)
            raise _Gone
        hook = recording.recorder.hook
        kept = {found[0].path: found[0].file.digest for found in (hook.kept or {}).values()}
        configuration = [str(config.rootpath / name) for name in INI_FILES]
        self._files_read.end(
            {**dict.fromkeys([*imported_files(), *configuration], ""), **kept}, _folders(config, session)
        )
        self._packages = installed(sys.path)
        self._live = LiveCode(hook)
        owned = {self._channel.fileno(), *_capturing(config)}
        greeting["once"] = [*dict.fromkeys([*fork_obstacles(owned), *sorted(self._files_read.odd)])]
        self._send(greeting)
        gc.collect()
        gc.freeze()  # what is there is not touched by a collection, so forks share it
        while True:
            request: WarmRunRequest = json.loads(self._line(None))
            if "selection" not in request:
                continue  # to stop a run that has ended
            changed = list(self._files_read.changed())
            # only functions of recorded sources can be replaced
            if others := [name for name in changed if name not in (hook.kept or {})]:
                self._refuse(f"{others[0]} changed, from which tests were collected")
            elif installed(sys.path) != self._packages:
                self._refuse("the installed packages changed")
            elif greeting["once"] or self._fork():
                self._become(recording, session, request, changed)
                return

    def _fork(self) -> bool:
        """Fork; true in the fork, and false in this process once that has ended."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads of other languages
            process = os.fork()
        if process == 0:
            os.setpgid(0, 0)
            return True
        with suppress(OSError):
            os.setpgid(process, process)  # both do it, so that it is done before either goes on
        try:
            status, processor = self._await(process)
        except BaseException:
            _signal(process, signal.SIGKILL)
            raise
        code = os.waitstatus_to_exitcode(status)
        self._send({"status": code if code >= 0 else 128 - code, "processor": round(processor, 4)})
        return False

    def _await(self, process: int) -> tuple[int, float]:
        """Wait for the end of a run, which the other side may order; its status, and its processor time."""
        kill_at = float("inf")
        while True:
            ended, status, usage = os.wait4(process, os.WNOHANG)
            if ended:
                return status, usage.ru_utime + usage.ru_stime
            if time.monotonic() > kill_at:
                kill_at = float("inf")
                _signal(process, signal.SIGKILL)
            if self._line(_END_LOOK_S):
                kill_at = time.monotonic() + _STOP_S
                # first so that fixtures can tidy up
                _signal(process, signal.SIGINT)

    def _line(self, seconds: float | None) -> bytes:
        """The next line from the other side; empty if none comes in time."""
        while b"\n" not in self._rest:
            if not select.select([self._channel], [], [], seconds)[0]:
                return b""
            part = self._channel.recv(1 << 20)
            if not part:
                raise _Gone
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _refuse(self, why: str) -> None:
        self._send({"refused": why, "status": 0})

    def _send(self, what: WarmGreeting | WarmRunAnswer) -> None:
        self._channel.sendall(json.dumps(what).encode() + b"\n")

    # in the process that runs the tests

    def _become(self, recording: Any, session: pytest.Session, request: WarmRunRequest, changed: list[str]) -> None:
        """Become a process that has just collected the tests that are asked for."""
        try:
            self._live.replace(changed)
        except NotReplaceable as why:
            self._send({"refused": str(why)})
            os._exit(0)
        _capture_apart(session.config)
        # all forks have the same state of the generator
        if (random := getattr(sys.modules.get("numpy.random"), "seed", None)) is not None:
            random()  # Python's own generator does it by itself
        if (plugin := session.config.pluginmanager.get_plugin("lfplugin")) is not None and session.config.cache:
            # runs since the start have changed it, each in its own process
            plugin.lastfailed = session.config.cache.get("cache/lastfailed", {})
        recording.begin_run(ChosenTests.from_fields(request["selection"]), request["progress"], session)


def _folders(config: pytest.Config, session: pytest.Session) -> set[str]:
    """The folders of the tests, and those above them, in which a conftest.py may appear."""
    root = config.rootpath
    own_folders = {item.path.parent for item in session.items}
    return {str(folder) for one in own_folders for folder in (one, *one.parents) if folder.is_relative_to(root)}


def _signal(process: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(process, number)


def _captures(config: pytest.Config) -> Iterator[Any]:
    """What captures the output of tests in files."""
    manager = config.pluginmanager.get_plugin("capturemanager")
    capturing = getattr(manager, "_global_capturing", None)
    for name in ("out", "err", "in_"):
        if (one := getattr(capturing, name, None)) is not None and hasattr(one, "targetfd"):
            yield one


def _capturing(config: pytest.Config) -> Iterator[int]:
    """The descriptors of the files in which output is captured, and of where it goes otherwise."""
    for one in _captures(config):
        yield one.targetfd_save
        with suppress(OSError, AttributeError):
            yield one.tmpfile.fileno()


def _capture_apart(config: pytest.Config) -> None:
    """Give this process files of its own below the same objects, some of which modules keep since their import."""
    for one in _captures(config):
        if one.targetfd:
            with tempfile.TemporaryFile(buffering=0) as file:
                os.dup2(file.fileno(), one.tmpfile.fileno())
