"""What the commands share: their options, the ranking these ask for, and how things are said and written.

Only what every command needs is imported here; numpy alone takes as long to load as a small ranking takes to make.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypedDict

import click

from suspectra.errors import Problem, SuspectraError, UsageError
from suspectra.options import CLONE_FAILED, COVERAGE, INCLUDE_TESTS, JUNIT, TECHNIQUE
from suspectra_recorder.complete_file import complete_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.evidence.evidence import Evidence, EvidenceSource
    from suspectra.program import Program
    from suspectra.report import RankedReport
    from suspectra.techniques.technique import Technique
    from suspectra_recorder.options import Option

Command = Callable[..., object]  # with a parameter for each of its options
Decorator = Callable[[Command], Command]
_PATH = click.Path(path_type=Path)
_FOREIGN = ("gcov", "gcovr", "lcov", "cobertura")


def options(*given: Decorator) -> Decorator:
    """Several options as one decorator, listed in this order.

    Parameters
    ----------
    *given : Decorator
        Options as click makes them.

    Returns
    -------
    Decorator
        Puts all of them on a command.
    """

    def add(command: Command) -> Command:
        for option in reversed(given):
            command = option(command)
        return command

    return add


def declared(option: Option, **more: Any) -> Decorator:
    """A declared option as one of the command line.

    Parameters
    ----------
    option : Option
        Its type, default and text are taken over.
    **more : Any
        What `click.option` takes besides, or instead of what follows from the declaration.

    Returns
    -------
    callable
        The decorator that gives it to a command.
    """
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


workspace_option = click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="The project's folder; suspects are files in it.  [default: the current one]",
)
only_option = click.option(
    "--only", type=_PATH, metavar="FILE", help="Only the tests that this file names, one a line."
)
progress_option = click.option(
    "--progress", type=_PATH, metavar="FILE", help="Add a line of JSON to this file as each test ends."
)
build_options = options(
    click.option("--build", type=_PATH, multiple=True, help="A folder that holds .gcno files (repeatable)."),
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="THERE=HERE",
        help="A folder of the machine that built the programs, and what it is here (repeatable).",
    ),
)
evidence_options = options(
    workspace_option,
    declared(COVERAGE, type=_PATH),
    declared(JUNIT, type=_PATH),
    click.option("--recording", type=_PATH, help="The folder of a recording."),
    click.option("--gcov", type=_PATH, help="C/C++: a folder of .gcda files, or of gcov's JSON, a folder a test."),
    click.option("--gcovr", type=_PATH, help="C/C++: a folder of gcovr's JSON, a file a test."),
    click.option("--lcov", type=_PATH, help="C/C++: a tracefile with test names, or a folder of them."),
    click.option("--cobertura", type=_PATH, help="C/C++: a folder of Cobertura XML, a file a test."),
    click.option("--outcomes", type=_PATH, help="C/C++: how the tests ended: JUnit XML, JSON, or lines of text."),
    build_options,
)
technique_options = options(
    declared(TECHNIQUE, metavar="NAME"),
    click.option("--param", "parameters", multiple=True, metavar="KEY=VALUE", help="A technique's own parameter."),
    declared(CLONE_FAILED),
    click.option("--break-ties", metavar="NAME", help="Let a second technique, such as cp, order what is tied."),
    declared(INCLUDE_TESTS),
)


class RankingOptions(TypedDict):
    """The values of `evidence_options`, but for the workspace, and of `technique_options`."""

    coverage: Path | None
    junit: Path | None
    recording: Path | None
    gcov: Path | None
    gcovr: Path | None
    lcov: Path | None
    cobertura: Path | None
    outcomes: Path | None
    build: tuple[Path, ...]
    mapping: tuple[str, ...]
    technique: str
    parameters: tuple[str, ...]
    clone_failed: bool
    break_ties: str | None
    include_tests: bool


@dataclass(frozen=True, eq=False)
class Localized:
    """What a command ranked.

    Parameters
    ----------
    report : RankedReport
        The ranking.
    evidence : Evidence
        What it was made from.
    program : Program
        What the evidence says of the program; None where it says nothing.
    problems : tuple of Problem
        Of the evidence and of the ranking.
    """

    report: RankedReport
    evidence: Evidence
    program: Program | None
    problems: tuple[Problem, ...]


def localize(
    workspace: Path, *, edges: bool = False, scheduler: str | None = None, **chosen: Unpack[RankingOptions]
) -> Localized:
    """Rank the evidence; problems of the evidence are said even when there is no ranking.

    Parameters
    ----------
    workspace : Path
        The folder that paths are relative to.
    edges : bool
        Control-flow edges are wanted whether the technique needs them or not.
    scheduler : str, optional
        Of a cluster that counts.
    **chosen
        The values of the options.

    Returns
    -------
    Localized
        The ranking, with what it was made from.
    """
    technique = _make_technique(chosen)  # a wrong name costs no reading
    found = _source(workspace, chosen, edges=edges or technique.info.wants_edges).read()

    from suspectra.localizer import Localizer

    include_tests = chosen["include_tests"]
    localizer = Localizer(technique, include_tests=include_tests)
    try:
        if scheduler is not None:
            from suspectra.cluster import Cluster

            with Cluster(scheduler) as cluster:
                localizer = Localizer(technique, include_tests=include_tests, count=cluster.count)
                report = localizer.update(found)
        else:
            report = localizer.update(found)
    except SuspectraError:
        errors = found.collection_errors
        warn([*(error.problem() for error in errors if len(errors) > 1), *found.problems])
        raise
    return Localized(report, found, localizer.program, tuple(localizer.problems()))


def _source(workspace: Path, chosen: RankingOptions, *, edges: bool) -> EvidenceSource:
    from suspectra.evidence.discovery import find_source, foreign_c_source

    coverage, junit, recording, outcomes = (
        path and path.absolute()
        for path in (chosen["coverage"], chosen["junit"], chosen["recording"], chosen["outcomes"])
    )
    build, mapping = chosen["build"], chosen["mapping"]
    foreign = (chosen["gcov"], chosen["gcovr"], chosen["lcov"], chosen["cobertura"])
    named = {form: path.absolute() for form, path in zip(_FOREIGN, foreign, strict=True) if path is not None}
    given = [*named, *(name for name, value in (("recording", recording), ("coverage", coverage)) if value)]
    if len(given) > 1 or (recording and junit):
        raise click.UsageError("Give --recording, or --coverage and --junit, or one of the C/C++ formats, not both.")
    if named:
        if junit and outcomes:
            raise click.UsageError("Give --junit or --outcomes, not both.")
        folders = [folder.absolute() for folder in build]
        ((form, location),) = named.items()
        return foreign_c_source(workspace, form, location, outcomes=junit or outcomes, build=folders, mapping=mapping)
    if outcomes or build or mapping:
        raise click.UsageError(f"--outcomes, --build and --map go with one of --{', --'.join(_FOREIGN)}.")
    return find_source(workspace, coverage=coverage, junit=junit, recording=recording, edges=edges)


def _make_technique(chosen: RankingOptions) -> Technique:
    from suspectra.techniques import make_technique

    own: dict[str, object] = {"clone_failed": True} if chosen["clone_failed"] else {}
    for text in chosen["parameters"]:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint="'--param'")
        own[key.strip().replace("-", "_")] = _value(value.strip())
    return make_technique(chosen["technique"], break_ties=chosen["break_ties"], **own)


def _value(text: str) -> float | int | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def place(workspace: Path, text: str) -> tuple[str, int]:
    """FILE:LINE, the file relative to the current folder or to the workspace.

    Parameters
    ----------
    workspace : Path
        The folder that paths are relative to.
    text : str
        What the user wrote.

    Returns
    -------
    path : str
        Relative to the workspace, with forward slashes.
    line : int
        Counted from 1.

    Raises
    ------
    BadParameter
        When `text` does not end in a colon and a line number.
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


