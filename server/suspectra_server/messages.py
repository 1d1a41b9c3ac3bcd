"""The messages that Suspectra adds to LSP, declared once: each field, with what it means below it.

`docs/generate.py` reads this file, and writes the types of the VS Code extension and the page of the protocol. Where a
class of the library has the name, the message is called `…Message`.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, TypeAlias, TypedDict

from lsprotocol import types as lsp

DocumentUri: TypeAlias = str
"""The URI of a document or a folder, as in LSP."""

SuspicionLevel: TypeAlias = Literal["high", "medium", "low"]
"""How far up a suspect is: with an average rank up to 5, up to 10, beyond."""

TestVerdict: TypeAlias = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
"""How a test ended."""


class FolderState(str, Enum):
    """What the server is doing, or why there is nothing to show."""

    NO_EVIDENCE = "noEvidence"
    """No test run has been recorded here yet."""
    RANKING = "ranking"
    """A ranking is being made. Sent only when it takes long enough to be noticed."""
    READY = "ready"
    """The ranking is current."""
    NO_FAILING_TESTS = "noFailingTests"
    """The last run has no failing test, so nothing is ranked."""
    ERROR = "error"
    """The evidence can't be read or ranked, or tests could not be collected; the last good ranking stays until a test
    passes that failed in it."""
    RUNNING_TESTS = "runningTests"
    """The tests are running."""
    STALE = "stale"
    """Code changed since the tests ran. Marks move with the text; edited lines lose theirs."""


class Progress(TypedDict):
    """How far a test run is."""

    done: int
    """How many tests ended."""
    failed: int
    """How many of these failed."""
    total: int
    """How many there are; 0 while that is not known."""
    onSave: bool
    """Whether a save started the run, by the setting `run`."""


class InvestigationMessage(TypedDict):
    """How far runs with something altered are."""

    runs: int
    """How many runs there were."""
    test: str
    """Which test is run."""
    share: float
    """How much of the time is gone, from 0 to 1."""
    found: str
    """Where the cause of a failure lies, as far as that is known."""


class Status(TypedDict):
    """What is going on, over all folders."""

    state: FolderState
    """The most urgent state of a folder."""
    message: str
    """One sentence for people."""
    technique: str
    """The name of the technique in use."""
    title: str
    """The title of the technique."""
    suspects: int
    """Suspects that can be shown."""
    failed: int
    """Tests that failed."""
    passed: int
    """Tests that passed."""
    compiled: bool
    """Whether all recorded tests are compiled programs, of which decisions are all that is altered."""
    onlyRead: bool
    """Whether they can't be compared with passing runs either, as those of CTest in a build folder of CMake can."""
    collectionErrors: int
    """What could not be collected; `suspectra/suspects` lists it."""
    progress: Progress | None
    """While tests run."""
    investigation: InvestigationMessage | None
    """While failing tests are run again."""


class Figures(TypedDict):
    """The numbers of a suspect."""

    score: float
    """Suspiciousness. JSON has no infinity: an infinite score is the largest double, with its sign."""
    rankBest: int
    """The first rank of its tie."""
    rankAverage: float
    """The mean of the ranks of its tie."""
    rankWorst: int
    """The last rank of its tie."""
    ef: int
    """Failing tests that execute it."""
    ep: int
    """Passing tests that execute it."""
    nf: int
    """Failing tests that do not execute it."""
    np: int
    """Passing tests that do not execute it."""
    changed: int
    """Before how many of the failing tests that execute it failed it changed."""
    changedByGit: int
    """How many of those are not known to have passed before: git knows of the change."""
    line: int
    """Its first line as it is now, counted from 1."""
    endLine: int
    """Its last line as it is now, counted from 1."""
    suspicion: SuspicionLevel
    """How far up it is."""


class DiagnosticData(Figures):
    """The `data` of a diagnostic of a suspect, for other programs."""

    technique: str
    """The name of the technique."""
    cloneFailed: bool
    """Whether failing tests are cloned."""


