"""The messages that Suspectra adds to LSP, as types; `protocol.py` says what each field means."""

from __future__ import annotations

from typing import TypedDict

from lsprotocol import types as lsp


class Progress(TypedDict):
    """How far a test run is."""

    done: int
    failed: int
    total: int
    onSave: bool


class Investigation(TypedDict):
    """How far altered runs are."""

    runs: int
    test: str
    share: float
    found: str


class Status(TypedDict):
    """The params of `suspectra/status`."""

    state: str
    message: str
    technique: str
    title: str
    suspects: int
    failed: int
    passed: int
    collectionErrors: int
    progress: Progress | None
    investigation: Investigation | None


class Figures(TypedDict):
    """The numbers of a suspect."""

    score: float
    rankBest: int
    rankAverage: float
    rankWorst: int
    ef: int
    ep: int
    nf: int
    np: int
    changed: int
    changedByGit: int
    line: int
    endLine: int
    band: str


class DiagnosticData(Figures):
    """What a diagnostic of a suspect has for other programs."""

    technique: str
    cloneFailed: bool


class RegionData(DiagnosticData):
    """The same for a part of a suspicious behaviour."""

    subgraph: int
    part: int
    parts: int


class Suspect(Figures):
    """A suspect, in lists of them."""

    uri: str
    range: lsp.Range
    file: str
    function: str
    reason: str
    findings: list[str]
    source: str
    raised: bool
    repairs: int
    tie: int
    failingTests: list[str]
    group: int | None
    examined: bool
    innocent: bool
    steps: float | None


class CollectionError(TypedDict):
    """What kept tests from being collected."""

    collector: str
    exception: str
    message: str
    folder: str
    uri: str | None
    range: lsp.Range | None
    file: str
    line: int
    test: str | None


class FailedRun(TypedDict):
    """A test run that failed to run the tests."""

    folder: str
    message: str


class GroupOverview(TypedDict):
    """A failure group, without its suspects."""

    folder: str
    id: int | None
    title: str
    heading: str
    names: str
    failure: str
    uri: str | None
    range: lsp.Range | None
    sure: bool
    tests: list[str]
    uncovered: list[str]
    current: bool


class Suspects(TypedDict):
    """The result of `suspectra/suspects`."""

    technique: str
    title: str
    cloneFailed: bool
    without: list[str]
    passed: int
    failed: int
    elements: int
    state: str
    problems: list[dict[str, str]]
    collectionErrors: list[CollectionError]
    tiedBeyond: int
    failedRuns: list[FailedRun]
    groups: list[GroupOverview]
    suspects: list[Suspect]


class GroupSuspects(TypedDict):
    """The result of `suspectra/group`."""

    reason: str
    suspects: list[Suspect]


class Technique(TypedDict):
    """A technique, in the result of `suspectra/techniques`."""

    name: str
    title: str
    paper: str
    description: str
    clones: bool


class CodeLocation(TypedDict):
    """A statement, where it is now."""

    uri: str
    range: lsp.Range
    file: str
    line: int
    function: str
    source: str
    rankBest: int | None
    rankWorst: int | None
    steps: float | None


class Move(CodeLocation):
    """Where a reader may look next."""

    probability: float
    reasons: list[str]


class Jump(TypedDict):
    """The result of `jump`."""

    origin: CodeLocation | None
    moves: list[Move]
    chosen: lsp.Location | None


class Explained(TypedDict):
    """The result of `explain`."""

    markdown: str
    location: lsp.Location


class Answer(TypedDict):
    """The result of `whyNot` and of `tellApart`."""

    markdown: str
    headline: str
    sentences: list[str]
    location: lsp.Location | None


class Learned(TypedDict):
    """The result of `showLearned`."""

    consent: bool
    jumps: int
    returns: int
    pJump: float
    low: float
    high: float
    file: str


class Step(TypedDict):
    """A value or decision of a run, and what follows it in a slice."""

    uri: str
    range: lsp.Range
    file: str
    line: int
    source: str
    value: str
    instance: int
    why: str
    steps: list[Step]
    more: int


class SlicedFile(TypedDict):
    """The lines of a file that are in a slice."""

    uri: str
    lines: list[int]


class Slice(TypedDict):
    """The result of `whatLedHere` and of `whatThisInfluenced`."""

    heading: str
    test: str
    size: int
    steps: list[Step]
    files: list[SlicedFile]
    leftOut: list[str]
    svg: str


class Causes(TypedDict):
    """The result of `findCause` and of `suspectra/causes`."""

    folder: str
    test: str
    searching: bool
    found: str
    roots: list[Step]
    chain: list[Step]
    transitive: list[Step]
    around: list[Step]
    alterations: int
    complete: bool
    seconds: float
    problems: list[str]


class ComparedRuns(TypedDict):
    """The result of `comparePassing`."""

    folder: str
    test: str
    technique: str
    passing: str | None
    found: str
    report: list[Step]
    chain: list[Step]
    after: list[Step]
    notes: list[str]
    candidates: int
    complete: bool
    seconds: float
    problems: list[str]


class RunText(TypedDict):
    """What one test executes."""

    title: str
    text: str


class RunTexts(TypedDict):
    """The result of `compareRuns`."""

    heading: str
    failing: RunText
    passing: RunText
    line: int


class DebugLaunch(TypedDict):
    """The result of `debugHere`, `debugTest` and `debugChain`."""

    folder: str
    test: str
    root: str
    python: str | None
    module: str
    arguments: list[str]
    commandLine: str
    stops: list[lsp.Location]


class Test(TypedDict):
    """A test, and how it ended."""

    name: str
    verdict: str
    message: str
    calls: list[str]
    seconds: float
    uri: str | None
    line: int | None


class Explanation(TypedDict):
    """The result of `suspectra/explanation`."""

    location: CodeLocation
    technique: str
    score: float
    ef: int
    ep: int
    nf: int
    np: int
    headline: str
    group: str
    sentences: list[str]
    formula: str
    substituted: str
    failing: list[Test]
    passing: list[Test]
    onlyRead: bool
    examined: bool
    innocent: bool


class Executed(TypedDict):
    """How much of a file was executed, and the indices of the tests that executed any of it."""

    statements: int
    executed: int
    tests: list[int]


class MeasuredFile(Executed):
    """A measured file of a folder."""

    uri: str


class TestResults(TypedDict):
    """The tests of a folder, in the result of `suspectra/testResults`."""

    folder: str
    tests: list[Test]
    files: list[MeasuredFile]


class Coverage(TypedDict):
    """A statement, in the result of `suspectra/coverage`."""

    line: int
    endLine: int
    tests: int


class CommandLine(TypedDict):
    """The result of `suspectra/commandLine`."""

    commandLine: str
    environment: dict[str, str]


class AgentAnswer(TypedDict):
    """The result of `suspectra/agentAnswer`."""

    text: str
