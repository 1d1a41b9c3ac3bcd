"""Running the user's own command with the recorder in it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from suspectra.base.cancellation import Token
from suspectra.base.english import enumeration
from suspectra.base.errors import EvidenceError, Problem, UsageError
from suspectra.base.visible import safe
from suspectra.processes.events import ProgramEnded, Stopped
from suspectra.processes.runner import CommandToRun, Streams
from suspectra.processes.runner import run as run_program
from suspectra.processes.signals import ASKING, stopped_by
from suspectra.recording.endings import TESTS_FAILED
from suspectra.recording.summary import summary_of
from suspectra.recording.traces import RunFiles
from suspectra_recorder.folders import refuse_links
from suspectra_recorder.progress import ProgressWriter
from suspectra_recorder.settings import RecordingSettings, inject_env, recording_folder
from suspectra_recorder.unittest.commands import runs_unittest

if TYPE_CHECKING:
    from suspectra.recording.crash import Crash
    from suspectra_recorder.pytest.selection import SelectionFields

_USAGE_ERROR = 4  # of pytest
_FAILED_TO_START = (1, 3, _USAGE_ERROR)  # of pytest: what a plugin raised, up to 9.0 and from then on
NOT_RECORDED = 2
INTERRUPTED = 130
_PYTEST = ("pytest", "py.test")
_PYTHON = ("python", "python3")
_WINDOWS = os.name == "nt"
_PYTHON_TIMEOUT_S = 60.0
"""For an interpreter to say whether it has pytest: from a cold network drive it may take many seconds."""

# -c puts the current folder first, where a project's json.py or pytest.py would be taken for the real one
_LEAVE_FOLDER = "import sys; sys.path[:1] = [entry for entry in sys.path[:1] if entry]\n"
_HAS_PYTEST = _LEAVE_FOLDER + "import importlib.util; sys.exit(importlib.util.find_spec('pytest') is None)"

# the same as the `pytest` script, which unlike `-m pytest` does not put the current folder on the path; tests may ask
# for the file of `__main__`, and processes that they start run it again
_RUN_PYTEST = f"""\
{_LEAVE_FOLDER}\
import os, sysconfig
from importlib.metadata import distribution
sys.argv[0] = os.path.join(sysconfig.get_path("scripts"), "pytest")
if os.path.isfile(sys.argv[0]):
    __file__ = sys.argv[0]