class RegionData(DiagnosticData):
    """The `data` of a diagnostic of a part of a suspicious behaviour."""

    subgraph: int
    """The number of the behaviour."""
    part: int
    """Which part it is, counted from 1."""
    parts: int
    """How many parts there are."""


class SuspectMessage(Figures):
    """A suspect, in lists of them."""

    uri: DocumentUri
    """The document that it is in."""
    range: lsp.Range
    """Where it is in the document as it is now."""
    file: str
    """Relative to the workspace folder, with forward slashes."""
    function: str
    """Qualified name of the enclosing function, empty at module level."""
    reason: str
    """Why it ranks before the next ones, in one sentence; empty where the counts of tests say it."""
    findings: list[str]
    """What alterations of it make failing tests pass, a sentence each, most tests first; then how values compare there
    in all failing tests and in no passing one. For what the logs in `.suspectra/experiments` have of these sources."""
    source: str
    """Its first line as it is now, without indentation."""
    raised: bool
    """Whether a failing test failed in it."""
    repairs: int
    """How many failing tests, of `ef + nf`, pass with the best alteration of it."""
    tie: int
    """Suspects of a group with the same number are equal for the tests, even if something else puts them in order."""
    failingTests: list[str]
    """The failing tests that execute it."""
    functionRank: int
    """The rank of its function among those that failing tests execute, the best of a tie. Lists have functions in this
    order: first the best three suspects of each, and then the others."""
    group: int | None
    """The failure group in which it has this rank, where there are several."""
    examined: bool
    """Marked as examined, or innocent."""
    innocent: bool
    """Marked as innocent."""
    steps: float | None
    """Expected steps of a reader from the top of the ranking. They are for sorting; do not show them beside a rank,
    where they look like a second score. Null while they are not known, and for infinity."""


class CollectionErrorMessage(TypedDict):
    """What keeps tests from being collected: a module that can't be imported, a class that pytest refuses, a mistake in
    pytest's configuration or on its command line. The line also has a diagnostic with the severity Error and the code
    `collection-error`.
    """

    collector: str
    """Node id of the file, folder or class; empty where the whole run failed."""
    exception: str
    """The name of the exception's type, for example `ModuleNotFoundError`."""
    message: str
    """What went wrong, on one line."""
    folder: DocumentUri
    """The workspace folder."""
    uri: DocumentUri | None
    """Where the error is: the innermost place in the workspace. Null where it is elsewhere."""
    range: lsp.Range | None
    """Where it is in the document as it is now. Null where it is elsewhere, or the line was edited since."""
    file: str
    """Relative to the workspace folder, with forward slashes; empty where it is elsewhere."""
    line: int
    """As it is now, counted from 1; if it was edited since, as it was run; 0 without a file."""
    test: DocumentUri | None
    """The file or folder that could not be collected, if it is in the workspace."""
    missing: str
    """The module that is not installed; empty for other errors."""
    missingPackage: str
    """What is to be installed, as pip names it, for an option of pytest, or a module of another name; empty if that is
    not known."""
    environment: str
    """The environment that the tests ran in: its path, relative to the workspace folder if it is inside; empty if that
    is not known."""


class ProblemMessage(TypedDict):
    """What is wrong with the evidence, and how to fix it."""

    file: str
    """The file that it is about; empty where it is about none."""
    place: str
    """Where in that file."""
    cause: str
    """What is wrong."""
    cure: str
    """What to do about it."""


class FailedRun(TypedDict):
    """A test run that failed to run the tests."""

    folder: DocumentUri
    """The workspace folder."""
    message: str
    """Why, in a sentence."""


class GroupOverview(TypedDict):
    """Failing tests that probably share a fault."""

    folder: DocumentUri
    """The workspace folder."""
    id: int | None
    """Its number, which stays the same when tests run again; null for the only one of a folder."""
    title: str
    """The exception and where it was raised, or the exception and the first suspect; empty for the only one."""
    heading: str
    """With the number of its tests: "✗ 3 tests: 2 with UnbalancedEntry at journal.py:41"."""
    names: str
    """The first of its tests without file and parameters, and how many more there are."""
    failure: str
    """The exception by which that test failed, with what was expected if that is known."""
    uri: DocumentUri | None
    """The document of test code in which it failed, if it is known."""
    range: lsp.Range | None
    """The line in which it failed."""
    sure: bool
    """False for C and C++, and where a test has a much better explanation of its own; the heading says "perhaps"."""
    tests: list[str]
    """Its failing tests, without those in `unexplained`."""
    uncovered: list[str]
    """Those of its tests that executed nothing that can be a suspect."""
    current: bool
    """Whether it is the one whose suspects are shown."""


