"""What experiments insert into sources can be compiled, whatever the sources contain."""

import asyncio
import dataclasses
import email
import json
import pathlib
import typing
import unittest
from pathlib import Path

import pytest

from suspectra_recorder.experiments.decisions.switchboard import Switchboard
from suspectra_recorder.experiments.loading import ExperimentHook
from suspectra_recorder.experiments.run_kinds import make_kinds
from suspectra_recorder.recorded_files import RecordedFiles

FIXTURES = Path(__file__).parents[1] / "fixtures"
KINDS = [[], ["values"], ["observe"], ["dependences"], ["values", "statements"], ["input", "path"], ["path"]]
ASYNCHRONOUS = b"""\
async def rounds(limit):
    async with limit as most:
        async for each in most:
            if not each:
                return
            yield await each
    return


async def last(limit):
    found = [each async for each in rounds(limit) if each]
    return found[-1] if found else None
"""


def sources():
    """Sources of all kinds of syntax, by name."""
    zoo = [*sorted((FIXTURES / "recording" / "zoo").glob("*.py")), FIXTURES / "python_source_zoo.py"]
    library = [Path(module.__file__) for module in (dataclasses, pathlib, typing) if module.__file__.endswith(".py")]
    for package in (asyncio, email, json, unittest):
        library += sorted(Path(package.__file__).parent.glob("*.py"))[:8]
    return {"asynchronous.py": ASYNCHRONOUS, **{path.name: path.read_bytes() for path in [*library, *zoo]}}


@pytest.mark.slow
@pytest.mark.parametrize("names", KINDS, ids=lambda names: " and ".join(names) or "switch")
def test_every_instrument_takes_every_source(names, tmp_path):
    for name, source in sources().items():
        try:
            compile(source, name, "exec", dont_inherit=True)
        except SyntaxError:  # for a newer Python
            continue
        board = Switchboard()
        kinds = make_kinds(names, board, dict, lambda path: None, lambda path: False)
        instruments = list(dict.fromkeys(kind.instrument for kind in kinds.values() if kind.instrument))
        alters = [board] if "switch" in kinds else []
        hook = ExperimentHook(
            RecordedFiles(str(tmp_path), include_tests=True, patterns=("no test",)), [*instruments, *alters]
        )
        assert hook.code(str(tmp_path / name), name, source) is not None, (name, hook.guard.failures)
        assert hook.guard.failures == {}
