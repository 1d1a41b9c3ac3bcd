"""The command line.

Only what every command needs is imported here; numpy alone takes as long to load as a small ranking takes to make.
Exit status: 0 with a result, 1 when there is nothing to rank, 2 for bad usage or unreadable evidence; `record` passes
on the status of the tests.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from suspectra import __version__
from suspectra.errors import NothingToRank, Problem, SuspectraError, UsageError

if TYPE_CHECKING:
    from suspectra.localizer import Localizer
    from suspectra.output.ranking import Ranking
    from suspectra.techniques.technique import Technique

NOTHING_TO_RANK, BAD_INPUT, INTERNAL_ERROR, INTERRUPTED = 1, 2, 70, 130
TABLE_TOP = 20
_DEBUG = "SUSPECTRA_DEBUG"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its status."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns
    -------
    int
        The exit status. Whatever goes wrong is said on stderr in a line or two, never as a traceback, unless
        ``--debug`` asks for one.
    """
    from suspectra.output.terminal import safe, soften

    soften(sys.stdout)
    soften(sys.stderr)
    try:
        status = cli.main(
            args=None if arguments is None else list(arguments), prog_name="suspectra", standalone_mode=False
        )
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except SuspectraError as error:
        _debug_traceback()
        _say("error", error.problem)
        return NOTHING_TO_RANK if isinstance(error, NothingToRank) else BAD_INPUT
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader has seen enough; python would complain when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _debug_traceback()
        click.echo(safe(f"suspectra: error: {error}"), err=True)
        return BAD_INPUT
    except Exception as error:
        _debug_traceback()
        click.echo(safe(f"suspectra: internal error: {type(error).__name__}: {error}"), err=True)
        click.echo("Please report it with what `suspectra --debug …` prints for the same command.", err=True)
        return INTERNAL_ERROR


def _debug_traceback() -> None:
    if os.environ.get(_DEBUG):
        traceback.print_exc()


def _say(kind: str, problem: Problem) -> None:
    from suspectra.output.terminal import Style, safe

    colour = {"error": "red", "warning": "yellow"}[kind]
    click.echo(f"suspectra: {Style(sys.stderr)(kind, 'bold', colour)}: {safe(str(problem))}", err=True, color=True)


# ---------------------------------------------------------------------------------------------------- options


def _options(*options: Callable) -> Callable:
    def add(command: Callable) -> Callable:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_workspace = click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    help="The project's folder; suspects are files in it.  [default: the current one]",
)
_evidence = _options(
    _workspace,
    click.option("--coverage", type=click.Path(path_type=Path), help="A coverage.py data file with contexts."),
    click.option("--junit", type=click.Path(path_type=Path), help="The JUnit XML file of the same run."),
    click.option("--recording", type=click.Path(path_type=Path), help="The folder of a recording."),
)
_technique = _options(
    click.option(
        "--technique", default="ochiai", show_default=True, metavar="NAME", help="One of `suspectra techniques`."
    ),
    click.option("--param", "parameters", multiple=True, metavar="KEY=VALUE", help="A technique's own parameter."),
    click.option("--clone-failed", is_flag=True, help="Let failed tests weigh as much as the passed ones."),
    click.option("--break-ties", metavar="NAME", help="Let a second technique, such as cp, order what is tied."),
    click.option("--include-tests", is_flag=True, help="Let test code be suspected too."),
)
_format = click.Choice(["table", "json", "sarif", "csv", "markdown"])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="suspectra")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def cli(debug: bool) -> None:
    """Suspects from spectra: which code to look at when tests fail."""
    if debug:
        os.environ[_DEBUG] = "1"


# --------------------------------------------------------------------------------------------------- commands