class UnexplainedFailures(TypedDict):
    """Failing tests that execute none of the listed suspects: look for their cause elsewhere, such as in what they need
    from outside.
    """

    folder: DocumentUri
    """The workspace folder."""
    names: str
    """The first of them without file and parameters, and how many more there are."""
    failure: str
    """The exception by which that test failed, with what was expected if that is known."""
    uri: DocumentUri | None
    """The document of test code in which it failed, if it is known."""
    range: lsp.Range | None
    """The line in which it failed."""
    tests: list[str]
    """All of them."""


class Suspects(TypedDict):
    """The suspects, and what else there is to say of the last runs."""

    technique: str
    """The name of the technique in use."""
    title: str
    """The title of the technique."""
    cloneFailed: bool
    """Whether failing tests are cloned."""
    without: list[str]
    """The kinds of evidence that the technique had to do without."""
    passed: int
    """Tests that passed."""
    failed: int
    """Tests that failed."""
    elements: int
    """Statements that were ranked."""
    state: FolderState
    """As in `suspectra/status`."""
    problems: list[ProblemMessage]
    """What is wrong with the evidence."""
    collectionErrors: list[CollectionErrorMessage]
    """What kept tests from being collected; 100 at most."""
    failedRuns: list[FailedRun]
    """Test runs that `suspectra.server.runTests` started and that failed to run the tests, unless a collection error
    says why. They are listed until the next run."""
    groups: list[GroupOverview]
    """The failing tests of each folder by failure group: first what a change broke, then the largest. Where all of a
    folder probably share a fault, that is one group, whose `id` is null."""
    unexplained: list[UnexplainedFailures]
    """Those failing tests of each folder that are in no group, as they execute none of the listed suspects."""
    suspects: list[SuspectMessage]
    """Best first, or fewest expected steps first (setting `order`); at most `limit`. In a folder with several failure
    groups, those of the current one."""


class GroupSuspects(TypedDict):
    """The suspects of a failure group."""

    reason: str
    """What its tests have in common, in a sentence or two."""
    suspects: list[SuspectMessage]
    """Best first; at most `limit`."""


class TechniqueMessage(TypedDict):
    """A technique that can be chosen."""

    name: str
    """Its name for `selectTechnique` and for the setting, or for `comparePassing`."""
    title: str
    """As the literature writes it."""
    paper: str
    """Who published it."""
    description: str
    """When to use it, and its formula."""
    clones: bool
    """Whether it can clone failing tests, as formulas can."""


class CodeLocation(TypedDict):
    """A statement, where it is now."""

    uri: DocumentUri
    """The document that it is in."""
    range: lsp.Range
    """Where it is in the document as it is now."""
    file: str
    """Relative to the workspace folder, with forward slashes."""
    line: int
    """As it is now, counted from 1."""
    function: str
    """Qualified name of the enclosing function, empty at module level."""
    source: str
    """The first line of the statement, without indentation."""
    rankBest: int | None
    """The first rank of its tie; null if it is not ranked."""
    rankWorst: int | None
    """The last rank of its tie; null if it is not ranked."""
    steps: float | None
    """Expected steps from the top of the ranking, as in `SuspectMessage`."""


class MoveMessage(CodeLocation):
    """Where a reader may look next."""

    probability: float
    """Of this move. The probabilities of all moves add up to 1, but moves to lines that were edited since the run are
    left out."""
    reasons: list[str]
    """Why the reader may go there, the most specific reason first: "runs just before", "runs just after", "calls this",
    "called from here", "same function", "next in the ranking", "same place in the ranking", "higher in the ranking"."""


