"""The settings of a recording, and how they are passed to the process that runs the tests."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import asdict, dataclass, field

from suspectra_recorder.instrumentation.own import json, os, sys

VARIABLE = "SUSPECTRA_RECORD"
"""The environment variable that switches the plugin on; its value is the settings as JSON."""

BOOTSTRAP = "suspectra_bootstrap"
"""The plugin that makes this package importable where it is not installed."""

BOOTSTRAP_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
"""The one folder that is put on the path for it, and for processes that tests start; a ``sitecustomize`` in it starts
the recording early."""

CHILD_VARIABLE = "SUSPECTRA_CHILD"
"""The environment variable with the folder and the number for processes that tests start."""

WORKSPACE_VARIABLE = "SUSPECTRA_WORKSPACE"
"""The environment variable with a folder in which every pytest is to be recorded."""

PYTHON_VARIABLE = "SUSPECTRA_PYTHON"
"""The environment variable with the interpreter that runs Suspectra, where the tests run with another one."""

FOLDER = ".suspectra"
RECORDING = "recording"


def recording_folder(workspace: str) -> str:
    """Return the folder of a workspace's recording.

    Parameters
    ----------
    workspace : str
        The folder.

    Returns
    -------
    str
        It may not exist.

    Examples
    --------
    >>> recording_folder("shop").split(os.sep)
    ['shop', '.suspectra', 'recording']
    """
    return os.path.join(workspace, FOLDER, RECORDING)


@dataclass(frozen=True)
class Settings:
    """How to record.

    Parameters
    ----------
    workspace : str
        Absolute path; empty for pytest's rootdir.
    sources : tuple of str
        Folders and packages to record besides the workspace.
    include_tests : bool
        Record test modules and conftest files too.
    counts : bool
        Count how often branches are taken.
    children : bool
        Record the processes that tests start.
    recorder : str
        One of :data:`suspectra_recorder.options.RECORDERS`, empty if none was chosen.
    by_module : bool
        Whether pytest was started as a module, by ``python -m``; workers of pytest-xdist learn it in this way.
    run : str
        Identifies the run; the same for all its processes.
    status : str
        A file to which each process appends a line at its end; empty for none.
    selection : str
        A file with the tests that need not run; empty to run all.
    progress : str
        A file to which a line is appended for each test that ends; empty for none.
    activity : str
        A file in which the process notes what it is doing; empty for none.
    channel : int
        The descriptor of a socket. The process collects the tests and runs those that it is asked for there; -1 for
        a process that runs its tests by itself.
    environment : dict of str to (str or None)
        The former values of the environment variables that were changed.

    Examples
    --------
    >>> settings = Settings("/work/shop", sources=("lib",), counts=True)
    >>> Settings.from_json(settings.to_json()) == settings
    True
    >>> Settings.from_json("1") == Settings()
    True
    """

    workspace: str = ""
    sources: tuple[str, ...] = ()
    include_tests: bool = False
    counts: bool = False
    children: bool = True
    recorder: str = ""
    by_module: bool = False
    run: str = ""
    status: str = ""
    selection: str = ""
    progress: str = ""
    activity: str = ""
    channel: int = -1
    environment: dict[str, str | None] = field(default_factory=dict)

    def to_json(self) -> str:
        """Encode the settings for :data:`VARIABLE`.

        Returns
        -------
        str
            JSON for :meth:`from_json`.
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Parse the value of :data:`VARIABLE`; anything that is not a JSON object means the defaults.

        Parameters
        ----------
        text : str
            The value of the variable.

        Returns
        -------
        Settings
            The settings; unknown fields are ignored.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            return cls()
        known = {k: v for k, v in values.items() if k in cls.__dataclass_fields__}
        return cls(**{**known, "sources": tuple(known.get("sources", ()))})


