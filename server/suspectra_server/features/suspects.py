"""The requests for the list of suspects, for those of a failure group, and for the list of techniques."""

from __future__ import annotations

from collections.abc import Iterator

from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.errors import Problem
from suspectra.base.technique_info import TechniqueInfo
from suspectra.failure_groups.groups import FailureGroup
from suspectra.paths.searches.techniques import TECHNIQUES as SEARCHES
from suspectra.techniques import technique_infos
from suspectra.techniques.formulas import FORMULAS
from suspectra_server.features.collection_errors import range_of_error
from suspectra_server.features.commands.arguments import Json, is_count, parse_fields
from suspectra_server.features.failures import failure_of, names_of, range_of_failure, tests_executing
from suspectra_server.features.suspect_texts import figures
from suspectra_server.messages import (
    CollectionErrorMessage,
    GroupOverview,
    GroupSuspects,
    ProblemMessage,
    SuspectMessage,
    Suspects,
    TechniqueMessage,
    UnexplainedFailures,
)
from suspectra_server.positions import range_of
from suspectra_server.protocol import GROUP, PATHS, RANKING, SUSPECTS, TECHNIQUES
from suspectra_server.safe_text import MAX_NAME, MAX_TEXT, plain
from suspectra_server.session.experiments.run_comparison import compiled_searches
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.group import Group
from suspectra_server.state.marks import ErrorMark, Mark
from suspectra_server.state.snapshot import Snapshot

MAX_ERRORS = 100


def register(session: Session) -> None:
    """Answer `suspectra/suspects`, `suspectra/group` and `suspectra/techniques`."""

    @session.feature(SUSPECTS)
    def suspects(params: Json) -> Suspects:
        given = parse_fields(params).get("limit")
        limit = given if isinstance(given, int) and not isinstance(given, bool) and given >= 0 else None
        folders = list(session.folders)
        found = [(folder, mark) for folder in folders for mark in folder.current().marks]
        found.sort(key=lambda pair: pair[0].snapshot.sort_key(pair[1]))
        status = session.status()
        technique = folders[0].snapshot.ranking.technique if folders else None
        return {
            "technique": status["technique"],
            "title": status["title"],
            "cloneFailed": technique.clone_failed if technique else False,
            "without": list(dict.fromkeys(name for folder in folders for name in folder.snapshot.ranking.without)),
            "passed": status["passed"],
            "failed": status["failed"],
            "elements": sum(len(r) for f in folders if (r := f.snapshot.ranking.report) is not None),
            "state": status["state"],
            "problems": [_problem(problem) for folder in folders for problem in folder.snapshot.problems],
            "collectionErrors": [
                _collection_error(session, folder, mark) for folder in folders for mark in folder.current().errors
            ][:MAX_ERRORS],
            "failedRuns": [
                {"folder": folder.uri, "message": plain(why, MAX_TEXT)}
                for folder in folders
                if (why := session.test_run.failure_of(folder))
            ],
            "groups": [group for folder in folders for group in _overviews(session, folder)],
            "unexplained": [one for folder in folders for one in _unexplained(session, folder)],
            "suspects": [_suspect(session, folder, folder.snapshot, mark) for folder, mark in found[:limit]],
        }

    @session.feature(GROUP)
    async def group(params: Json) -> GroupSuspects | None:
        given = parse_fields(params)
        uri, number, limit = given.get("folder"), given.get("id"), given.get("limit")
        if not isinstance(uri, str) or not is_count(number) or not (limit is None or is_count(limit)):
            raise JsonRpcInvalidParams("the params are {folder, id, limit?}")
        folder = session.folders.get(uri)
        snapshot = await folder.snapshot_of_group(number) if folder else None
        if folder is None or snapshot is None:
            return None
        return {
            "reason": snapshot.ranking.shared,
            "suspects": [_suspect(session, folder, snapshot, mark) for mark in snapshot.marks[:limit]],
        }

    @session.feature(TECHNIQUES)
    def techniques(params: Json) -> list[TechniqueMessage]:
        wanted = parse_fields(params).get("for") if params else None
        if wanted not in (None, RANKING, PATHS):
            raise JsonRpcInvalidParams(f'the params are {{"for"?: "{RANKING}" or "{PATHS}"}}')
        infos = technique_infos() if wanted != PATHS else _searches(session)
        return [
            {
                "name": info.name,
                "title": info.title,
                "paper": info.paper,
                "description": " ".join(part for part in (info.advice, info.formula) if part),
                "clones": info.name in FORMULAS,
            }
            for info in infos
        ]