class PlannedPlace(CodeLocation):
    """A place in the order that leads to the fault in the fewest steps."""

    reasons: list[str]
    """What connects it with the place before, as in `MoveMessage`."""


class ReadingOrder(TypedDict):
    """The order of places that is expected to lead to the fault in the fewest steps."""

    places: list[PlannedPlace]
    """The first of them."""
    saved: str
    """How many steps it saves against going down the ranking, as a sentence."""


class Jump(TypedDict):
    """Where to look next."""

    origin: CodeLocation | None
    """Where the reader is."""
    moves: list[MoveMessage]
    """Where to look next, most likely first."""
    plan: ReadingOrder | None
    """Where to look next so that the fault is found soon; null if there is no debugging model."""
    chosen: lsp.Location | None
    """Where the reader went."""


class Explained(TypedDict):
    """Why a line has its rank, as one text."""

    markdown: str
    """The text, in Markdown."""
    location: lsp.Location
    """The line."""


class Answer(TypedDict):
    """What sets a line apart from others."""

    markdown: str
    """All of it, in Markdown."""
    headline: str
    """What it is about."""
    sentences: list[str]
    """The answer, most important first."""
    location: lsp.Location | None
    """The statement that it is about."""
    change: lsp.Location | None
    """Your change that it names and that `undoChange` takes back."""
    fix: lsp.WorkspaceEdit | None
    """The change with which the tests pass, if it names one; clients show it before they apply it."""


class AnswerSoFar(TypedDict):
    """What is known of an answer while it is looked for."""

    command: str
    """The command that will answer."""
    answer: Answer
    """What is known by now: without how sure that is, and without what can be done, since more may be found out."""
    doing: str
    """What the server does now, in words, without a full stop."""


class Learned(TypedDict):
    """What was learned from the reader's moves."""

    consent: bool
    """The setting `learnJumps`: whether moves are counted and used."""
    jumps: int
    """Moves to a neighbour of the line the reader was on."""
    returns: int
    """Moves back to the ranking from a line that has neighbours."""
    pJump: float
    """The estimate: the mean of the Beta distribution after these moves."""
    low: float
    """The lower end of the 95 % credible interval."""
    high: float
    """The upper end of the 95 % credible interval."""
    file: str
    """Where the counts are kept."""


class Step(TypedDict):
    """A value or a decision of a run."""

    uri: DocumentUri
    """The document that it is in."""
    range: lsp.Range
    """Where it is in the document as it is now."""
    file: str
    """Relative to the workspace folder, with forward slashes."""
    line: int
    """As it is now, counted from 1."""
    source: str
    """The first line of the statement, without indentation."""
    value: str
    """The value, or how the decision came out; in short."""
    instance: int
    """Which time the statement was executed, from 1; 0 while its module was imported."""
    rounds: int
    """In a slice, how many rounds of a loop the step stands for: it is the nearest of them, with the values of all."""
    why: str
    """In a slice, how it is related to the step above, in two or three words."""
    steps: list[Step]
    """In a slice, what follows: each step is at one place of the tree, as near to the root as it is."""
    more: int
    """How many steps below it are elsewhere in the tree, or left out."""


class SlicedFile(TypedDict):
    """The lines of a file that are in a slice."""

    uri: DocumentUri
    """The document."""
    lines: list[int]
    """Counted from 0."""


class SliceMessage(TypedDict):
    """What led to a line or a failure, or what a line influenced.

    The picture takes its colours from `--slice-ink`, `--slice-soft`, `--slice-paper`, `--slice-line`, `--slice-accent`
    and `--slice-failure`.
    """

    heading: str
    """What the slice is of."""
    test: str
    """Whose run was traced."""
    size: int
    """How many values and decisions are in the slice."""
    steps: list[Step]
    """The roots of the tree, which has 200 steps at most."""
    files: list[SlicedFile]
    """All lines of the slice."""
    leftOut: list[str]
    """What could not be traced, in sentences."""
    svg: str
    """A picture of the nearest steps, self-contained: no scripts, links or requests. Names in it are escaped."""


