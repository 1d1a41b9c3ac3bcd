"""The command `mcp`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suspectra.base.errors import Problem, UsageError
from suspectra.cli.localization import evidence_options, technique_options
from suspectra.cli.rerun import COMMAND, BeforeCommand

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from suspectra.cli.localization import RankingOptions


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command(cls=BeforeCommand, options_metavar="[OPTIONS] [-- pytest ...]")
    @evidence_options
    @technique_options
    @click.option("--trusted", is_flag=True, help="Allow the agent to run tests without asking you.")
    @click.option("--experiments", is_flag=True, help="With --trusted: also to run failing tests altered.")
    @click.pass_context
    def mcp(
        context: click.Context, workspace: Path, trusted: bool, experiments: bool, **chosen: Unpack[RankingOptions]
    ) -> None:
        """Serve coding agents by the Model Context Protocol, on standard input and output.

        The command behind -- is what runs the tests, by default pytest, started as in the last recorded run; an agent
        can choose tests, and no other command. Unless you say
        --trusted, the agent's client asks you before tests are run.
        """
        if find_spec("mcp") is None:
            cause, cure = "the package mcp is not installed", "install it: pip install 'suspectra[mcp]'"
            raise UsageError(Problem("", "", cause, cure))
        if experiments and not trusted:
            raise click.UsageError("--experiments goes with --trusted.")
        from suspectra_mcp.main import serve

        serve(workspace, context.meta[COMMAND], trusted=trusted, experiments=experiments, **chosen)
