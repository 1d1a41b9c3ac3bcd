"""What the commands share: options, exit statuses, and the output of problems and results.

Only what every command needs is imported at the top: importing numpy alone takes as long as a small ranking.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from suspectra.base.errors import Problem, UsageError

if TYPE_CHECKING:
    from suspectra.evidence.evidence import Evidence
    from suspectra_recorder.options import Option

NOTHING_TO_RANK, BAD_INPUT, INTERNAL_ERROR, INTERRUPTED = 1, 2, 70, 130
"""Exit statuses."""

Command = Callable[..., object]  # with a parameter for each of its options
Decorator = Callable[[Command], Command]
_PATH = click.Path(path_type=Path)


def options(*given: Decorator) -> Decorator:
    """Combine options into one decorator. Help lists them in this order."""

    def add(command: Command) -> Command:
        for option in reversed(given):
            command = option(command)
        return command

    return add


def declared(option: Option, **more: object) -> Decorator:
    """The command-line option for a declared option."""
    flag = f"--{option.word}"
    help_text, default = option.help, option.default
    shown: dict[str, Any] = {}
    if isinstance(default, bool):
        flag = f"{flag}/--no-{option.word}" if default else flag
        help_text += "  [default: on]" if default else ""
        shown = {"is_flag": True, "default": default}
    elif isinstance(default, tuple):
        help_text += " (repeatable)"
        shown = {"multiple": True, "metavar": "NAME"}
    elif option.values:
        help_text += f"  [default: {default}]"
        shown = {"type": click.Choice(list(option.values))}
    elif isinstance(default, float):
        shown = {"type": click.FloatRange(option.minimum, option.maximum), "default": default, "show_default": True}
    elif default:
        shown = {"default": default, "show_default": True}
    return click.option(flag, option.name, **{**shown, "help": help_text, **more})


def seconds_option(option: Option) -> Decorator:
    """The command-line option for how long a search may take; its default is longer on a busy machine."""
    longer = f"{option.help} On a busy machine the default is as much longer as it is slower."
    return declared(option, type=click.FloatRange(min=0, min_open=True), callback=_as_long_as_here, help=longer)


def _as_long_as_here(context: click.Context, parameter: click.Parameter, seconds: float) -> float:
    if parameter.name is None or context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT:
        return seconds
    from suspectra.base.deadline import while_others_work

    return while_others_work(seconds)


_EVIDENCE = ("coverage", "junit", "recording", "gcov", "gcovr", "lcov", "cobertura", "outcomes", "build")
_OURS, _REPOSITORY = ".suspectra", ".git"


def _recorded_folder(context: click.Context, parameter: click.Parameter, workspace: Path) -> Path:
    """The current folder, or if nothing was recorded there the nearest one around it where something was.

    Not where other evidence is named, nor beyond the repository of the current folder.
    """
    if context.get_parameter_source("workspace") is not ParameterSource.DEFAULT or any(
        context.params.get(name) for name in _EVIDENCE
    ):
        return workspace
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / _OURS).is_dir():
            return workspace if folder == here else folder
        if (folder / _REPOSITORY).exists():
            break
    return workspace


_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_MEANING = "The project's folder; suspects are files in it."
workspace_option = click.option(
    "--workspace", type=_FOLDER, default=".", help=f"{_MEANING}  [default: the current one]"
)
recorded_workspace_option = click.option(
    "--workspace",
    type=_FOLDER,
    default=".",
    callback=_recorded_folder,
    help=f"{_MEANING}  [default: the current one, or the one around it that has a recording]",
)
python_option = click.option(
    "--python", metavar="PATH", help="The Python for a bare pytest.  [default: that of the recording]"
)
only_option = click.option(
    "--only", type=_PATH, metavar="FILE", help="Only the tests that this file names, one a line."
)
progress_option = click.option(
    "--progress", type=_PATH, metavar="FILE", help="Add a line of JSON to this file as each test ends."
)
build_options = options(
    click.option("--build", type=_PATH, multiple=True, help="A folder that contains .gcno files (repeatable)."),
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="THERE=HERE",
        help="A folder on the machine that built the programs, and the same folder on this machine (repeatable).",
    ),
)


def parse_location(workspace: Path, text: str) -> tuple[str, int]:
    """Parse FILE:LINE. The file is relative to the current folder or to the workspace.

    Raises BadParameter when `text` does not end in a colon and a line number.
    """
    from suspectra.evidence.boundary import inside

    file, colon, line = text.rpartition(":")
    if not colon or not line.isdecimal() or int(line) < 1:
        raise click.BadParameter(f"{text!r} is not of the form FILE:LINE.", param_hint="'FILE:LINE'")
    for base in (Path.cwd(), workspace):
        path = inside(workspace, base / file)
        if path and (workspace / path).exists():
            return path, int(line)
    return inside(workspace, file) or file, int(line)


def located(evidence: Evidence, place: tuple[str, int]) -> tuple[str, int]:
    """The line in the measured file that its name means.

    Raises UsageError when that is the end of several paths.
    """
    from suspectra.evidence.named_files import measured_file

    return measured_file(evidence, place[0]), place[1]


def unpacked(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Unpack a recording that is given as a ZIP file, for as long as the command runs.

    Raises EvidenceError when the file contains no recording.
    """
    if path is None or not path.is_file() or path.suffix.lower() != ".zip":
        return path
    from suspectra.evidence.archive import unpack
    from suspectra.processes.scratch import ScratchFolder

    scratch = ScratchFolder()
    context.call_on_close(scratch.remove)
    folder = scratch.path / path.name
    folder.mkdir()
    try:
        return unpack(path, folder)
    except BaseException:
        scratch.remove()  # a context whose options are refused is not closed
        raise


