"""What the commands share: their options, the ranking these ask for, and how things are said and written.

Only what every command needs is imported here; numpy alone takes as long to load as a small ranking takes to make.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from suspectra.complete_file import complete_file
from suspectra.errors import Problem, SuspectraError, UsageError

if TYPE_CHECKING:
    from suspectra.evidence.evidence import EvidenceSource
    from suspectra.localizer import Localizer
    from suspectra.techniques.technique import Technique

_PATH = click.Path(path_type=Path)
_FOREIGN = ("gcov", "gcovr", "lcov", "cobertura")


def options(*given: Callable) -> Callable:
    """Several options as one decorator, listed in this order."""

    def add(command: Callable) -> Callable:
        for option in reversed(given):
            command = option(command)
        return command

    return add


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
    click.option("--coverage", type=_PATH, help="A coverage.py data file with contexts."),
    click.option("--junit", type=_PATH, help="The JUnit XML file of the same run."),
    click.option("--recording", type=_PATH, help="The folder of a recording."),
    click.option("--gcov", type=_PATH, help="C/C++: a folder of .gcda files, or of gcov's JSON, a folder a test."),
    click.option("--gcovr", type=_PATH, help="C/C++: a folder of gcovr's JSON, a file a test."),
    click.option("--lcov", type=_PATH, help="C/C++: a tracefile with test names, or a folder of them."),
    click.option("--cobertura", type=_PATH, help="C/C++: a folder of Cobertura XML, a file a test."),
    click.option("--outcomes", type=_PATH, help="C/C++: how the tests ended: JUnit XML, JSON, or lines of text."),
    build_options,
)
technique_options = options(
    click.option(
        "--technique", default="ochiai", show_default=True, metavar="NAME", help="One of `suspectra techniques`."
    ),
    click.option("--param", "parameters", multiple=True, metavar="KEY=VALUE", help="A technique's own parameter."),
    click.option("--clone-failed", is_flag=True, help="Let failed tests weigh as much as the passed ones."),
    click.option("--break-ties", metavar="NAME", help="Let a second technique, such as cp, order what is tied."),
    click.option("--include-tests", is_flag=True, help="Let test code be suspected too."),
)


def localize(
    workspace: Path,
    *,
    technique: str,
    parameters: tuple[str, ...],
    clone_failed: bool,
    break_ties: str | None,
    include_tests: bool,
    edges: bool = False,
    scheduler: str | None = None,
    **evidence: Any,
) -> Localizer:
    """A localizer that has ranked the evidence; problems of the evidence are said even when there is no ranking.

    Parameters
    ----------
    workspace : Path
    technique, parameters, clone_failed, break_ties, include_tests
        The values of `technique_options`.
    edges : bool
        Control-flow edges are wanted whether the technique needs them or not.
    scheduler : str, optional
        Of a cluster that counts.
    **evidence
        Those of `evidence_options`.
    """
    chosen = _make_technique(technique, parameters, clone_failed, break_ties)  # a wrong name costs no reading
    found = _source(workspace, edges=edges or chosen.info.needs != "lines", **evidence).read()

    from suspectra.localizer import Localizer

    localizer = Localizer(chosen, include_tests=include_tests)
    try:
        if scheduler is not None:
            from suspectra.cluster import Cluster

            with Cluster(scheduler) as cluster:
                localizer = Localizer(chosen, include_tests=include_tests, count=cluster.count)
                localizer.update(found)
        else:
            localizer.update(found)
    except SuspectraError:
        errors = found.collection_errors
        warn([*(error.problem() for error in errors if len(errors) > 1), *found.problems])
        raise
    return localizer


def _source(
    workspace: Path,
    *,
    edges: bool,
    coverage: Path | None,
    junit: Path | None,
    recording: Path | None,
    outcomes: Path | None,
    build: tuple[Path, ...],
    mapping: tuple[str, ...],
    **foreign: Path | None,
) -> EvidenceSource:
    from suspectra.evidence.discovery import find_source, foreign_c_source

    coverage, junit, recording, outcomes = (path and path.absolute() for path in (coverage, junit, recording, outcomes))
    named = [form for form in _FOREIGN if foreign[form] is not None]
    given = [*named, *(name for name, value in (("recording", recording), ("coverage", coverage)) if value)]
    if len(given) > 1 or (recording and junit):
        raise click.UsageError("Give --recording, or --coverage and --junit, or one of the C/C++ formats, not both.")
    if named:
        if junit and outcomes:
            raise click.UsageError("Give --junit or --outcomes, not both.")
        folders = [folder.absolute() for folder in build]
        location = foreign[named[0]].absolute()
        return foreign_c_source(
            workspace, named[0], location, outcomes=junit or outcomes, build=folders, mapping=mapping
        )
    if outcomes or build or mapping:
        raise click.UsageError(f"--outcomes, --build and --map go with one of --{', --'.join(_FOREIGN)}.")
    return find_source(workspace, coverage=coverage, junit=junit, recording=recording, edges=edges)


def _make_technique(name: str, parameters: Iterable[str], clone_failed: bool, break_ties: str | None) -> Technique:
    from suspectra.techniques import make_technique

    chosen: dict[str, Any] = {"clone_failed": True} if clone_failed else {}
    for text in parameters:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{text!r} is not of the form KEY=VALUE.", param_hint="'--param'")
        chosen[key.strip().replace("-", "_")] = _value(value.strip())
    return make_technique(name, break_ties=break_ties, **chosen)


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
    """FILE:LINE, the file relative to the current folder or to the workspace."""
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
    """Say a problem on stderr, as an ``error`` or as a ``warning``."""
    from suspectra.output.terminal import Style, safe

    colour = {"error": "red", "warning": "yellow"}[kind]
    click.echo(f"suspectra: {Style(sys.stderr)(kind, 'bold', colour)}: {safe(str(problem))}", err=True, color=True)


def warn(problems: Iterable[Problem]) -> None:
    """Say problems that do not keep a command from its result."""
    for problem in problems:
        say("warning", problem)


@contextmanager
def written(path: Path | None) -> Iterator[TextIO]:
    """The file, or stdout. A file appears under its name when it is complete."""
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
