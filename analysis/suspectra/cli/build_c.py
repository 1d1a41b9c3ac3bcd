"""The command `build-c`. Only click and what is as light is imported here, since help loads this."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from suspectra.base.english import many
from suspectra.cli.console import workspace_option

_SYSTEMS = ("cmake", "meson", "automake", "scons", "make")


def register(cli: click.Group) -> None:
    """Add the command to the command line."""

    @cli.command("build-c")
    @workspace_option
    @click.option("--system", type=click.Choice(_SYSTEMS), help="The build system, if the project has several.")
    @click.option(
        "--folder", metavar="DIR", help="Where to build.  [default: build, or build-coverage if that is taken]"
    )
    @click.argument("configuring", metavar="[-- OPTION...]", nargs=-1, type=click.UNPROCESSED)
    def build_c(workspace: Path, system: str | None, folder: str | None, configuring: tuple[str, ...]) -> int:
        """Configure and build a C or C++ project with coverage.

        The build systems are CMake, Meson, automake, SCons and plain make; the last two build everything again where it
        is. Options behind -- are for cmake, meson setup, configure, scons or make. The command that records the tests
        is printed. For example: suspectra build-c -- -DBUILD_TESTING=ON
        """
        from suspectra.c.coverage_build import coverage_build
        from suspectra.processes.watchdog import Watchdog

        build = coverage_build(workspace, folder, system, configuring)
        with Watchdog(os.environ):
            objects = build.make()
        click.echo(
            f"suspectra: {build.build_system} built {many(objects, 'object')} with coverage in {build.folder}", err=True
        )
        if off := build.tests_left_out():
            click.echo("suspectra: the project leaves out its tests; these settings may build them:", err=True)
            click.echo(shlex.join(["suspectra", "build-c", "--", *configuring, *(f"-D{name}=ON" for name in off)]))
        elif build.tests:
            click.echo(shlex.join(["suspectra", "record-c", *build.tests]))
        else:
            said = "say which commands are tests: a file with a name, a tab and a command in each line"
            click.echo(f"suspectra: {said}", err=True)
            click.echo("suspectra record-c --shell FILE")
        return 0
