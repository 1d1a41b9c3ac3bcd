"""The settings of a recording, and how they are passed to the process that runs the tests."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import asdict, dataclass, field

from suspectra_recorder.instrumentation.library_references import json, os, sys

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

    It may not exist.
    """
    return os.path.join(workspace, FOLDER, RECORDING)


@dataclass(frozen=True)
class RecordingSettings:
    """How to record."""

    workspace: str = ""  # absolute path; empty for pytest's rootdir
    sources: tuple[str, ...] = ()  # folders and packages to record besides the workspace
    include_tests: bool = False  # record test modules and conftest files too
    counts: bool = False  # count how often branches are taken
    children: bool = True  # record the processes that tests start
    recorder: str = ""  # one of suspectra_recorder.options.RECORDERS, empty if none was chosen
    # whether pytest was started as a module, by `python -m`; workers of pytest-xdist learn it in this way
    by_module: bool = False
    run: str = ""  # identifies the run; the same for all its processes
    status: str = ""  # a file to which each process appends a line at its end; empty for none
    selection: str = ""  # a file with the tests that need not run; empty to run all
    progress: str = ""  # a file to which a line is appended for each test that ends; empty for none
    activity: str = ""  # a file in which the process notes what it is doing; empty for none
    channel: int = -1  # the descriptor of a socket
    # the former values of the environment variables that were changed
    environment: dict[str, str | None] = field(default_factory=dict)

    def to_json(self) -> str:
        """Encode the settings for :data:`VARIABLE`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RecordingSettings:
        """Parse the value of :data:`VARIABLE`; anything that is not a JSON object means the defaults."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            return cls()
        known = {k: v for k, v in values.items() if k in cls.__dataclass_fields__}
        return cls(**{**known, "sources": tuple(known.get("sources", ()))})


def inject_env(
    settings: RecordingSettings, environ: MutableMapping[str, str], *, unittest: bool = False
) -> RecordingSettings:
    """Change an environment so that every pytest, or every process with unittest, started in it records."""
    names = ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS")
    former = settings.environment or {name: environ.get(name) for name in names}
    settings = RecordingSettings(**{**asdict(settings), "sources": settings.sources, "environment": former})
    environ[VARIABLE] = settings.to_json()
    environ["PYTHONPATH"] = _joined(os.pathsep, BOOTSTRAP_FOLDER, former["PYTHONPATH"])
    if unittest:
        return settings
    # -p is the earliest a plugin can come, but only PYTEST_PLUGINS reaches the workers of pytest-xdist in time
    environ["PYTEST_ADDOPTS"] = _joined(" ", f"-p {BOOTSTRAP}", former["PYTEST_ADDOPTS"])
    environ["PYTEST_PLUGINS"] = _joined(",", BOOTSTRAP, former["PYTEST_PLUGINS"])
    return settings


def every_pytest(workspace: str, python: str) -> dict[str, str]:
    """Return the environment in which every pytest that runs in a workspace is recorded, whoever starts it."""
    return {"PYTHONPATH": BOOTSTRAP_FOLDER, WORKSPACE_VARIABLE: workspace, PYTHON_VARIABLE: python}


def record_here(environ: MutableMapping[str, str]) -> None:
    """Record the pytest of this process, which an environment of :func:`every_pytest` asks for."""
    workspace = os.path.realpath(environ.pop(WORKSPACE_VARIABLE))
    entries = environ.pop("PYTHONPATH", "").split(os.pathsep)
    if left := os.pathsep.join(entry for entry in entries if entry != BOOTSTRAP_FOLDER):
        environ["PYTHONPATH"] = left
    inject_env(RecordingSettings(workspace=workspace), environ)


def remove_env(settings: RecordingSettings, environ: MutableMapping[str, str]) -> None:
    """Undo :func:`inject_env`, so that processes of the tests do not record into the same folder."""
    environ.pop(VARIABLE, None)
    for name, value in settings.environment.items():
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value
    # tests find the path as it is without the recorder, which is imported by now
    sys.path[:] = [entry for entry in sys.path if entry != BOOTSTRAP_FOLDER]


def _joined(separator: str, ours: str, theirs: str | None) -> str:
    return ours + separator + theirs if theirs else ours