class RunLines(TypedDict):
    """The lines of a file that one run of a failing test executes."""

    uri: DocumentUri
    """The document."""
    executed: list[int]
    """Lines of the document as it is now, counted from 0."""
    failed: list[int]
    """Those in which the test failed."""


class RunValues(TypedDict):
    """What one run of a failing test executes. Its values are in the inlay hints."""

    test: str
    """The failing test."""
    files: list[RunLines]
    """The files that it executes."""
    leftOut: list[str]
    """What could not be traced, in sentences."""


class Causes(TypedDict):
    """What a search for the cause of a failure has found."""

    folder: DocumentUri
    """The workspace folder."""
    test: str
    """The test whose failure it is about."""
    searching: bool
    """Whether the search still runs."""
    found: str
    """Where the search goes on after its last step."""
    roots: list[Step]
    """The states that are probably the cause. Their `steps` are empty."""
    chain: list[Step]
    """How the first of them leads to the failure, one after the other."""
    transitive: list[Step]
    """Other states that are wrong because of a root."""
    around: list[Step]
    """States of the statements nearest to the roots."""
    alterations: int
    """How many altered runs there were."""
    complete: bool
    """Whether the search came to its end."""
    seconds: float
    """How long it took."""
    problems: list[str]
    """What kept the test from being run or altered."""


class ComparedRuns(TypedDict):
    """How a failing test and a run that passes differ."""

    folder: DocumentUri
    """The workspace folder."""
    test: str
    """The failing test."""
    technique: str
    """How the run that passes was searched for."""
    similar: bool
    """Whether the run that passes does nearly the same. If not, even the nearest one tells little: no line is shown."""
    passing: str | None
    """The passing test that goes nearly the same way, or the input that passes."""
    found: str
    """How long it goes the same way, as a sentence."""
    report: list[Step]
    """The decisions that came out differently, or else the call at which the runs part, in the order of the failing
    run. `value` says how it came out in both."""
    chain: list[Step]
    """Of cause transitions what makes the difference, from the first cause to the failure. `value` is such as `base` is
    502, not 500; `why` is `before` for the first cause, and `since`."""
    after: list[Step]
    """The lines at which the failing and the passing test go on, if both do."""
    notes: list[str]
    """What else is known, in sentences: which tests take the very same path."""
    candidates: int
    """How many runs were compared or tried."""
    complete: bool
    """Whether there was time for all."""
    seconds: float
    """How long it took."""
    problems: list[str]
    """What kept tests from being run or compared."""


class RunText(TypedDict):
    """One side of a side-by-side view."""

    title: str
    """A name for the text."""
    text: str
    """A file; or the lines that a test executes, in order, each with its place as a comment, indented by its calls.
    Lines of tests are left out then, and of a long run there are the first 20,000."""


class RunTexts(TypedDict):
    """Two texts for a side-by-side view: what a failing test and a passing one execute, or a file with a change that
    broke tests and without it.
    """

    heading: str
    """Both tests, and the first decision that came out differently; or the file, and which tests passed."""
    failing: RunText
    """The run that fails, or the file as it is."""
    passing: RunText
    """The run that passes, or the file without the change."""
    line: int
    """The first line of both texts that is not the same, counted from 0."""


class FoundChange(TypedDict):
    """A change of the source with which failing tests pass."""

    title: str
    """What it replaces by what, in one line."""
    place: str
    """The file and the line, as text."""
    said: str
    """What is known of it, as the end of a sentence that begins with the place."""
    apart: str
    """A call that gives another result with another change, in a sentence; empty where none is known."""
    edit: lsp.WorkspaceEdit
    """It as an edit, to be shown before it is applied."""
    test: lsp.WorkspaceEdit | None
    """An edit that writes a test which this change passes and another one does not; null where there is none."""