def _searches(session: Session) -> list[TechniqueInfo]:
    """The searches for paths that the recorded tests can have."""
    found = {folder.rankings.recorded_by for folder in session.folders if folder.rankings.recorded_by}
    can = compiled_searches() if found == {"record-c"} else SEARCHES.keys()
    return [search.info for name, search in SEARCHES.items() if name in can]


def _problem(problem: Problem) -> ProblemMessage:
    """Safe to show."""
    return {
        "file": plain(problem.file),
        "place": plain(problem.place),
        "cause": plain(problem.cause),
        "cure": plain(problem.cure),
    }


def _collection_error(session: Session, folder: Folder, mark: ErrorMark) -> CollectionErrorMessage:
    error = mark.error
    is_inside = error.file in folder.snapshot.ranking.inside
    has_home = error.home in folder.snapshot.ranking.inside
    return {
        "collector": plain(error.collector, MAX_NAME),
        "exception": plain(error.exception, MAX_NAME),
        "message": plain(error.message, MAX_TEXT),
        "folder": folder.uri,
        "uri": folder.uri_of(error.file) if is_inside else None,
        "range": range_of_error(folder, mark, session.units) if is_inside else None,
        "file": error.file,
        "line": error.line if mark.line is None else mark.line + 1,
        "test": folder.uri_of(error.home) if has_home else None,
        "missing": plain(error.missing_module, MAX_NAME),
        "missingPackage": plain(error.missing_package, MAX_NAME),
        "environment": plain(error.environment, MAX_NAME),
    }


def _overviews(session: Session, folder: Folder) -> list[GroupOverview]:
    """The failing tests of a folder by failure group."""
    ranking, apart = folder.snapshot.ranking, set(folder.snapshot.unexplained)
    if ranking.groups:
        return [_overview(session, folder, group.without(apart), group.number) for group in ranking.groups]
    if ranking.report is None or not ranking.failing:
        return []
    tests = tuple(test for test in ranking.failing if test not in apart)
    one = FailureGroup(0, tests, tuple(test for test in ranking.uncovered if test not in apart))
    group = Group(0, "", one.heading(), True, one.tests, one.covered, one.uncovered)
    return [_overview(session, folder, group, None)]


def _unexplained(session: Session, folder: Folder) -> Iterator[UnexplainedFailures]:
    """Beside the groups: the failing tests that execute none of the first suspects."""
    tests, snapshot = folder.snapshot.unexplained, folder.snapshot
    if tests:
        failed = snapshot.failure_of.get(tests[0])
        yield {
            "folder": folder.uri,
            "names": names_of([tests[0].partition("[")[0], *tests[1:]]),
            "failure": failure_of(snapshot.ranking, tests[0]),
            "uri": folder.uri_of(failed.file) if failed else None,
            "range": range_of_failure(folder, failed, session.units) if failed else None,
            "tests": [plain(test) for test in tests],
        }


def _overview(session: Session, folder: Folder, group: Group, number: int | None) -> GroupOverview:
    ranking, placed = folder.snapshot.ranking, folder.snapshot.failure_of
    first = next((test for test in group.covered if test in placed), group.covered[0])
    failed = placed.get(first)
    return {
        "folder": folder.uri,
        "id": number,
        "title": group.title,
        "heading": group.heading,
        "names": names_of([first.partition("[")[0], *(test for test in group.tests if test != first)]),
        "failure": failure_of(ranking, first),
        "uri": folder.uri_of(failed.file) if failed else None,
        "range": range_of_failure(folder, failed, session.units) if failed else None,
        "sure": group.sure,
        "tests": [plain(test) for test in group.tests],
        "uncovered": [plain(test) for test in group.uncovered],
        "current": number is None or (ranking.group is not None and number == ranking.group.number),
    }


def _suspect(session: Session, folder: Folder, snapshot: Snapshot, mark: Mark) -> SuspectMessage:
    suspect, group = mark.suspect, snapshot.ranking.group
    where = range_of(mark, snapshot.placements[mark.file].now, session.units)
    return {
        "uri": folder.uri_of(mark.file),
        "range": where,
        "file": mark.file,
        "function": plain(suspect.function),
        **figures(mark),
        "reason": plain(snapshot.ranking.reason(suspect), MAX_TEXT),
        "findings": list(snapshot.ranking.findings.get(suspect.element, ())),
        "source": plain(snapshot.placements[mark.file].now[mark.first].strip()),
        "raised": bool(snapshot.ranking.failed_in(suspect)),
        "repairs": snapshot.ranking.repaired_at(suspect),
        "tie": snapshot.ranking.tie_of(suspect),
        "failingTests": tests_executing(snapshot.ranking, suspect),
        "functionRank": snapshot.ranking.function_rank(suspect),
        "group": group.number if group else None,
        "examined": mark.examined,
        "innocent": mark.innocent,
        "steps": snapshot.steps(suspect.element),
    }
