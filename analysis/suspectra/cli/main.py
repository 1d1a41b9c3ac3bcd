"""The command line.

Only what every command needs is imported at the top: importing numpy alone takes as long as a small ranking.

The exit status is 0 with a result, 1 when there is nothing to rank, and 2 for bad usage or unreadable evidence.
`record` exits with the status of the test runner unless the tests passed and nothing could be recorded. `record-c`
exits with 1 when a test failed.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from suspectra import __version__
from suspectra.base.errors import NothingToRank, SuspectraError
from suspectra.cli.console import BAD_INPUT, INTERNAL_ERROR, INTERRUPTED, NOTHING_TO_RANK, print_problem

_DEBUG = "SUSPECTRA_DEBUG"
_COMMANDS = {
    "suspectra.cli.record": ("record", "record-c", "affected", "merge"),
    "suspectra.cli.build_c": ("build-c",),
    "suspectra.cli.rank": ("rank", "report", "explain", "techniques"),
    "suspectra.cli.status": ("status",),
    "suspectra.cli.investigate": ("investigate",),
    "suspectra.cli.fix": ("fix",),
    "suspectra.cli.trial": ("try",),
    "suspectra.cli.causes": ("causes",),
    "suspectra.cli.changes": ("changes",),
    "suspectra.cli.why": ("why",),
    "suspectra.cli.slice": ("slice",),
    "suspectra.cli.paths": ("paths",),
    "suspectra.cli.markov": ("markov",),
    "suspectra.cli.evaluate": ("evaluate", "study"),
    "suspectra_mcp.command": ("mcp",),
}
_MODULES = {name: module for module, names in _COMMANDS.items() for name in names}


class _Commands(click.Group):
    """Loads the module of a command only when that is used: all together take longer than a small run of tests."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all, in the order of help."""
        return sorted({*self.commands, *_MODULES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name in _MODULES and cmd_name not in self.commands:
            import_module(_MODULES[cmd_name]).register(self)
        return super().get_command(ctx, cmd_name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    The exit status. Errors are printed to stderr in a line or two; tracebacks only with `--debug`.
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
        print_problem("error", error.problem)
        return NOTHING_TO_RANK if isinstance(error, NothingToRank) else BAD_INPUT
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python would report an error when it flushes stdout at exit.
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


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="suspectra")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def cli(context: click.Context, debug: bool) -> int | None:
    """Suspects from spectra: which code to look at when tests fail.

    Without a command, the same as `suspectra status`.
    """
    if debug:
        os.environ[_DEBUG] = "1"
    if context.invoked_subcommand is not None:
        return None
    command = cli.get_command(context, "status")
    assert command is not None
    with command.make_context("status", [], parent=context) as without_options:
        status: int = command.invoke(without_options)
    return status


@cli.command()
@click.option("--stdio", is_flag=True, help="Use standard input and output (the default).")
@click.option("--tcp", metavar="HOST:PORT", help="Listen on a TCP socket instead.")
@click.option("--ws", metavar="HOST:PORT", help="Listen on a web socket instead.")
@click.option("--unix", metavar="PATH", help="Listen on a Unix socket instead.")
@click.option("--trusted", is_flag=True, help="Allow the client of a socket to run tests.")
@click.option(
    "--token-file", metavar="FILE", help="Write the token of --tcp or --ws to this file instead of printing it."
)
def server(
    stdio: bool, tcp: str | None, ws: str | None, unix: str | None, trusted: bool, token_file: str | None
) -> int | None:
    """Start the language server for editors."""
    if sum(map(bool, (stdio, tcp, ws, unix))) > 1:
        raise click.UsageError("Give one of --stdio, --tcp, --ws and --unix.")
    from suspectra_server import main as language_server

    named = {"--tcp": tcp, "--ws": ws, "--unix": unix, "--token-file": token_file}
    arguments = [word for name, value in named.items() if value for word in (name, value)]
    return language_server.main([*arguments, *["--trusted"] * trusted])
