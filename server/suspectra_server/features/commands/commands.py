"""All groups of commands, and what they share."""

from __future__ import annotations

from suspectra_server.features.commands.causes import CauseCommands
from suspectra_server.features.commands.comparisons import ComparisonCommands
from suspectra_server.features.commands.debugging import DebugCommands
from suspectra_server.features.commands.experiments import ExperimentCommands
from suspectra_server.features.commands.explaining import ExplainCommands
from suspectra_server.features.commands.finder import Finder
from suspectra_server.features.commands.fixing import FixCommands
from suspectra_server.features.commands.groups import GroupCommands
from suspectra_server.features.commands.learning import LearnCommands
from suspectra_server.features.commands.marking import MarkCommands
from suspectra_server.features.commands.ranking import RankCommands
from suspectra_server.features.commands.registry import CommandGroup, register_groups
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.features.commands.run_values import ValueCommands
from suspectra_server.features.commands.slices import SliceCommands
from suspectra_server.features.commands.test_runs import RunCommands
from suspectra_server.features.commands.traced_runs import TracedRuns
from suspectra_server.features.commands.walking import WalkCommands
from suspectra_server.features.commands.why import WhyCommands
from suspectra_server.session.session import Session


def command_groups(session: Session) -> tuple[CommandGroup, ...]:
    """Every group. None knows another: what several need is a `Finder`, `RepeatedRuns` or `TracedRuns`."""
    find, runs = Finder(session), RepeatedRuns(session)
    traced = TracedRuns(runs)
    return (
        RankCommands(session),
        WalkCommands(session, find),
        ExplainCommands(session, find),
        MarkCommands(session, find),
        LearnCommands(session),
        GroupCommands(session, find),
        RunCommands(session),
        WhyCommands(session, find, runs),
        ExperimentCommands(session, find, runs),
        CauseCommands(session, find, runs),
        FixCommands(session, find, runs),
        SliceCommands(session, traced),
        ValueCommands(session, find, traced),
        ComparisonCommands(session, find, runs),
        DebugCommands(session, find),
    )


def register(session: Session) -> None:
    """Register the commands."""
    register_groups(session, command_groups(session))
