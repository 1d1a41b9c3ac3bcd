"""Starting a recording before the recorder exists: when Python or pytest starts, before plugins are loaded.

A project may itself be a plugin of pytest, or its ini file may name its classes. Then pytest imports it before it calls
any plugin. What runs until then is kept in memory for the recorder. As pytest's configuration is not read yet,
everything that may be recorded is instrumented, and the few settings that matter are searched in the text of the
configuration. If they turn out to be different, a problem is reported.

`bootstrap/sitecustomize.py` calls this module when Python starts, or when it imports pytest; without
`suspectra record` the plugin does, as soon as pytest registers it. What is not in the scope of the recorder is dropped
when that takes over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType

from suspectra_recorder.import_hooks import Hooks
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import os, sys
from suspectra_recorder.options import COUNTS, RECORDER
from suspectra_recorder.probe_choice import ProbeChoice, choose
from suspectra_recorder.pytest.assertions import instrument_rewritten
from suspectra_recorder.recorded_files import RecordedFiles
from suspectra_recorder.settings import VARIABLE, RecordingSettings, recording_folder

__builtins__ = library_references.builtins

_REWRITE = "_pytest.assertion.rewrite"
INI_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""The files that may configure pytest."""
_COUNTS = re.compile(rf"""^\s*{COUNTS.ini_name}\s*=\s*["']?(?:true|1|yes|on)\b|{COUNTS.pytest_flag}\b""", re.M | re.I)
_RECORDER = re.compile(rf"""^\s*{RECORDER.ini_name}\s*=\s*["']?(\w+)|{RECORDER.pytest_flag}[=\s"',]+(\w+)""", re.M)


@dataclass
class EarlyStart:
    """The hooks that were installed before the recorder existed."""

    hooks: Hooks
    asked: str  # the requested recorder, as far as it was known
    choice: ProbeChoice  # the chosen recorder
    python: ModuleType | None = None  # the `sitecustomize` module of Suspectra, which knows the modules imported before
    before: frozenset[str] = frozenset()  # the modules imported before, if pytest's plugin started the recording
    undo: Callable[[], None] | None = None  # restores pytest's loader; None until pytest is imported

    def suits(self, asked: str, *, counting: bool) -> bool:
        """Whether the assumed settings are the actual ones.

        True if the recorder can continue with these hooks.
        """
        return self.asked == asked and self.hooks.import_hook.counting == counting

    def hand_over(self, scope: RecordedFiles) -> Hooks:
        """Pass the hooks to the recorder, which continues with them."""
        self._leave_pytest()
        files = {file.path for file in self.hooks.import_hook.files}
        unwanted = {name for name in files if scope(os.path.join(scope.root, *name.split("/"))) is None}
        self.hooks.import_hook.narrow(scope, unwanted)
        return self.hooks

    def close(self) -> None:
        """Stop instrumenting."""
        self._leave_pytest()
        self.hooks.close()

    def _leave_pytest(self) -> None:
        if self.undo is not None:
            self.undo()
            self.undo = None


_started: EarlyStart | None = None


def start(python: ModuleType) -> None:
    """Start instrumenting when Python starts."""
    settings = RecordingSettings.from_json(os.environ[VARIABLE])
    if settings.workspace:
        _start(settings, sys.orig_argv, python=python)


def start_in_pytest(workspace: str, arguments: Iterable[str]) -> Callable[[], None]:
    """Start instrumenting when pytest loads the plugin, unless this was started before.

    Stops it, unless a recorder has taken it over.
    """
    if _started is not None:
        return lambda: None
    settings = RecordingSettings.from_json(os.environ.get(VARIABLE, ""))
    settings = replace(settings, workspace=settings.workspace or workspace)
    started = _start(settings, arguments, before=frozenset(sys.modules))

    def end() -> None:
        # else the recorder has taken it over
        if _started is started:
            take()
            started.close()

    return end


def _start(
    settings: RecordingSettings,
    arguments: Iterable[str],
    python: ModuleType | None = None,
    before: frozenset[str] = frozenset(),
) -> EarlyStart:
    global _started
    text = "\n".join([*_configuration(settings.workspace), " ".join(arguments)])
    counting = settings.counts or _COUNTS.search(text) is not None
    found = _RECORDER.search(text)
    asked = settings.recorder or (found[1] or found[2] if found else RECORDER.default)
    choice = choose(asked, recording_folder(settings.workspace), counting=counting)
    scope = RecordedFiles(settings.workspace, settings.sources, include_tests=True)
    # what the recorder does not want is dropped in `hand_over`
    hooks = Hooks(scope, counting=counting, monitoring=choice.monitoring, activity=settings.activity)
    if settings.channel >= 0:
        hooks.import_hook.kept = {}  # to replace functions by newer ones
    started = _started = EarlyStart(hooks, asked, choice, python, before)
    hooks.install()
    _with_pytest(started)
    return started


def take() -> EarlyStart | None:
    """Take over what :func:`start` started.

    None if nothing was started, or it was taken over already.
    """
    global _started
    started, _started = _started, None
    return started


def _with_pytest(started: EarlyStart) -> None:
    """Instrument also what pytest's loader loads, as soon as pytest is imported."""
    hooks = started.hooks

    def there() -> None:
        if _started is started:
            rewrite = sys.modules[_REWRITE]
            started.undo = instrument_rewritten(rewrite, hooks.import_hook, hooks.first_imports.capture)

    if _REWRITE in sys.modules:
        there()
    else:
        hooks.first_imports.when_executed(_REWRITE, there)


def _configuration(workspace: str) -> Iterator[str]:
    """The texts of possible configurations of pytest; it is not known yet which of them pytest will use."""
    yield os.environ.get("PYTEST_ADDOPTS", "")
    for folder in dict.fromkeys((workspace, os.getcwd())):
        for name in INI_FILES:
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
                    yield stream.read(1 << 20)
            except OSError:
                continue