scripts = distribution("pytest").entry_points
sys.exit(next(s for s in scripts if s.group == "console_scripts" and s.name == "pytest").load()())
"""


@dataclass(frozen=True)
class TestCommand:
    """The command to run."""

    arguments: tuple[str, ...]  # program and arguments
    python: str = ""  # the chosen interpreter; empty if the command names its own
    reason: str = ""  # why it was chosen

    @property
    def runs_pytest(self) -> bool:
        """Whether it starts pytest with the chosen interpreter."""
        return bool(self.python) and (_RUN_PYTEST in self.arguments or self.arguments[1:3] == ("-m", "pytest"))


def run(
    command: Sequence[str],
    workspace: str | os.PathLike[str],
    *,
    python: str | None = None,  # the interpreter for a command that starts with a bare `pytest` or `python`
    sources: Sequence[str] = (),
    include_tests: bool = False,
    counts: bool = False,
    children: bool = True,
    recorder: str | None = None,
    failed_and_affected: bool = False,  # leave out tests that passed last time and that no change since can affect
    since: str | None = None,
    live: bool = False,
    only: Path | None = None,
    progress: Path | None = None,
    keep_texts: bool = True,  # keep the texts of sources with which tests passed
    report: TextIO | None = None,  # where a few lines about the recording are written, stderr by default
) -> int:
    """Run a test command and record it.

    The command's exit status; 128 + n if signal n ended it, 130 if an interrupt did, 2 if the command succeeded but
    could not be recorded.

    Raises UsageError when the command, or an interpreter with pytest, can't be found, or the recording's folder is a
    link.
    """
    report = report if report is not None else sys.stderr
    root = os.path.realpath(workspace)
    if not os.path.isdir(root):
        raise UsageError(Problem(root, "", "the workspace is not a folder", "name an existing folder"))
    # before the tests run: what is written through a link of a repository may be anywhere
    refuse_links(recording_folder(root))
    environment = dict(os.environ)
    chosen = resolve(command, root, python=python, environ=environment)
    if chosen.python:
        print(safe(f"suspectra: running the tests with {chosen.python} ({chosen.reason})"), file=report, flush=True)
    if (since is not None or live) and not failed_and_affected:
        given = "--live" if live else "--since"
        raise UsageError(Problem(given, "", "it goes with --failed-and-affected", "give both"))
    if only is not None and failed_and_affected:
        raise UsageError(Problem("--only", "", "it does not go with --failed-and-affected", "give one of them"))
    unittest = runs_unittest(chosen.arguments, os.getcwd())
    fields: SelectionFields | None = None
    if failed_and_affected:
        fields = _selection(root, since, report, live=live)
    elif only is not None:
        fields = _selected(only, root if unittest else None)
    with RunFiles(root) as traces:
        settings = RecordingSettings(
            workspace=root,
            sources=tuple(sources),
            include_tests=include_tests,
            counts=counts,
            children=children,
            recorder=recorder or "",
            run=os.urandom(16).hex(),
            status=traces.status,
            selection=traces.selection(fields) if fields is not None else "",
            progress=str(progress.absolute()) if progress else "",
            activity=traces.activity,
        )
        inject_env(settings, environment, unittest=unittest)
        program = CommandToRun(chosen.arguments, os.getcwd(), environment, Streams.TERMINAL, guarded=True)
        asked = Token()
        with stopped_by(asked, *ASKING):
            ended = _run(program, asked)
        reported, crash = _outcome(traces, settings, chosen, ended, environment)
        if keep_texts:
            from suspectra.recording.kept_texts import keep_texts as keep

            keep(root, traces.new_logs())
        lines = summary_of(reported, crash, root, ended)
    for line in lines:
        print(safe(f"suspectra: {line}"), file=report)
    code = ended.status
    if code == 0 and (crash is not None or any("problem" in line for line in reported)):
        code = NOT_RECORDED
    # a status of 0 without a report says nothing: a test may have ended the process
    if code not in (0, TESTS_FAILED) or not reported:
        ProgressWriter(settings.progress).trouble(lines[-1].removeprefix("error: "))
    interrupted = ended.interrupted or ended.stopped is Stopped.CANCELLED
    return INTERRUPTED if interrupted and code not in (0, TESTS_FAILED) else code


def _outcome(
    traces: RunFiles,
    settings: RecordingSettings,
    command: TestCommand,
    ended: ProgramEnded,
    environment: Mapping[str, str],
) -> tuple[list[dict[str, Any]], Crash | None]:
    """What the processes of a run said at their end; if they ended before that, the crash, which is recorded."""
    reported, doing, logs = traces.lines(), traces.doing(), traces.new_logs()
    if reported:
        return reported, None
    if doing or logs:
        from suspectra.recording.crash import Crash, not_run  # seldom needed, and slow to import

        crash = Crash(ended.status, tuple(doing), not_run(logs))
        if not ended.interrupted:
            crash.record(settings.workspace, settings.run, logs)
        return [], crash
    if ended.status in _FAILED_TO_START and _may_be_pytest(command, ended.status):
        _record_reason(command, ended.status, environment, settings)
    return traces.lines(), None


def _selection(root: str, since: str | None, report: TextIO, *, live: bool) -> SelectionFields:
    """Decide which tests to run, and report it."""
    from suspectra.selection.selection import select

    selection = select(root, since)
    print(safe(f"suspectra: {selection.summary()}"), file=report, flush=True)
    if notice := selection.notice():
        print(safe(f"suspectra: {notice}"), file=report, flush=True)
    return selection.fields(live=live)


def _selected(only: Path, workspace: str | None) -> SelectionFields:
    """The tests that a file names, with all recorded ones if a workspace is given."""
    from suspectra.selection.recorded_tests import recorded_tests

    known = list(recorded_tests(recording_folder(workspace)).tests) if workspace else []
    return {"left_out": {}, "chosen": [], "only": named_tests(only), "known": known}


def named_tests(file: Path) -> list[str]:
    """Read the names in a file, one per line.

    The names, without empty lines.

    Raises UsageError when the file can't be read.
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(Problem(str(file), "", f"it can't be read: {error}", "name a file of tests")) from None
    return [line for line in text.split("\n") if line]


def resolve(
    command: Sequence[str],  # the command from the user; `pytest` if empty
    workspace: str,
    *,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,  # the environment; that of the process unless given
) -> TestCommand:
    """Replace a bare ``pytest`` or ``python`` by the one of the right interpreter.

    The same command if it names another program.

    Raises UsageError when there is no such interpreter.
    """
    environ = os.environ if environ is None else environ
    words = list(command) or ["pytest"]
    program = words[0][:-4] if _WINDOWS and words[0].lower().endswith(".exe") else words[0]
    if program in _PYTEST or program in _PYTHON:
        needed = "" if program in _PYTHON and runs_unittest(words, os.getcwd()) else _HAS_PYTEST
        interpreter, reason = _interpreter(workspace, python, environ, program, needed)
        if program in _PYTHON:
            return TestCommand((interpreter, *words[1:]), interpreter, reason)
        return TestCommand((interpreter, "-c", _RUN_PYTEST, *words[1:]), interpreter, reason)
    if shutil.which(words[0], path=environ.get("PATH")) is None:
        raise UsageError(Problem(words[0], "", "this command does not exist", "check its spelling and the PATH"))
    return TestCommand(tuple(words))


