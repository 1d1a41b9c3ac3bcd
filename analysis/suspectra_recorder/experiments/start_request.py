"""What a machine is asked for when it starts, and how that travels to the process that collects the tests."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.library_references import json, os, sys
from suspectra_recorder.settings import BOOTSTRAP_FOLDER, WORKSPACE_VARIABLE

__builtins__ = library_references.builtins

VARIABLE = "SUSPECTRA_EXPERIMENTS"
"""The environment variable that names the file with the order: a system limits how long a variable may be."""

_FILE = "order.json"

PLUGIN = "suspectra_experiments"
"""The plugin that makes this package importable where it is not installed, and starts the machine."""

_CHANGED = ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTHONHASHSEED")


@dataclass(frozen=True)
class StartRequest:
    """How a machine starts."""

    workspace: str  # absolute path
    tests: tuple[str, ...]  # the node ids of the tests that will be asked for; nothing else is kept
    kinds: tuple[str, ...]  # the kinds of jobs that will be asked for; `plain`, `trace` and `switch` always can be
    # a folder for the order itself, and for what tests write to `tmp_path`; the process that starts the machine removes
    # it
    scratch: str
    excluded: tuple[str, ...] = ()  # the names of markers; tests that have one are never run
    # the folder whose copy the workspace is, or the workspace itself; what would be imported from there is imported
    # from the workspace
    original: str = ""
    # the descriptor of the socket on which it is asked and answers; -1 where there is none, and it runs `requests`
    channel: int = -1
    requests: str = ""  # some requests of one job each as JSON, for a machine that ends after them
    # the modules of their tests, absolute paths; empty where they are those that pytest was started with
    files: tuple[str, ...] = ()
    answers: str = ""  # the file that takes its answers; empty where there is a channel
    # other texts of files of the workspace, by path, which are loaded in their place
    altered: dict[str, str] = field(default_factory=dict)
    # whether calls of the whole process are watched, also those that it makes while it collects the tests
    watched: bool = False
    touched: tuple[tuple[str, ...], ...] = ()  # what an unaltered process does while it collects them
    # what the variables that brought the order contained before
    environment: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: str) -> StartRequest:
        """Read the order from the file that :data:`VARIABLE` names."""
        with open(path, encoding="utf-8") as stream:
            values = json.loads(stream.read())
        tuples = {name: tuple(values[name]) for name in ("tests", "kinds", "excluded", "files", "touched")}
        return cls(**{**values, **tuples})

    def put_into(self, environ: MutableMapping[str, str]) -> None:
        """Add to an environment what makes a pytest that is started in it a machine."""
        environ.pop(WORKSPACE_VARIABLE, None)  # where every pytest is recorded, an altered run is none of them
        before = {name: environ.get(name) for name in _CHANGED}
        environ[VARIABLE] = self.write(before)
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, (BOOTSTRAP_FOLDER, before["PYTHONPATH"])))
        environ["PYTEST_ADDOPTS"] = " ".join(filter(None, (f"-p {PLUGIN}", before["PYTEST_ADDOPTS"])))
        self.write_only_to_scratch(environ)
        environ.setdefault("PYTHONHASHSEED", "0")  # sets of strings have the same order in each machine

    def write(self, before: Mapping[str, str | None] = MappingProxyType({})) -> str:
        """Write the order down, with what an environment contained before; the name of the file."""
        path = os.path.join(self.scratch, _FILE)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(json.dumps({**asdict(self), "environment": dict(before)}))
        return path

    def write_only_to_scratch(self, environ: MutableMapping[str, str]) -> None:
        """Let temporary files be where an altered run may write."""
        environ["TMPDIR"] = environ["HYPOTHESIS_STORAGE_DIRECTORY"] = self.scratch

    def import_from_workspace(self) -> None:
        """Let imports from the original folder find its copy: paths, and the finders of editable installs."""
        if self.original in ("", self.workspace):
            return
        sys.path[:] = [self._in_workspace(entry) for entry in sys.path]
        for name, module in list(sys.modules.items()):
            # setuptools writes such a finder for editable installs: a mapping of packages to folders
            mapping = getattr(module, "MAPPING", None) if name.startswith("__editable__") else None
            if isinstance(mapping, dict):
                mapping.update({package: self._in_workspace(path) for package, path in mapping.items()})

    def _in_workspace(self, path: str) -> str:
        """Where a path is in the copy, if that has it."""
        if path != self.original and not path.startswith(self.original + os.sep):
            return path
        copied = self.workspace + path[len(self.original) :]
        return copied if os.path.exists(copied) else path

    def take_out_of(self, environ: MutableMapping[str, str]) -> None:
        """Undo :meth:`put_into`, so that processes that tests start find what they always find."""
        environ.pop(VARIABLE, None)
        for name, value in self.environment.items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value
        sys.path[:] = [entry for entry in sys.path if entry != BOOTSTRAP_FOLDER]
