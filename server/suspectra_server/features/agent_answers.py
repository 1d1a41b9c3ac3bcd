"""The request of coding agents in an editor: the tools of `suspectra mcp`, answered from what the server knows."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import click
from pygls.exceptions import JsonRpcInvalidParams

from suspectra.base.errors import SuspectraError
from suspectra.cli.localization import Localized
from suspectra.evidence.changes import failing_since
from suspectra.evidence.failures import exception_names
from suspectra.failure_groups.decisions import GroupDecisions
from suspectra.failure_groups.ranking import rank_groups
from suspectra.output.agents.answers import AffectedTestsAnswer, ExplanationAnswer, FailingTestsAnswer, RankingAnswer
from suspectra.output.agents.bounded import as_json, refusal
from suspectra_server.agent.answers import (
    CausesAnswer,
    ChangeAnswer,
    ChangesAnswer,
    FindingAnswer,
    FixAnswer,
    FixesAnswer,
    InvestigationAnswer,
    Known,
    RunAnswer,
    Spent,
    StateAnswer,
    WhyTestsFailAnswer,
    affected_tests,
    causes_answer,
    changed_lines,
    changes_answer,
    fixes_answer,
    investigation_answer,
    why_answer,
    without_ranking,
)
from suspectra_server.agent.tools import TOOL, TOP
from suspectra_server.features.commands.arguments import Json, parse_fields
from suspectra_server.features.commands.causes import search_cause
from suspectra_server.features.commands.finder import Failing, Finder
from suspectra_server.features.commands.refusals import RequestFailed
from suspectra_server.features.commands.repeated_runs import RepeatedRuns
from suspectra_server.features.commands.test_runs import start_tests
from suspectra_server.features.failing_tests import failing_tests
from suspectra_server.messages import AgentAnswer, FolderState
from suspectra_server.protocol import AGENT_ANSWER
from suspectra_server.session.experiments.cause_search import CauseSearch
from suspectra_server.session.experiments.experiment_run import Work
from suspectra_server.session.experiments.fix_search import FixSearch
from suspectra_server.session.experiments.investigating import Investigating
from suspectra_server.session.experiments.patch_trials import PatchTrials
from suspectra_server.session.experiments.why_search import WhySearch
from suspectra_server.session.folder import Folder
from suspectra_server.session.session import Session
from suspectra_server.state.ranking import Ranking

_REFUSED = "The user does not allow this. Go on without it."


def register(session: Session) -> None:
    """Answer `suspectra/agentAnswer`."""
    tools = AgentTools(session)
    answers = tools.answers()

    @session.feature(AGENT_ANSWER)
    async def agent_answer(params: Json) -> AgentAnswer:
        given = parse_fields(params)
        name, uri = given.get("tool"), given.get("folder")
        if name not in TOOL or not isinstance(uri, (str, type(None))):
            raise JsonRpcInvalidParams("the params are {tool, arguments?, folder?}")
        try:
            arguments = TOOL[str(name)].arguments(parse_fields(given.get("arguments")))
            answer = await answers[str(name)](tools.folder(uri), **arguments)
        except SuspectraError as error:
            raise RequestFailed(refusal(str(error.problem))) from None
        except click.BadParameter as error:
            raise RequestFailed(refusal(error.message)) from None
        return {"text": as_json(answer)}


class AgentTools:
    """The answers to the tools. Tests run as by the commands of the user, behind the same questions."""

    def __init__(self, session: Session):
        self._session = session
        self._find = Finder(session)
        self._runs = RepeatedRuns(session)

    def answers(self) -> Mapping[str, Callable[..., Awaitable[Mapping[str, object]]]]:
        """By the names of the tools, each of the folder and the tool's own arguments."""
        return {
            "why": self.answer_why,
            "rank": self.answer_rank,
            "explain": self.answer_explain,
            "failing_tests": self.answer_failing_tests,
            "affected_tests": self.answer_affected_tests,
            "run_tests": self.answer_run_tests,
            "investigate": self.answer_investigate,
            "causes": self.answer_causes,
            "suggest_fixes": self.answer_suggest_fixes,
            "try_changes": self.answer_try_changes,
        }

    def folder(self, uri: str | None) -> Folder:
        """The workspace folder that an agent asks about."""
        folder = self._find.folder(uri) or (next(iter(self._session.folders), None) if uri is None else None)
        if folder is None:
            raise RequestFailed("No folder is open." if uri is None else "This is not a folder of the workspace.")
        return folder

    async def answer_rank(self, folder: Folder, top: int, budget: int) -> RankingAnswer:
        """List the most suspicious lines."""
        known = await self._known(folder)
        return await asyncio.to_thread(known.rank, top, budget)

    async def answer_explain(self, folder: Folder, place: str, budget: int) -> ExplanationAnswer:
        """Explain a line."""
        known = await self._known(folder)
        # the numbers of the code lens: of the ranking that is shown
        model = await folder.navigation.ask(folder.snapshot.ranking, lambda navigation, _: navigation.model)
        return await asyncio.to_thread(known.explain, place, budget, model)

    async def answer_failing_tests(self, folder: Folder, budget: int) -> FailingTestsAnswer:
        """List the failing tests."""
        known = await self._known(folder)
        return await asyncio.to_thread(known.failing_tests, budget)

    async def answer_affected_tests(self, folder: Folder, budget: int) -> AffectedTestsAnswer:
        """List the tests that changes can affect."""
        return await asyncio.to_thread(affected_tests, folder.root, budget)

    async def answer_run_tests(self, folder: Folder, tests: list[str], all_tests: bool, budget: int) -> RunAnswer:
        """Run tests, and rank."""
        run = await start_tests(self._session, [folder], {folder.uri: tests} if tests else {}, affected=not all_tests)
        try:
            await run.done.wait()
        except asyncio.CancelledError:
            run.cancel()  # the client has cancelled its request
            raise
        if run.cancelled:
            raise RequestFailed("The user has cancelled the tests.")
        if failure := self._session.test_run.failure_of(folder):
            raise RequestFailed(refusal(failure))
        await folder.rankings.settled()
        ranking = folder.snapshot.ranking
        if ranking.state is FolderState.NO_FAILING_TESTS:
            return without_ranking(ranking.message)
        known = await self._known(folder)
        return await asyncio.to_thread(known.after_run, TOP, budget)

    async def answer_why(self, folder: Folder, tests: list[str], seconds: float, budget: int) -> WhyTestsFailAnswer:
        """Say why tests fail."""
        from suspectra.output.why import answer_object

        failing = await self._may_alter(folder, tests, "nothing to explain", compiled=True)
        search = WhySearch(self._session, *failing, seconds)
        await self._runs.until_ended(search)
        if search.answer is None:
            problems = search.outcome.problems if search.outcome is not None else ()
            raise RequestFailed(refusal(str(next(iter(problems), "The search was cancelled."))))
        return why_answer(answer_object(search.answer), budget)

    async def answer_investigate(
        self, folder: Folder, tests: list[str], seconds: float, budget: int
    ) -> InvestigationAnswer:
        """Find out what would make tests pass."""
        failing = await self._may_alter(folder, tests, "nothing to find out", compiled=True)
        run = self._session.experiment_run
        work = Investigating(self._session, run, *failing, seconds=seconds)
        taken = await self._timed(work)
        await folder.rankings.settled()
        ranking, outcome = folder.snapshot.ranking, work.outcome
        whole = replace(ranking, report=ranking.report and ranking.over_all)
        best = sorted(whole.repairs, key=lambda element: (whole.ranked.level[element], element))
        found: list[FindingAnswer] = [
            {
                "place": str(whole.elements.location(element)),
                "rank": whole.ranked.suspect_of(element).rank_best,
                "findings": list(whole.repairs[element]),
            }
            for element in best
        ]
        if not found and outcome is not None and outcome.problems:
            raise RequestFailed(refusal(str(outcome.problems[0])))
        spent = Spent(outcome is not None and outcome.complete, taken)
        return investigation_answer(found, spent, budget)

    async def answer_causes(self, folder: Folder, test: str, seconds: float, budget: int) -> CausesAnswer:
        """Narrow down the causes of a failure."""
        await folder.rankings.settled()
        chosen = failing_tests(folder, [test])
        if not chosen:
            raise RequestFailed("This test did not fail in the last recorded run. Fix: take one from `failing_tests`")
        failing = await self._runs.may_alter(folder, chosen)
        if failing is None:
            raise RequestFailed(_REFUSED)
        search = CauseSearch(self._session, *failing.first, seconds)
        await search_cause(self._session, self._runs, search)
        report, outcome = search.report, search.outcome
        if report is None or (not report.roots and outcome is not None and outcome.problems):
            problems = outcome.problems if outcome is not None else ()
            raise RequestFailed(refusal(str(next(iter(problems), "The search was cancelled."))))
        roots, transitive, around = (
            [StateAnswer(place=f"{state.file}:{state.line}", value=state.value) for state in states]
            for states in (report.roots, report.transitive, report.around)
        )
        spent = Spent(report.complete, report.seconds, report.alterations)
        change = report.change.lines if report.change else ()
        return causes_answer(roots, transitive, around, spent, budget, fails_later=report.fails_later, change=change)

    async def answer_suggest_fixes(self, folder: Folder, tests: list[str], seconds: float, budget: int) -> FixesAnswer:
        """Search fixes."""
        from suspectra.fixes.fix import fix_in_words
        from suspectra.output.fixes import apart_in_words

        failing = await self._may_alter(folder, tests)
        search = FixSearch(self._session, *failing, seconds=seconds)
        taken = await self._timed(search)
        found: list[FixAnswer] = [
            {
                "place": f"{one.file}:{one.line}",
                "said": fix_in_words(one, len(one.repaired)),
                "change": changed_lines(search.found[one]),
                "judged_by": one.judges,
                "apart": apart_in_words(number, search.apart[one]) if one in search.apart else "",
            }
            for number, one in enumerate(search.ordered, 1)
        ]
        if not found and search.outcome is not None and search.outcome.problems:
            raise RequestFailed(refusal(str(search.outcome.problems[0])))
        return fixes_answer(found, Spent(search.outcome is not None and search.outcome.complete, taken), budget)

    async def answer_try_changes(
        self, folder: Folder, changes: list[str], seconds: float, budget: int
    ) -> ChangesAnswer:
        """Judge changes."""
        from suspectra.output.trials import in_words

        if not changes:
            raise RequestFailed("There is nothing to try. Fix: give unified differences")
        failing = await self._may_alter(folder, [])
        patches = {str(number): text for number, text in enumerate(changes, 1)}
        trials = PatchTrials(*failing, patches, seconds)
        taken = await self._timed(trials)
        if not trials.judged and trials.outcome is not None and trials.outcome.problems:
            raise RequestFailed(refusal(str(trials.outcome.problems[0])))
        judged: list[ChangeAnswer] = [
            {
                "number": int(one.name),
                "said": in_words(one, len(failing.tests)),
                "mends": list(one.repaired),
                "breaks": list(one.broken),
                "refused": one.refused,
            }
            for one in trials.judged
        ]
        return changes_answer(judged, Spent(trials.outcome is not None and trials.outcome.complete, taken), budget)

    async def _may_alter(
        self, folder: Folder, tests: list[str], nothing: str = "nothing to do", *, compiled: bool = False
    ) -> Failing:
        """The failing tests, once the user agrees to alter them; `nothing` is what there is where none fails."""
        await folder.rankings.settled()
        names = tests or list(folder.snapshot.ranking.failing)
        chosen = self._find.failing(folder.uri, names, None, nothing).tests
        failing = await self._runs.may_alter(folder, chosen, compiled=compiled)
        if failing is None:
            raise RequestFailed(_REFUSED)
        return failing

    async def _timed(self, work: Work) -> float:
        """Wait for a work; how many seconds it took."""
        began = asyncio.get_running_loop().time()
        await self._runs.until_ended(work)
        return round(asyncio.get_running_loop().time() - began, 1)

    async def _known(self, folder: Folder) -> Known:
        """What is known of a folder once its ranking is made."""
        await folder.rankings.settled()
        decisions, shown = folder.rankings.grouping.decisions, folder.snapshot.ranking
        localized = await folder.ask(lambda ranking: _localized(ranking, decisions))
        if localized is None:
            problem = next(iter(shown.problems), None)
            raise RequestFailed(refusal(str(problem) if problem else shown.message))
        return Known(folder.root, localized)


def _localized(ranking: Ranking, decisions: GroupDecisions) -> Localized:
    """A ranking with all its failure groups; in the thread for long work."""
    report, evidence = ranking.over_all, ranking.evidence
    if evidence is None:
        raise LookupError("a ranking that has a report was made from evidence")
    exceptions = exception_names(evidence)
    groups = rank_groups(
        report,
        ranking.technique,
        evidence.program,
        exceptions=exceptions,
        decisions=decisions,
        since=failing_since(evidence),
    ).groups
    return Localized(report, evidence, evidence.program, ranking.problems, tuple(groups))
