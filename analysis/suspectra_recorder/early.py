"""The start of a recording before there is a recorder: when Python or pytest starts, and no plugin is loaded yet.

Projects may be plugins of pytest themselves, and their ini file may name their classes; then pytest imports them before
it calls any plugin. What they run is kept in memory until pytest's plugin takes it over. What pytest's configuration
says about the recording is not known by then. So everything is instrumented that may be wanted, and the few values that
change how are looked for in the text of the configuration; where they turn out otherwise, that is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import ModuleType

from suspectra_recorder.assertions import instrument_rewritten
from suspectra_recorder.choice import Choice, choose
from suspectra_recorder.hooks import Hooks
from suspectra_recorder.instrumentation import own
from suspectra_recorder.instrumentation.own import os, sys
from suspectra_recorder.options import COUNTS, RECORDER
from suspectra_recorder.scope import Scope
from suspectra_recorder.settings import VARIABLE, Settings, recording_folder

__builtins__ = own.builtins

_REWRITE = "_pytest.assertion.rewrite"
_INI_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_COUNTS = re.compile(rf"""^\s*{COUNTS.ini_name}\s*=\s*["']?(?:true|1|yes|on)\b|{COUNTS.pytest_flag}\b""", re.M | re.I)
_RECORDER = re.compile(rf"""^\s*{RECORDER.ini_name}\s*=\s*["']?(\w+)|{RECORDER.pytest_flag}[=\s"',]+(\w+)""", re.M)


@dataclass
class EarlyStart:
    """What was put into the import system before there was a recorder.

    Parameters
    ----------
    hooks : Hooks
        What was put there.
    asked : str
        The recorder that was asked for, as far as that was known.
    choice : Choice
        The one that was chosen.
    python : module or None
        What Python's start left to know: the modules that were there before. None where pytest's plugin began.
    before : frozenset of str
        The modules that were there before where pytest's plugin began.
    undo : callable
        Leaves pytest's loader as it was; None as long as pytest is not there.
    """

    hooks: Hooks
    asked: str
    choice: Choice
    python: ModuleType | None = None
    before: frozenset[str] = frozenset()
    undo: Callable[[], None] | None = None

    def suits(self, asked: str, *, counting: bool) -> bool:
        """Whether what was assumed is what is asked for, now that this is known.

        Parameters
        ----------
        asked : str
            The recorder that is asked for, one of `RECORDERS`.
        counting : bool
            Whether probes are to count.

        Returns
        -------
        bool
            Whether a recorder can go on with it.
        """
        return self.asked == asked and self.hooks.import_hook.counting == counting

    def hand_over(self, scope: Scope) -> Hooks:
        """Give the hooks to the recorder that goes on with them.

        Parameters
        ----------
        scope : Scope
            What is to be recorded; what was imported and is not part of it is left out.

        Returns
        -------
        Hooks
            The same hooks, from now on for this scope.
        """
        self._leave_pytest()
        files = {file.path for file in self.hooks.import_hook.files}
        unwanted = {name for name in files if scope(os.path.join(scope.root, *name.split("/"))) is None}
        self.hooks.import_hook.narrow(scope, unwanted)
        return self.hooks

    def close(self) -> None:
        """Instrument nothing more."""
        self._leave_pytest()
        self.hooks.close()

    def _leave_pytest(self) -> None:
        if self.undo is not None:
            self.undo()
            self.undo = None


_started: EarlyStart | None = None


def start(python: ModuleType) -> None:
    """Instrument what is imported from now on, when Python starts.

    Parameters
    ----------
    python : module
        The one that is run then.
    """
    settings = Settings.from_json(os.environ[VARIABLE])
    if settings.workspace:
        _start(settings, sys.orig_argv, python=python)


def start_in_pytest(workspace: str, arguments: Iterable[str]) -> Callable[[], None]:
    """Instrument what is imported from now on, when pytest loads its plugin, unless that began before.

    Parameters
    ----------
    workspace : str
        Where the environment names none.
    arguments : iterable of str
        pytest's.

    Returns
    -------
    callable
        Ends it, unless somebody has gone on with it.
    """
    if _started is not None:
        return lambda: None
    settings = Settings.from_json(os.environ.get(VARIABLE, ""))
    settings = replace(settings, workspace=settings.workspace or workspace)
    started = _start(settings, arguments, before=frozenset(sys.modules))

    def end() -> None:
        if _started is started:
            take()
            started.close()

    return end


def _start(
    settings: Settings,
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
    scope = Scope(settings.workspace, settings.sources, include_tests=True)
    hooks = Hooks(scope, counting=counting, monitoring=choice.monitoring)
    started = _started = EarlyStart(hooks, asked, choice, python, before)
    hooks.install()
    _with_pytest(started)
    return started


def take() -> EarlyStart | None:
    """What :func:`start` began, for the one who goes on with it.

    Returns
    -------
    EarlyStart or None
        None where nothing was begun, or somebody has taken it.
    """
    global _started
    started, _started = _started, None
    return started


def _with_pytest(started: EarlyStart) -> None:
    """Instrument what pytest's loader loads, too, as soon as there is one."""
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
    """The texts in which pytest may be told how to record; which of them it takes is not known yet."""
    yield os.environ.get("PYTEST_ADDOPTS", "")
    for folder in dict.fromkeys((workspace, os.getcwd())):
        for name in _INI_FILES:
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
                    yield stream.read(1 << 20)
            except OSError:
                continue