@cli.command()
@_evidence
@_technique
@click.option("--top", type=click.IntRange(min=1), help=f"How many suspects.  [default: table {TABLE_TOP}, others all]")
@click.option("--format", "form", type=_format, default="table", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to a file instead of stdout.")
def rank(top: int | None, form: str, output: Path | None, workspace: Path, **chosen: Any) -> None:
    """Rank statements by how suspicious the tests make them.

    Without options the newest recording or .coverage file with a JUnit report of the workspace is used.
    """
    localizer = _localize(workspace, **chosen)
    if form in ("table", "markdown"):
        top = top or TABLE_TOP
    ranking = _ranking(localizer, top)
    with _written(output) as out:
        _write(ranking, form, out, workspace)
    _warn(ranking.problems)


@cli.command()
@_evidence
@_technique
@click.option("--html", type=click.Path(path_type=Path), required=True, help="The page to write.")
@click.option("--top", type=click.IntRange(min=1), default=200, show_default=True, help="How many suspects.")
def report(html: Path, top: int, workspace: Path, **chosen: Any) -> None:
    """Write a self-contained HTML page: suspects, sources, and what each test executed."""
    from suspectra.evidence.sources import Sources
    from suspectra.output.html import write_html

    ranking = _ranking(_localize(workspace, **chosen), top)
    with _written(html) as out:
        write_html(ranking, out, Sources(workspace))
    _warn(ranking.problems)
    click.echo(f"wrote {html}")


@cli.command()
@_evidence
@_technique
@click.argument("place", metavar="FILE:LINE")
def explain(place: str, workspace: Path, **chosen: Any) -> None:
    """Say why a line stands where it stands in the ranking."""
    from suspectra.evidence.sources import Sources
    from suspectra.output.explanation import write_explanation

    localizer = _localize(workspace, **chosen)
    file, line = _place(workspace, place)
    write_explanation(localizer.report, file, line, sys.stdout, Sources(workspace))
    _warn(localizer.problems())


@cli.command()
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def techniques(form: str) -> None:
    """List the localization techniques, each with its paper."""
    from suspectra.output import catalogue

    write = catalogue.write_json if form == "json" else catalogue.write_table
    write(sys.stdout)


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_workspace
@click.option("--python", metavar="PATH", help="The interpreter for a bare pytest.  [default: the project's own]")
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Record this folder or package too.")
@click.option("--include-tests", is_flag=True, help="Record test modules too.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- [COMMAND]...")
def record(workspace: Path, command: tuple[str, ...], **chosen: Any) -> int:
    """Run the tests and record what each executes.

    For example: suspectra record -- pytest tests -x
    """
    from suspectra.recording import launch

    return launch.run(command, workspace, **chosen)


@cli.command()
@click.option("--stdio", is_flag=True, help="Speak over standard input and output (the default).")
@click.option("--tcp", metavar="HOST:PORT", help="Listen on a TCP socket instead.")
@click.option("--ws", metavar="HOST:PORT", help="Listen on a web socket instead.")
def server(stdio: bool, tcp: str | None, ws: str | None) -> int | None:
    """Start the language server for editors."""
    if sum(map(bool, (stdio, tcp, ws))) > 1:
        raise click.UsageError("Give one of --stdio, --tcp and --ws.")
    from suspectra_server import server as language_server

    arguments = ["--tcp", tcp] if tcp else ["--ws", ws] if ws else []
    return language_server.main(arguments)


# ----------------------------------------------------------------------------------------------------- stages


def _localize(
    workspace: Path,
    *,
    coverage: Path | None,
    junit: Path | None,
    recording: Path | None,
    technique: str,
    parameters: tuple[str, ...],
    clone_failed: bool,
    break_ties: str | None,
    include_tests: bool,
) -> Localizer:
    """A localizer that has ranked the evidence; problems of the evidence are said even when there is no ranking."""
    if recording and (coverage or junit):
        raise click.UsageError("Give --recording, or --coverage and --junit, not both.")
    chosen = _make_technique(technique, parameters, clone_failed, break_ties)  # a wrong name costs no reading

    from suspectra.evidence.discovery import find_source
    from suspectra.localizer import Localizer

    coverage, junit, recording = (path and path.absolute() for path in (coverage, junit, recording))
    edges = chosen.info.needs != "lines"
    evidence = find_source(workspace, coverage=coverage, junit=junit, recording=recording, edges=edges).read()
    localizer = Localizer(chosen, include_tests=include_tests)
    try:
        localizer.update(evidence)
    except SuspectraError:
        _warn(evidence.problems)
        raise
    return localizer


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


def _ranking(localizer: Localizer, top: int | None) -> Ranking:
    from suspectra.output.ranking import Ranking

    return Ranking(localizer.report, localizer.evidence, tuple(localizer.problems()), top)


def _write(ranking: Ranking, form: str, out: TextIO, workspace: Path) -> None:
    from suspectra.evidence.sources import Sources

    if form == "table":
        from suspectra.output.table import write_table

        write_table(ranking, out, Sources(workspace))
    elif form == "json":
        from suspectra.output.json_output import write_json

        write_json(ranking, out)
    elif form == "sarif":
        from suspectra.output.sarif import write_sarif

        write_sarif(ranking, out, workspace)
    elif form == "csv":
        from suspectra.output.csv_output import write_csv

        write_csv(ranking, out)
    else:
        from suspectra.output.markdown import write_markdown

        write_markdown(ranking, out, Sources(workspace))


@contextmanager
def _written(path: Path | None) -> Iterator[TextIO]:
    """The file, or stdout. A file appears under its name when it is complete."""
    if path is None:
        yield sys.stdout
        return
    if path.is_dir():
        raise UsageError(Problem(str(path), "", "it is a folder", "name a file to write"))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(unfinished, "w", encoding="utf-8", newline="\n") as out:
            yield out
        os.replace(unfinished, path)
    except OSError as error:
        cure = "name a file in a folder that exists and can be written to"
        raise UsageError(Problem(str(path), "", f"it can't be written: {error.strerror or error}", cure)) from None
    finally:
        unfinished.unlink(missing_ok=True)


def _place(workspace: Path, text: str) -> tuple[str, int]:
    """FILE:LINE, the file relative to the current folder or to the workspace."""
    from suspectra.evidence.sources import inside

    file, colon, line = text.rpartition(":")
    if not colon or not line.isdecimal() or int(line) < 1:
        raise click.BadParameter(f"{text!r} is not of the form FILE:LINE.", param_hint="'FILE:LINE'")
    for base in (Path.cwd(), workspace):
        path = inside(workspace, base / file)
        if path and (workspace / path).exists():
            return path, int(line)
    return inside(workspace, file) or file, int(line)


def _warn(problems: Iterable[Problem]) -> None:
    for problem in problems:
        _say("warning", problem)


from suspectra.evaluation.cli import register as _register_evaluation  # noqa: E402 - it uses the options above

_register_evaluation(cli)