class DebugLaunch(TypedDict):
    """How to debug a failing test."""

    folder: DocumentUri
    """The workspace folder."""
    test: str
    """The failing test that is run."""
    root: str
    """The path of the workspace folder, in which it is run."""
    python: str | None
    """The interpreter that runs the tests; null if the setting `testCommand` starts it in a way of its own, so that the
    client chooses one."""
    module: str
    """What the interpreter runs by `-m`: `pytest` or `unittest`."""
    arguments: list[str]
    """Of the module: options of the setting `testCommand`, what undoes options with which no debugger stops
    (`--no-cov`, `-n0`), and the test."""
    commandLine: str
    """The same for debugpy, which waits at port 5678; for people."""
    stops: list[lsp.Location]
    """Where to stop, in the documents as they are now."""


class Test(TypedDict):
    """A test, and how it ended."""

    name: str
    """The test's full id, for pytest its node id."""
    verdict: TestVerdict
    """How it ended."""
    message: str
    """The first line of the failure, empty for a test that passed."""
    calls: list[str]
    """The calls in measured code that were active when it failed, the innermost first, each as `file:line in function`.
    Lines are those of the file as it was run."""
    seconds: float
    """How long it took."""
    uri: DocumentUri | None
    """Where it is defined, if that is known and in the workspace folder."""
    line: int | None
    """As it was run, counted from 1."""
    failed: lsp.Location | None
    """The line of the test in which it failed, where it is now; null if it passed, or if that is not known."""
    compared: ComparedMessage | None
    """What the assertion that failed compared; null if it compared nothing, or none failed."""


class ComparedMessage(TypedDict):
    """Two values that are not equal but were to be."""

    expected: str
    """What the test expects."""
    actual: str
    """What it got."""


class ExplanationMessage(TypedDict):
    """Why a line has its rank, in parts for a view."""

    location: CodeLocation
    """Which statement."""
    technique: str
    """The technique's title."""
    score: float
    """As in `Figures`."""
    ef: int
    """Failing tests that execute it."""
    ep: int
    """Passing tests that execute it."""
    nf: int
    """Failing tests that do not execute it."""
    np: int
    """Passing tests that do not execute it."""
    headline: str
    """One line: how suspicious it is, and how many tests execute it."""
    group: str
    """The heading of its failure group; empty where there is one group."""
    sentences: list[str]
    """The reasons, most important first."""
    formula: str
    """The formula as published."""
    substituted: str
    """The formula with this statement's numbers in it."""
    failing: list[Test]
    """Failing tests that execute it, at most `limit`; `ef` counts them all."""
    passing: list[Test]
    """Passing tests that execute it, at most `limit`; `ep` counts them all."""
    onlyRead: bool
    """Whether it runs once for all tests, and failing ones at most read what it defines: its tests are those."""
    examined: bool
    """Marked as examined, or innocent."""
    innocent: bool
    """Marked as innocent."""


class MeasuredFileMessage(TypedDict):
    """How much of a file was executed, and by which tests."""

    uri: DocumentUri
    """The document."""
    statements: int
    """How many statements there are."""
    executed: int
    """How many of them were executed."""
    tests: list[int]
    """The tests that executed any, as indices in the tests of the folder."""


class TestResults(TypedDict):
    """The last run of the tests of a workspace folder."""

    folder: DocumentUri
    """The workspace folder."""
    tests: list[Test]
    """All tests of its last run."""
    files: list[MeasuredFileMessage]
    """Its measured files, except test code."""


class Coverage(TypedDict):
    """A statement, and how many tests executed it."""

    line: int
    """Its first line as it is now, counted from 1."""
    endLine: int
    """Its last line as it is now, counted from 1."""
    tests: int
    """How many tests executed it; at least 1 if it ran outside any test."""


class CommandLine(TypedDict):
    """How to record tests in a terminal."""

    commandLine: str
    """Quoted for a shell. It names the program by its path, so it need not be on `PATH`."""
    environment: dict[str, str]
    """Variables with which every pytest that runs in the folder is recorded, for an editor's terminals. `PYTHONPATH` is
    to be put before the value that is there."""


class AgentAnswer(TypedDict):
    """The answer to a coding agent."""

    text: str
    """JSON as `suspectra mcp` answers it. Texts of the project are data, and marked as such."""
