"""What a machine and the program that asks it write to each other: each message is a line of JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from suspectra_recorder.experiments.decisions.call_marks import Body
from suspectra_recorder.experiments.decisions.rewriting import InstrumentedDecision
from suspectra_recorder.experiments.decisions.statement_marks import MarkedStatement
from suspectra_recorder.experiments.failed_check import FailedCheck
from suspectra_recorder.experiments.values.assignments import Assignment
from suspectra_recorder.instrumentation import library_references

__builtins__ = library_references.builtins

UNMADE = "unmade"
"""The outcome of a run that had not ended when the time of all runs of a request was up."""


class NewValueRequest(TypedDict):
    """A value that is put in the place of another one."""

    path: str
    """The source: relative to the workspace, forward slashes."""
    number: int
    """Which assignment of the file, from 0."""
    instance: int
    """Its how many-th time, from 1; 0 for each time."""
    part: list[str]
    """The path of a number inside the value; empty for the whole."""
    text: str
    """The new value, as :mod:`suspectra_recorder.experiments.values.literals` writes it."""
    symbol: str
    """The name of the symbol that it is from then on; empty for none."""


ObservedSites = tuple[str, int, int, Sequence[tuple[str, str, str, dict[str, int]]]]
"""A place: its file, first and last line, and its sites, each with its kind, left and right side and its outcomes."""


MemoryNode = tuple[str, str, list[tuple[str, int]], int]
"""A value: its kind, its text or class, the steps to its parts with their nodes, and how many parts there are.