def say(kind: str, problem: Problem) -> None:
    """Say a problem on stderr, as an ``error`` or as a ``warning``.

    Parameters
    ----------
    kind : {'error', 'warning'}
        Which word and colour it gets.
    problem : Problem
        What is said; control characters in it are made visible.
    """
    from suspectra.output.terminal import Style, safe

    colour = {"error": "red", "warning": "yellow"}[kind]
    click.echo(f"suspectra: {Style(sys.stderr)(kind, 'bold', colour)}: {safe(str(problem))}", err=True, color=True)


def warn(problems: Iterable[Problem]) -> None:
    """Say problems that do not keep a command from its result.

    Parameters
    ----------
    problems : iterable of Problem
        Said one by one, in their order.
    """
    for problem in problems:
        say("warning", problem)


@contextmanager
def written(path: Path | None) -> Iterator[TextIO]:
    """The file, or stdout. A file appears under its name when it is complete.

    Parameters
    ----------
    path : Path or None
        Where to write; None is stdout.

    Yields
    ------
    TextIO
        Text; a file is UTF-8, and its lines end as on Unix everywhere.

    Raises
    ------
    UsageError
        When `path` is a folder, or can't be written.
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
    try:
        with complete_file(path) as stream, TextIOWrapper(stream, encoding="utf-8", newline="\n") as out:
            yield out
    except OSError as error:
        cure = "name a file in a folder that exists and can be written to"
        raise UsageError(Problem(str(path), "", f"it can't be written: {error.strerror or error}", cure)) from None