def inject_env(settings: Settings, environ: MutableMapping[str, str], *, unittest: bool = False) -> Settings:
    """Change an environment so that every pytest, or every process with unittest, started in it records.

    Parameters
    ----------
    settings : Settings
        How to record.
    environ : mapping of str to str
        Changed in place.
    unittest : bool, optional
        Whether unittest is recorded rather than pytest.

    Returns
    -------
    Settings
        With the former values of the variables that were changed.

    Examples
    --------
    >>> environ = {"PYTEST_ADDOPTS": "-q"}
    >>> settings = inject_env(Settings("/work/shop"), environ)
    >>> environ["PYTEST_ADDOPTS"], settings.environment["PYTEST_ADDOPTS"]
    ('-p suspectra_bootstrap -q', '-q')
    >>> Settings.from_json(environ[VARIABLE]).workspace
    '/work/shop'
    """
    names = ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS")
    former = settings.environment or {name: environ.get(name) for name in names}
    settings = Settings(**{**asdict(settings), "sources": settings.sources, "environment": former})
    environ[VARIABLE] = settings.to_json()
    environ["PYTHONPATH"] = _joined(os.pathsep, BOOTSTRAP_FOLDER, former["PYTHONPATH"])
    if unittest:
        return settings
    # -p is the earliest a plugin can come, but only PYTEST_PLUGINS reaches the workers of pytest-xdist in time
    environ["PYTEST_ADDOPTS"] = _joined(" ", f"-p {BOOTSTRAP}", former["PYTEST_ADDOPTS"])
    environ["PYTEST_PLUGINS"] = _joined(",", BOOTSTRAP, former["PYTEST_PLUGINS"])
    return settings


def every_pytest(workspace: str, python: str) -> dict[str, str]:
    """Return the environment in which every pytest that runs in a workspace is recorded, whoever starts it.

    Parameters
    ----------
    workspace : str
        Absolute path.
    python : str
        The interpreter that runs Suspectra, to show the first suspects.

    Returns
    -------
    dict of str to str
        Variables to set; PYTHONPATH is to be put before the one that is there.

    Examples
    --------
    >>> every_pytest("/work/shop", "/opt/suspectra/bin/python")["SUSPECTRA_WORKSPACE"]
    '/work/shop'
    """
    return {"PYTHONPATH": BOOTSTRAP_FOLDER, WORKSPACE_VARIABLE: workspace, PYTHON_VARIABLE: python}


def record_here(environ: MutableMapping[str, str]) -> None:
    """Record the pytest of this process, which an environment of :func:`every_pytest` asks for.

    Parameters
    ----------
    environ : mapping of str to str
        Changed in place, so that :func:`remove_env` leaves nothing for the processes that tests start.

    Examples
    --------
    >>> environ = every_pytest("/work/shop", "python3")
    >>> record_here(environ)
    >>> settings = Settings.from_json(environ[VARIABLE])
    >>> settings.workspace, settings.environment["PYTHONPATH"]
    ('/work/shop', None)
    """
    workspace = os.path.realpath(environ.pop(WORKSPACE_VARIABLE))
    entries = environ.pop("PYTHONPATH", "").split(os.pathsep)
    if left := os.pathsep.join(entry for entry in entries if entry != BOOTSTRAP_FOLDER):
        environ["PYTHONPATH"] = left
    inject_env(Settings(workspace=workspace), environ)


def remove_env(settings: Settings, environ: MutableMapping[str, str]) -> None:
    """Undo :func:`inject_env`, so that processes of the tests do not record into the same folder.

    Parameters
    ----------
    settings : Settings
        The result of :func:`inject_env`.
    environ : mapping of str to str
        Changed in place.

    Examples
    --------
    >>> environ = {"PYTEST_ADDOPTS": "-q"}
    >>> remove_env(inject_env(Settings("/work/shop"), environ), environ)
    >>> environ
    {'PYTEST_ADDOPTS': '-q'}
    """
    environ.pop(VARIABLE, None)
    for name, value in settings.environment.items():
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value
    sys.path[:] = [entry for entry in sys.path if entry != BOOTSTRAP_FOLDER]


def _joined(separator: str, ours: str, theirs: str | None) -> str:
    return ours + separator + theirs if theirs else ours