Kinds are those of containers, ``object``, ``value`` (written down as a whole), ``name`` (what a module defines),
``other`` (what can't be written down), and in changes ``live``: what is at a place of the run, as JSON.
"""


class MemoryGraph(TypedDict):
    """What the variables of the functions that are being executed refer to."""

    variables: list[tuple[int, str, str, int]]
    """The depth of the function, the outermost being 0, its name, the name of the variable, and the node."""
    nodes: list[MemoryNode]
    """Each object once."""
    full: bool
    """Whether there may be more."""


class MemoryChange(TypedDict):
    """Something that is changed in the state of a run."""

    depth: int
    """Which function, the outermost being 0."""
    name: str
    """The variable."""
    steps: list[str]
    """The steps from its value to the place."""
    what: str
    """``set``, ``remove``, or for lists ``length``."""
    length: int
    """That of a list."""
    nodes: list[MemoryNode]
    """The new value is the first; for a longer list, a list of what comes at its end."""


class _Kind(TypedDict):
    kind: str


class RunRequest(_Kind, total=False):
    """One run: its ``kind``, one of :mod:`suspectra_recorder.experiments.run_kinds`, and what that needs to know."""

    file: str
    """Where something is altered: relative to the workspace, forward slashes."""
    number: int
    """Which decision or assignment of the file, from 0."""
    instance: int
    """Its how many-th time, from 1; 0 for each time."""
    part: list[str]
    """The path of a number inside a value; empty for the whole."""
    text: str
    """A new value, as :mod:`suspectra_recorder.experiments.values.literals` writes it."""
    compare: bool
    """Whether the comparisons that follow are noted."""
    source: str
    """The text of a function."""
    edit: tuple[int, int, int, int, str, bool]
    """An edit of that text: where it begins and ends, lines from 1 and columns in bytes from 0, what is there then, and
    whether these are whole statements. Without one the text is mutated already."""
    functions: list[tuple[str, int]]
    """The names of the functions that contain a mutation, and the first lines of their code, from the outermost on."""
    jobs: Sequence[RunRequest]
    """The switches of decisions for which a run is forked."""
    action: str
    """How a decision comes out: ``true``, ``false``, or ``other`` for the opposite of what it would be."""
    switched: list[tuple[str, int, int] | tuple[str, int, int, str]]
    """Decisions that come out differently, all in one run: file, number, instance, and action unless that is other."""
    watched: list[tuple[str, int, int]]
    """Decisions whose outcome is asked for."""
    replaced: list[NewValueRequest]
    """Values that are others, all in one run."""
    columns: str
    """The file that takes the columns of a trace of dependences."""
    most: int
    """How many nodes that may have."""
    call: int
    """Which call of the program by the test gets other arguments, from 1; 0 for the test itself, -1 to note them."""
    given: dict[str, int | float | bool]
    """Values of the symbols of an input that are others than they were."""
    drawn: str
    """The arguments that a property test drew, as Python writes them; empty for none."""
    symbolic: bool
    """Whether the parts of the input are symbols."""
    whole: bool
    """Whether the run is looked at to the end of the test, and not only until the call returns."""
    input: RunRequest
    """Another input during this run, as a job of the kind ``input``."""
    only: list[tuple[str, int]]
    """Files and lines whose functions are traced, besides test code; all unless there."""
    point: int
    """Before which executed statement the state is read or changed, from 0."""
    changes: list[MemoryChange]
    """What is changed there."""
    check: FailedCheck
    """What failed in an unaltered run: a run that passes without it is answered as ``skipped``."""
    others: Sequence[RunRequest]
    """Mutants of other functions in the same run."""
    definitions: list[str]
    """Statements that define names of the module of a mutant, which have these values during the run."""
    members: list[tuple[str, str]]
    """Classes of the module of a mutant, each with a statement that defines something of it during the run."""
    expressions: Sequence[tuple[int, list[str]]]
    """The first lines of statements, each with expressions that are evaluated where a run comes to it."""
    most_seconds: float
    """How long expressions are evaluated."""
    fork: Callable[[int], bool]
    """Forks for one of these; never written, since only the process that runs the test adds it."""


class SourceTable(TypedDict):
    """What is known of a traced source before it runs."""

    path: str
    """Relative to the workspace."""
    first: int
    """The number of its first site."""
    test: bool
    """Whether it is test code."""
    module: int
    """The number of the module's scope."""
    frames: list[tuple[int, int]]
    """For each scope the one in whose calls it is executed."""
    sites: list[tuple[int, int, int, str, int, int, list[int], list[int]]]
    """Line, end line, column, kind, number in the file, scope, and the variables that are read and bound."""
    scopes: list[int]
    """The scope of each variable."""
    names: list[str]
    """The name of each variable."""


class TracedRunAnswer(TypedDict):
    """A trace of dependences, besides its columns."""

    nodes: int
    """How many there are."""
    imported: int
    """How many of them were made while modules were imported; they come first."""
    left_out_imports: bool
    """Whether there were too many of these, so that they were forgotten."""
    full: bool
    """Whether there were more than a trace can have."""
    texts: list[str]
    """Short values, by the numbers that the column has."""
    failure: int
    """The node where the exception that ended the test came from; -1 for none."""
    phase: str
    """``setup``, ``call`` or ``teardown``, where the test failed; empty if it did not."""
    threads: int
    """How many other threads executed traced code, which is left out."""
    processes: list[str]
    """How other processes were started, which are left out."""
    sources: list[SourceTable]
    """Those that have nodes, in the order of the numbers of their sites."""


class ThreadColumns(TypedDict):
    """What a thread did: columns of int32 in base 64."""

    events: str
    """For a decision twice its number, and 1 more where it came out true; for the beginning of call n ``-1 - n``."""
    tops: str
    """Each time that calls began, ended, waited or went on: the call that is executed from then on, -1 for none."""
    tops_at: str
    """How many events there were before."""
    functions: str
    """The number of each call's function."""
    callers: str
    """The call that made each call, -1 for none."""
    lines: str
    """The line from which each call was made, -1 for none."""


class CallByTest(TypedDict):
    """A call of the program by a test."""

    function: str
    """Its name, with those of the classes around it."""
    line: int
    """Of the test code that calls."""
    parts: int
    """How many numbers, truths and characters its arguments have, apart from default values."""
    gives: bool
    """Whether the function may return anything but None, and is not a generator."""


class TriedInput(TypedDict):
    """The input of a run, and what came of it."""

    function: str
    """What got it; empty for the test itself."""
    arguments: dict[str, str]
    """Each as Python writes it, or its type."""
    parts: list[tuple[str, str, int | float]]
    """The symbol, kind and value of each number, truth and character; kinds are int, float, bool and char."""
    unsupported: dict[str, str]
    """The types of arguments of which nothing can be symbolic."""
    positions: list[int]
    """For each constraint how many events the main thread had before."""
    begin: int
    """How many events it had when the call began; -1 if it never began."""
    end: int
    """How many it had when the call returned; -1 if it did not."""
    returned: bool
    """Whether the call returned."""
    raised: bool
    """Whether the test failed by an exception that came out of the program."""
    result: str
    """What it returned, as Python writes it, or its type."""
    calls: list[CallByTest]
    """The calls of the program by the test."""
    drawn: str
    """The arguments that a property test drew, as Python writes them; empty where they can't be written."""
    strategies: dict[str, str]
    """How a property test draws them."""
    parameters: list[str]
    """The names of the parameters of a parametrized test."""


class ToldApart(TypedDict):
    """An input for which two alterations give different results."""

    function: str
    """What is called, with the class around it."""
    module: str
    """Where it is defined."""
    arguments: dict[str, str]
    """By name, as Python writes them."""
    gives: list[str]
    """What each alteration gives, or ``raises`` with the name of an exception."""
    can_be_written: bool
    """Whether a test can write all of them down as they are."""


class Findings(TypedDict, total=False):
    """What a kind of run adds to an answer."""

    reached: int
    """How often something was altered."""
    types: list[str]
    """The names under which a recording may have the exception: its type, bases, and the exceptions of a group."""
    check: FailedCheck
    """Where the failure of an unaltered run left the code of the test."""
    decisions: list[int]
    """For each decision twice its number, and 1 more where it came out true."""
    decision_threads: list[int]
    """Of several threads that which made each decision."""
    sites: list[tuple[str, int, Sequence[InstrumentedDecision]]]
    """The loaded sources with the numbers of their first decisions, and their decisions."""
    sources: dict[str, str]
    """The digests of the loaded files of the workspace."""
    values: list[int]
    """The numbers of assignments, each followed by the index of a text."""
    texts: list[str]
    """Values, as `literals` writes them; of other objects the numbers inside."""
    dependences: TracedRunAnswer
    """What was traced."""
    distances: dict[str, float]
    """How far apart the sides of comparisons were."""
    failed: list[list[str]]
    """The texts of both sides of the comparisons that made the test fail."""
    outcomes: list[int]
    """How each watched decision came out: 0 for false, 1 for true, -1 if it was not made."""
    marks: list[int]
    """For each watched decision the index of the constraint that was met last before it; -1 for none."""
    decided: int
    """How many decisions the run made."""
    constraints: list[tuple[object, bool]]
    """The constraints of symbols: a term, and whether it was true."""
    last: int
    """The index of the constraint that was met last before the test failed; -1 for none."""
    frames: list[tuple[str, int]]
    """File and line of the last calls that led to the failure, the outermost first."""
    rounds: list[tuple[str, int, int]]
    """File and line of each loop in test code, and how many rounds it had begun when the test failed."""
    assignments: list[tuple[str, int, Sequence[Assignment]]]
    """The loaded sources with the numbers of their first assignments, and their assignments."""
    threads: list[ThreadColumns]
    """The path of the run."""
    functions: list[tuple[str, int, Sequence[Body]]]
    """The loaded sources with the numbers of their first functions, and the bodies of these."""
    executed: str
    """The executed statements in order: their numbers, in a column of int32 in base 64."""
    calls: str
    """For each the number of its call, from 0."""
    called_at: str
    """For each call the index of the statement from which it was made, -1 for none."""
    statements: list[tuple[str, int, Sequence[MarkedStatement]]]
    """The loaded sources with the numbers of their first statements, and their statements."""
    memory: MemoryGraph
    """The state before it is changed."""
    refused: str
    """Why the state could not be changed; empty if it could."""
    raised: tuple[str, int] | None
    """File and line of the program where the exception that ended the test was raised; None for test code."""
    line: int
    """The line of test code where that passed last; 0 for none."""
    files: list[str]
    """The files whose lines were noted."""
    lines: str
    """For each line that was executed the number of its file, its own, and how many calls enclose it; in base 64."""
    apart: ToldApart
    """What tells the two alterations of the job apart."""
    input: TriedInput
    """What the run was given, and what came of it."""
    results: Sequence[tuple[int, int, bool, list[str], list[str], list[str]]]
    """For each line how often the run came to it, whether expressions were evaluated each time, and for each of them
    a digest of its results, one of their truths, and the type of the first. Equal digests are equal in all runs; empty
    for what is not known."""
    observed: list[ObservedSites]
    """What predicates hold for the values of each place that was reached."""


class _Optional(Findings, total=False):
    message: str
    """A digest of what the exception says."""
    left_out: dict[str, str]
    """Why files that the run imported, or earlier code did, could not be instrumented, by file."""
    slow_fixtures: list[str]
    """The fixtures that several tests share elsewhere, and whose set-up took long in this run."""
    touched: list[list[str]]
    """What an unaltered run did outside of its process: the names of audit events, with their arguments."""
    forbidden: str
    """The call that ended an altered run, since it may do no harm."""
    job: int
    """Which of the jobs of a forked run, or their number for the run that was forked."""


class MachineRunAnswer(_Optional):
    """How a run ended, with what its kind adds."""

    outcome: str
    """A verdict of pytest, or ``steps``, ``timeout``, ``crashed``, ``not reached``, ``refused`` or ``unmade``."""
    exception: str
    """The type of the exception that ended it, empty for none."""
    seconds: float
    """How long the test took."""


class _OptionalOfRequest(TypedDict, total=False):
    touched: list[list[str]]
    """What the unaltered test does outside of its process, as it was answered: altered runs may do it, too."""
    fork: bool
    """Whether the jobs are forks of one unaltered run."""
    all_seconds: float
    """How long all runs may take together; those that have not ended by then are answered as ``unmade``."""
    keep: bool
    """Whether the process that does them goes on with the next request that says so, if that is for the same test."""
    shared: bool
    """Whether such a process may have run other tests of which that was said, as one run of pytest does."""
    directly: bool
    """Whether the hooks of pytest may be left out where they do nothing that matters."""


class Request(_OptionalOfRequest):
    """Some runs of a test, and their limits."""

    test: str
    jobs: list[RunRequest]
    steps: int
    """How many decisions a run may make."""
    seconds: float
    """How long a run may take."""
    memory: int
    """Bytes that a run may take besides what the waiting process has."""
    file_size: int
    """Bytes that a run may write into a file."""


class _Greeting(TypedDict):
    """What there is to know of any process before the first request."""

    tests: list[str]
    """The tests that were collected."""
    excluded: dict[str, str]
    """Tests that are never run, each with the marker because of which."""
    threads: list[str]
    """The names of threads that were started before the tests."""
    by_unittest: list[str]
    """The tests that were not collected, but that unittest may have run."""
    errors: list[str]
    """Why something could not be collected."""
    left_out: dict[str, str]
    """Why files could not be instrumented, by file."""
    sources: dict[str, str]
    """The digests of the loaded files of the workspace."""


class Greeting(_Greeting, total=False):
    """The same, and what calls of a watched process before the first test say."""

    forbidden: str
    """What altered code tried, and may not do."""
    touched: list[list[str]]
    """What an unaltered process did."""
    modules: list[str]
    """What an unaltered process has loaded besides the program and pytest."""


FORKED_STARTS = "forked starts"
"""The kind of runs for which a process starts machines as forks of itself."""


class ForkingGreeting(TypedDict):
    """What a process says first that starts machines as forks of itself."""

    forks: bool
    """Whether it has loaded nothing of the program yet."""


class StartAnswer(TypedDict):
    """How a machine that was started as a fork has ended."""

    stopped: bool
    """Whether it took too long."""
    seconds: float


class ForkRequest(TypedDict):
    """A machine that is to be started as a fork."""

    order: str
    """The file of its order."""
    modules: list[str]
    """What to load before."""
    seconds: float
    """How long it may take."""