def _interpreter(
    workspace: str, python: str | None, environ: Mapping[str, str], program: str, needed: str
) -> tuple[str, str]:
    """The interpreter for a program, and why it was chosen; `needed` is a check it must pass, empty for none."""
    if python is not None:
        found = shutil.which(python, path=environ.get("PATH"))
        if found is None:
            raise UsageError(Problem(python, "", "this interpreter does not exist", "correct --python"))
        if not _passes(found, needed):
            raise UsageError(Problem(found, "", "this interpreter has no pytest", "install pytest for it"))
        return found, "--python"
    tried: list[str] = []
    for candidate, reason in _candidates(workspace, environ, program):
        if candidate not in tried:
            tried.append(candidate)
            if _passes(candidate, needed):
                before = tried[:-1]
                has = "has" if len(before) == 1 else "have"
                return candidate, reason + (f"; {enumeration(before)} {has} no pytest" if before else "")
    raise UsageError(
        Problem(
            workspace,
            "",
            "no interpreter with pytest was found (looked at " + (", ".join(tried) or "none") + ")",
            "install pytest in the project's environment, or name the interpreter with --python",
        )
    )


def _candidates(workspace: str, environ: Mapping[str, str], program: str) -> Iterator[tuple[str, str]]:
    active = environ.get("VIRTUAL_ENV")
    if active and (found := _python_in(active)):
        yield found, "the active virtual environment"
    for name in (".venv", "venv"):
        if found := _python_in(os.path.join(workspace, name)):
            yield found, f"{name} in the workspace"
    own = [(sys.executable, "the interpreter that runs suspectra")] if sys.executable else []
    # Who starts this environment by its path means it. Where it is on the PATH, the shell would take what comes first.
    if own and os.path.dirname(sys.executable) not in environ.get("PATH", "").split(os.pathsep):
        yield own.pop()
    if found := shutil.which(program, path=environ.get("PATH")):
        interpreter = found if program in _PYTHON else _python_of(found)
        if interpreter:
            yield interpreter, f"{program} on PATH"
    yield from own
    for name in reversed(_PYTHON):
        if found := shutil.which(name, path=environ.get("PATH")):
            yield found, f"{name} on PATH"


def _python_of(script: str) -> str | None:
    """The interpreter that runs an installed script: the one beside it, or the one that its first line names."""
    script = os.path.realpath(script)
    beside = Path(script).parent
    for path in (beside / "python.exe", beside.parent / "python.exe") if _WINDOWS else (beside / "python",):
        if path.exists():
            return str(path)
    try:
        with open(script, "rb") as stream:
            first = os.fsdecode(stream.readline(1024)).strip()
    except OSError:
        return None
    named = first.removeprefix("#!").strip()
    return named if first.startswith("#!") and "python" in os.path.basename(named) else None


def _python_in(environment: str) -> str | None:
    path = Path(environment, "Scripts", "python.exe") if _WINDOWS else Path(environment, "bin", "python")
    return str(path) if path.exists() else None


def _passes(python: str, check: str) -> bool:
    try:
        return (
            run_program(CommandToRun((python, "-c", check), os.getcwd(), os.environ, timeout=_PYTHON_TIMEOUT_S)).code
            == 0
        )
    except EvidenceError:
        return False


def _run(program: CommandToRun, token: Token | None = None) -> ProgramEnded:
    try:
        return run_program(program, token)
    except EvidenceError as error:
        raise UsageError(error.problem) from error


def _may_be_pytest(command: TestCommand, status: int) -> bool:
    """Whether a command that ended with a status started pytest, or names it and it says that it can't be used so."""
    named = any(os.path.basename(word) in _PYTEST for word in command.arguments)
    return command.runs_pytest or (status == _USAGE_ERROR and named)


def _record_reason(
    command: TestCommand, status: int, environment: Mapping[str, str], settings: RecordingSettings
) -> None:
    """Record why pytest ended before it loaded the recorder: a mistake in its ini file, or a plugin that this names.

    Its output went to the terminal only, so it is started once more, to fail again. It may only collect tests, if it
    was told to leave the recorder out.
    """
    words = (*command.arguments, "--collect-only")
    ended = _run(CommandToRun(words, os.getcwd(), environment, timeout=_PYTHON_TIMEOUT_S))
    if ended.code != status or os.path.getsize(settings.status):
        return
    output = ended.stderr.decode(errors="replace").replace("\r\n", "\n")
    from suspectra_recorder.failures.failed_run import record_failure  # it imports all of the recorder
    from suspectra_recorder.log.collection import describe_output

    record_failure(settings, lambda scope: describe_output(output, scope.name, scope.root, command.python))