def answered(question: str) -> bool | None:
    """Ask the user on the terminal; None where the answer is not known.

    Raises KeyboardInterrupt when they stop: what is known by then is shown.
    """
    try:
        answer = click.prompt(question, type=click.Choice(["y", "n", "?"]), default="?", err=True)
    except click.Abort:
        raise KeyboardInterrupt from None
    return {"y": True, "n": False}.get(answer)


def print_problem(kind: str, problem: Problem) -> None:
    """Print a problem to stderr."""
    from suspectra.output.terminal import Style, safe

    colour = {"error": "red", "warning": "yellow"}[kind]
    click.echo(f"suspectra: {Style(sys.stderr)(kind, 'bold', colour)}: {safe(str(problem))}", err=True, color=True)


def warn(problems: Iterable[Problem]) -> None:
    """Print warnings: problems in spite of which a command has a result. What is said of several files is said once."""
    alike: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        alike.setdefault((problem.cause, problem.cure), []).append(problem)
    for first, *others in alike.values():
        more = f" (so it is with {len(others)} more)" if others else ""
        print_problem("warning", replace(first, cause=first.cause + more))


@contextmanager
def written(path: Path | None) -> Iterator[TextIO]:
    """Open an output file, or stdout. The file gets its name only when it is complete.

    Raises UsageError when `path` is a folder, or can't be written.
    """
    if path is None:
        yield sys.stdout
        return
    if path.is_dir():
        raise UsageError(Problem(str(path), "", "it is a folder", "name a file to write"))
    if path.exists() and not path.is_file():  # a device or a pipe is written to, not replaced
        with open(path, "w", encoding="utf-8", newline="\n") as out:
            yield out
        return
    from suspectra_recorder.complete_file import complete_file

    try:
        with complete_file(path) as stream, TextIOWrapper(stream, encoding="utf-8", newline="\n") as out:
            yield out
    except OSError as error:
        cure = "name a file in a folder that exists and can be written to"
        raise UsageError(Problem(str(path), "", f"it can't be written: {error.strerror or error}", cure)) from None
