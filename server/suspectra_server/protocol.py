"""What the server adds to LSP: its commands, requests and notifications, declared once.

The server registers them from these declarations; the documentation and the commands of the VS Code extension are
generated from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

STATUS = "suspectra/status"
SUSPECTS = "suspectra/suspects"
TECHNIQUES = "suspectra/techniques"
EXPLANATION = "suspectra/explanation"
TEST_RESULTS = "suspectra/testResults"
COVERAGE = "suspectra/coverage"
COMMAND_LINE = "suspectra/commandLine"
GROUP = "suspectra/group"
CAUSES = "suspectra/causes"
COMPARISON = "suspectra/comparison"
AGENT_ANSWER = "suspectra/agentAnswer"

RANKING, PATHS = "ranking", "paths"
"""What techniques are asked for: the ranking of suspects, or the search for a run that passes."""


class FolderState(str, Enum):
    """What the server is doing, or why there is nothing to show."""

    NO_EVIDENCE = "noEvidence"
    RANKING = "ranking"
    READY = "ready"
    NO_FAILING_TESTS = "noFailingTests"
    ERROR = "error"
    RUNNING_TESTS = "runningTests"
    STALE = "stale"


STATES = {
    FolderState.NO_EVIDENCE: "No test run has been recorded here yet.",
    FolderState.RANKING: "A ranking is being made. Sent only when it takes long enough to be noticed.",
    FolderState.READY: "The ranking is current.",
    FolderState.NO_FAILING_TESTS: "The last run has no failing test, so nothing is ranked.",
    FolderState.ERROR: "The evidence can't be read or ranked, or tests could not be collected; the last good ranking"
    " stays until a test passes that failed in it.",
    FolderState.RUNNING_TESTS: "The tests are running.",
    FolderState.STALE: "Code changed since the tests ran. Marks move with the text; edited lines lose theirs.",
}


@dataclass(frozen=True)
class Field:
    """One field of a message, for the reference."""

    name: str
    type: str
    text: str


@dataclass(frozen=True)
class CommandDeclaration:
    """A command for ``workspace/executeCommand``, and how VS Code shows its own command for the same."""

    name: str
    title: str
    arguments: tuple[Field, ...]
    result: str  # its type
    text: str  # what it does, in Markdown
    icon: str = ""  # one of VS Code's, by its name
    enablement: str = ""  # when VS Code offers it; always unless given

    @property
    def id(self) -> str:
        """The identifier on the wire.

        Client libraries such as VS Code's register these ids in the editor by themselves. A client that adds its own
        commands, such as ``suspectra.nextSuspect``, therefore needs other ids.
        """
        return f"suspectra.server.{self.name}"


_CURSOR = Field("cursor?", "{uri, position}", "Where the reader is. If that is a suspect, the step starts from it.")
_URI = Field("uri", "string", "The document.")
_LINE = Field("line", "number", "A line of the document as it is in the editor, counted from 0.")
_SCOPE = Field(
    "scope?",
    '"line" | "function"',
    "The statement (the default), or its whole function: at module level, all statements of the file outside of"
    " functions.",
)
_TEST = Field(
    "test?",
    "string",
    "A failing test, by its name; by default the one that the line is in, or else the first that executes the line.",
)
_FOLDER = Field("folder?", "DocumentUri", "The workspace folder; by default the first with failure groups.")
_GROUP = Field("group?", "number", "The number of a failure group.")
_FAILING_TEST = (
    Field("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
    Field(
        "test?",
        "string",
        "A failing test, by its name in `suspectra/testResults`; by default the one at the cursor, or else the"
        " first of the current failure group.",
    ),
    Field("cursor?", "{uri, position}", "Where the reader is: its folder, and its failing test if it is in one."),
)
_STEP = "Location | null"

COMMANDS = (
    CommandDeclaration(
        "localize",
        "Localize Fault",
        (),
        "null",
        "Read the evidence again and rank now.",
        icon="refresh",
    ),
    CommandDeclaration(
        "nextSuspect",
        "Next Suspect",
        (_CURSOR,),
        _STEP,
        "Go to the next suspect in the order of the ranking, skipping examined ones; after the last comes the"
        " first. Without a cursor, or off any suspect, the step starts from the suspect visited last. Also asks the"
        ' client to show it (`window/showDocument`) where it can. With the setting `order: "steps"` the next suspect'
        " is the one with the fewest expected steps from the reader's position that has not been visited on this walk;"
        " if these steps are not known within a second, it is the next in the ranking.",
        icon="arrow-down",
    ),
    CommandDeclaration(
        "previousSuspect",
        "Previous Suspect",
        (_CURSOR,),
        _STEP,
        'The same in the other direction. With `order: "steps"` it goes back, like `suspectra.server.back`.',
        icon="arrow-up",
    ),
    CommandDeclaration(
        "firstSuspect",
        "First Suspect",
        (),
        _STEP,
        "Go to the most suspicious line that has not been examined.",
    ),
    CommandDeclaration(
        "explain",
        "Explain Suspect",
        (Field("uri?", "string", "The document."), Field("line?", "number", _LINE.text)),
        "{markdown, location} | null",
        "Why a line has its rank. Without arguments: the suspect visited last, or the first. A client that"
        " does not support `suspectra/status` also gets the text as `window/showMessage`.",
        icon="question",
    ),
    CommandDeclaration(
        "whyNot",
        "Why Not This Line?",
        (_URI, _LINE),
        "{markdown, headline, sentences: string[], location} | null",
        "Why a line ranks lower than the first suspect, and which tests execute one of the two and not the other. For a"
        " line that no failing test executes: how close failing tests come. Null if nothing is measured on the line. A"
        " client that does not support `suspectra/status` also gets the text as `window/showMessage`.",
        icon="question",
    ),
    CommandDeclaration(
        "tellApart",
        "What Would Tell These Apart?",
        (Field("uri?", "string", "The document."), Field("line?", "number", _LINE.text)),
        "{markdown, headline, sentences: string[], location} | null",
        "What would tell lines with the same score apart: the tie of a line, or the first tie. Each step has its gain"
        " in bits. Null if there is no suspect. Shown like `suspectra.server.whyNot`.",
        icon="split-horizontal",
    ),
    CommandDeclaration(
        "markExamined",
        "Mark as Examined",
        (_URI, _LINE, _SCOPE),
        "boolean",
        "Mark a suspect as examined, or its whole function, and no longer mark its lines. True if there was a suspect "
        "on that line.",
        icon="check",
    ),
    CommandDeclaration(
        "markInnocent",
        "Mark as Innocent",
        (
            _URI,
            _LINE,
            _SCOPE,
        ),
        "boolean",
        "Declare a statement, or the whole function it is in, not at fault: it is no longer marked, and the debugging"
        " model no longer leads to it. Works on every line that was ranked, suspect or not. True if there was such a"
        " line.",
        icon="pass",
    ),
    CommandDeclaration(
        "clearExamined",
        "Clear Examined Marks",
        (),
        "null",
        "Show all suspects again that were marked as examined or innocent.",
    ),
    CommandDeclaration(
        "jump",
        "Jump…",
        (
            Field(
                "cursor?",
                "{uri, position}",
                "Where the reader is, on any measured statement; by default the statement visited last, or the first"
                " suspect.",
            ),
            Field(
                "options?",
                "{to?: {uri, line}, ask?: boolean, limit?: number}",
                "`to`: the location that the reader chose; go there. `ask`: whether the server asks which one"
                " (`window/showMessageRequest`) and goes there. The default is true, but false for a client that"
                " supports `suspectra/status`, which shows its own list. `limit`: how many locations, 10 by default.",
            ),
        ),
        "Jump | null",
        "Where to look next from the reader's position, most likely first, with probabilities and reasons. Nothing is"
        " shown or counted until a location is chosen, by `to` or by the answer to the question. Null if there is no"
        " suspect.",
        icon="references",
    ),
    CommandDeclaration(
        "back",
        "Go Back",
        (),
        _STEP,
        "Go back to where the reader came from, step by step: it undoes `nextSuspect`, `jump` and so on. Null at"
        " the beginning of the walk.",
        icon="arrow-left",
    ),
    CommandDeclaration(
        "showLearned",
        "Show Learned Jumps",
        (),
        "Learned",
        "What was learned from the reader's moves. A client that does not support `suspectra/status` also gets it as"
        " `window/showMessage`.",
    ),
    CommandDeclaration(
        "resetLearned",
        "Reset Learned Jumps",
        (),
        "boolean",
        "Delete what was learned. True if there was anything.",
    ),
    CommandDeclaration(
        "selectTechnique",
        "Select Technique…",
        (
            Field("name?", "string", "A technique's name. Without one the server asks (`window/showMessageRequest`)."),
            Field(
                "options?",
                "{cloneFailed?: boolean}",
                "Whether failing tests are cloned; only formulas can do that. By default unchanged.",
            ),
        ),
        "string | null",
        "Rank with another technique until the setting is changed. Returns the name of the technique now in use.",
        icon="beaker",
    ),
    CommandDeclaration(
        "selectGroup",
        "Select Failure Group…",
        (_FOLDER, _GROUP),
        "string | null",
        "Show the suspects of another failure group: marks, lenses, hovers, the steps and the debugging model are those"
        " of one group at a time. Without arguments the server asks (`window/showMessageRequest`). Returns the heading"
        " of the group that is shown now, or null if there is no group with that number.",
        icon="target",
        enablement="suspectra.hasGroups",
    ),
    CommandDeclaration(
        "mergeGroups",
        "Merge Failure Groups…",
        (_FOLDER, Field("groups?", "number[]", "The numbers of the groups to merge.")),
        "boolean",
        "Decide that the failing tests of some groups share a fault. Without arguments the server asks which group to"
        " merge with the current one. This holds for later runs, until `resetGroups`.",
        icon="combine",
        enablement="suspectra.hasGroups",
    ),
    CommandDeclaration(
        "splitGroup",
        "Split Failure Group…",
        (_FOLDER, _GROUP, Field("tests?", "string[]", "The names of the tests that leave the group.")),
        "boolean",
        "Decide that some failing tests of a group do not share its fault. Without tests the server asks which one"
        " leaves the group, and without any arguments it uses the current group. This holds for later runs, until"
        " `resetGroups`.",
        icon="split-horizontal",
    ),
    CommandDeclaration(
        "resetGroups",
        "Reset Failure Groups",
        (),
        "boolean",
        "Forget what was merged and split. True if there was something.",
        icon="discard",
    ),
    CommandDeclaration(
        "runTests",
        "Run Tests and Localize",
        (
            Field("folders?", "DocumentUri[]", "The workspace folders whose tests to run; all of them by default."),
            Field(
                "tests?",
                "{[folder: DocumentUri]: string[]}",
                "The tests to run in each folder, by their names in `suspectra/testResults`; by default all its tests.",
            ),
        ),
        "boolean",
        "Start `suspectra record -- testCommand` in each of the folders, or `suspectra record-c cTests` for C and"
        " C++, with a progress bar that can cancel it; its output comes as `window/logMessage`. True once it has"
        " started. A client that does not support `suspectra/status` gets the outcome as `window/showMessage`. Refused"
        " in a workspace that the client does not trust.",
        icon="run-all",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "cancelTests",
        "Cancel Test Run",
        (),
        "boolean",
        "Stop the tests that `suspectra.server.runTests` started; what they recorded so far is ranked. True if tests"
        " were running.",
        icon="stop-circle",
        enablement="suspectra.state == runningTests",
    ),
    CommandDeclaration(
        "investigate",
        "Find Out What Would Make It Pass",
        (
            Field("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
            Field(
                "tests?",
                "string[]",
                "Failing tests, by their names in `suspectra/testResults`; by default the one at the cursor, or else"
                " those of the current failure group.",
            ),
            Field(
                "cursor?", "{uri, position}", "Where the reader is: its folder, and its failing test if it is in one."
            ),
        ),
        "boolean",
        "Run failing tests again and again, each time with one thing altered: a condition that comes out the other way,"
        " another value, another operator. What makes a test pass is shown on its line as soon as it is found. The"
        " progress bar can cancel it, which keeps what was found; at the end the outcome comes as `window/showMessage`."
        " Before the first time in a workspace the user is asked (`window/showMessageRequest`), since altered runs"
        " execute tests with wrong values and skipped checks. True once it has started, false if the user declines."
        " Refused in a workspace that the client does not trust, and while tests run.",
        icon="lightbulb-sparkle",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "testSuspect",
        "Test This Suspect",
        (_URI, _LINE),
        "boolean",
        "The same, but only the statement on this line is altered, with the failing tests that execute it.",
        icon="beaker-stop",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "compareValues",
        "Compare Values With Passing Tests",
        (
            Field("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
            Field("tests?", "string[]", "Failing tests, as for `suspectra.server.investigate`."),
            Field(
                "cursor?", "{uri, position}", "Where the reader is: its folder, and its failing test if it is in one."
            ),
        ),
        "boolean",
        "Run failing tests, and the passing tests that are most like them, once more, with nothing altered, and compare"
        " their values. What all failing tests have and no passing one, such as `last < first`, is then said on its"
        " line in diagnostics and hovers, and the technique `value-predicates` ranks by it. Progress, cancelling and"
        " the final message are those of `suspectra.server.investigate`. True once it has started; nobody is asked."
        " Refused in a workspace that the client does not trust, and while tests run.",
        icon="arrow-swap",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "findCause",
        "Find the Cause of This Failure",
        _FAILING_TEST,
        "Causes | null",
        "Search for the states of the program that caused the failure of one test: it is run again and again with other"
        " decisions and values, until what lies between right and wrong can't be narrowed down any further. Each step"
        " is in the progress bar, the log and `suspectra/status`, and `suspectra/causes` has what is known. The answer"
        " comes when the search has ended; to cancel it, in the progress bar or by cancelling the request, keeps what"
        " is known. Consent and trust are those of `suspectra.server.investigate`; null if the user declines.",
        icon="search-fuzzy",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "nextInChain",
        "Next Step to the Failure",
        (_CURSOR,),
        _STEP,
        "Go on along the chain from the first root cause to the failure; after the last step comes the first. Also asks"
        " the client to show it (`window/showDocument`) where it can. Null if no cause is known.",
        icon="debug-step-over",
        enablement="suspectra.hasCauses",
    ),
    CommandDeclaration(
        "previousInChain",
        "Previous Step to the Failure",
        (_CURSOR,),
        _STEP,
        "The same in the other direction.",
        icon="debug-step-back",
        enablement="suspectra.hasCauses",
    ),
    CommandDeclaration(
        "clearCauses",
        "Clear the Causes",
        (),
        "boolean",
        "Forget what the last search has found. True if there was something.",
        icon="clear-all",
        enablement="suspectra.hasCauses",
    ),
    CommandDeclaration(
        "whatLedHere",
        "What Led Here",
        (_URI, _LINE, _TEST),
        "Slice",
        "Which values and decisions led to those on a line, in one run of a failing test: its backward slice. On the"
        " line where the test fails, and elsewhere in the test, it is the slice of the failure. The test is run once"
        " more, traced, with nothing altered; the trace is kept for the next questions. A client that does not support"
        " `suspectra/status` also gets the nearest steps as `window/showMessage`. Refused in a workspace that the"
        " client does not trust.",
        icon="type-hierarchy-sub",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "whatThisInfluenced",
        "What This Influenced",
        (_URI, _LINE, _TEST),
        "Slice",
        "The other direction: which values and decisions depend on those of a line.",
        icon="type-hierarchy-super",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "comparePassing",
        "Compare With a Passing Run",
        (
            *_FAILING_TEST,
            Field("technique?", "string", "`nearest-path` by default, or another one of `suspectra/techniques`."),
        ),
        "ComparedRuns | null",
        "Find the passing test whose decisions and calls are nearest to those of a failing one, and where the two part."
        " The tests run again, with nothing altered. With another technique they run altered, so the user is asked"
        " first; null if they must not. Where no test knows whether an outcome is right, the user is asked"
        " (`window/showMessageRequest`: Right, Wrong, or closed for don't know)."
        " The first decision that came out differently gets a diagnostic"
        " with the code `nearest-path`, whose related information names both tests and where each goes on; it stays"
        " until `clearComparison`, or until the sources change. Also asks the client to show that line"
        " (`window/showDocument`) where it can. What was found comes as `window/showMessage`. Refused in a workspace"
        " that the client does not trust, and while tests run.",
        icon="diff-multiple",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "compareRuns",
        "Compare Runs",
        _FAILING_TEST,
        "RunTexts",
        "What a failing test and the passing one that is nearest execute, as two texts for a side-by-side view. Where"
        " no test is named and the cursor is in none, they are those of the last `comparePassing`; where there is none,"
        " the tests are compared first.",
        icon="diff",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "clearComparison",
        "Clear the Compared Runs",
        (),
        "boolean",
        "Forget the last comparison, and its diagnostic. True if there was one.",
        icon="clear-all",
    ),
    CommandDeclaration(
        "debugHere",
        "Debug Here",
        (_URI, _LINE, _TEST),
        "DebugLaunch",
        "How to debug a failing test so that it stops on this line: the client starts its debugger, with a breakpoint"
        " there for as long as that session lasts. Nothing is run by the server. A client that does not support"
        " `suspectra/status` also gets a command line for debugpy as `window/showMessage`. Refused in a workspace that"
        " the client does not trust, and for tests of compiled programs, with what to do instead.",
        icon="debug-alt",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "debugTest",
        "Debug Failing Test",
        _FAILING_TEST,
        "DebugLaunch",
        "The same for a failing test: it stops on the most suspicious line that the test executes, or else where the"
        " test failed.",
        icon="debug-alt",
        enablement="isWorkspaceTrusted",
    ),
    CommandDeclaration(
        "debugChain",
        "Debug Along the Chain",
        (),
        "DebugLaunch",
        "The same for the test of the last `findCause`: it stops at each line from the first root cause to the"
        " failure. Refused if no cause is known.",
        icon="debug-alt",
        enablement="isWorkspaceTrusted && suspectra.hasCauses",
    ),
    CommandDeclaration(
        "cancelInvestigation",
        "Cancel Altered Runs",
        (),
        "boolean",
        "Stop what `suspectra.server.investigate`, `testSuspect`, `compareValues`, `findCause`, `whatLedHere`,"
        " `whatThisInfluenced`, `comparePassing` or `compareRuns` started; what was found is kept. True if there was"
        " something to stop.",
        icon="stop-circle",
        enablement="suspectra.investigating",
    ),
)

COMMAND_IDS = {command.name: command.id for command in COMMANDS}

SUSPECTS_RESULT = (
    Field("technique, title", "string", "Name and title of the technique in use."),
    Field("cloneFailed", "boolean", "Whether failing tests are cloned."),
    Field("without", "string[]", "The kinds of evidence that the technique had to do without."),
    Field("passed, failed", "number", "Tests that passed and that failed."),
    Field("elements", "number", "Statements that were ranked."),
    Field("state", "FolderState", "As in `suspectra/status`."),
    Field("problems", "{file, place, cause, cure}[]", "What is wrong with the evidence, and how to fix it."),
    Field("collectionErrors", "CollectionError[]", "What kept tests from being collected; 100 at most."),
    Field(
        "tiedBeyond",
        "number",
        "How many more lines have the same rank as the last suspect, where the setting `top` or `limit` ends the list"
        " within a tie.",
    ),
    Field(
        "failedRuns",
        "{folder: DocumentUri, message: string}[]",
        "Test runs that `suspectra.server.runTests` started and that failed to run the tests, unless a collection"
        " error says why. They are listed until the next run.",
    ),
    Field(
        "groups",
        "Group[]",
        "The failing tests of each folder by failure group, the largest group first. Where all of a folder probably"
        " share a fault, that is one group, whose `id` is null.",
    ),
    Field(
        "suspects",
        "Suspect[]",
        "Best first, or fewest expected steps first (setting `order`); at most `limit`. In a folder"
        " with several failure groups, those of the current one.",
    ),
)

GROUP_OVERVIEW = (
    Field("folder", "DocumentUri", "The workspace folder."),
    Field(
        "id",
        "number | null",
        "Its number, which stays the same when tests run again; null for the only one of a folder.",
    ),
    Field(
        "title",
        "string",
        "The exception and where it was raised, or the exception and the first suspect; empty for the only one.",
    ),
    Field("heading", "string", 'With the number of its tests: "✗ 3 tests: UnbalancedEntry at journal.py:41".'),
    Field("names", "string", "The first of its tests without file and parameters, and how many more there are."),
    Field("failure", "string", "The exception by which that test failed, with what was expected if that is known."),
    Field(
        "uri, range", "DocumentUri | null, Range | null", "The line of test code in which it failed, if it is known."
    ),
    Field("sure", "boolean", 'False for C and C++, in which groups are less certain; the heading says "perhaps".'),
    Field("tests", "string[]", "Its failing tests."),
    Field("uncovered", "string[]", "Those of its tests that executed nothing that can be a suspect."),
    Field("current", "boolean", "Whether it is the one whose suspects are shown."),
)

GROUP_RESULT = (
    Field("reason", "string", "What its tests have in common, in a sentence or two."),
    Field("suspects", "Suspect[]", "Best first; at most `limit`."),
)

SUSPECT = (
    Field("uri, range", "DocumentUri, Range", "Where it is in the document as it is now."),
    Field("file", "string", "Relative to the workspace folder, with forward slashes."),
    Field("line, endLine", "number", "As it is now, counted from 1."),
    Field("function", "string", "Qualified name of the enclosing function, empty at module level."),
    Field(
        "score",
        "number",
        "Suspiciousness. JSON has no infinity: an infinite score is the largest double, with its sign.",
    ),
    Field(
        "reason",
        "string",
        "Why it ranks before the next ones, in one sentence; empty where the counts of tests say it.",
    ),
    Field(
        "findings",
        "string[]",
        "What alterations of it make failing tests pass, a sentence each, most tests first; then how values compare"
        " there in all failing tests and in no passing one. For what the logs in `.suspectra/experiments` have of"
        " these sources.",
    ),
    Field("source", "string", "Its first line as it is now, without indentation."),
    Field("raised", "boolean", "Whether a failing test failed in it."),
    Field("repairs", "number", "How many failing tests, of `ef + nf`, pass with the best alteration of it."),
    Field(
        "tie",
        "number",
        "Suspects of a group with the same number are equal for the tests, even if something else puts them in order.",
    ),
    Field("rankBest, rankAverage, rankWorst", "number", "The first and the last rank of its tie, and their mean."),
    Field("ef, ep, nf, np", "number", "Failing and passing tests that execute it, and that do not."),
    Field("changed", "number", "Before how many of these failing tests failed it changed."),
    Field("changedByGit", "number", "How many of those are not known to have passed before: git knows of the change."),
    Field("failingTests", "string[]", "The failing tests that execute it."),
    Field("group", "number | null", "The failure group in which it has this rank, where there are several."),
    Field("examined", "boolean", "Marked as examined, or innocent."),
    Field("innocent", "boolean", "Marked as innocent."),
    Field(
        "steps",
        "number | null",
        "Expected steps of a reader from the top of the ranking. They are for sorting; do not show them beside a rank,"
        " where they look like a second score. Null while they are not known, and for infinity.",
    ),
    Field("band", '"high" | "medium" | "low"', "Average rank up to 5, up to 10, beyond."),
)

STATUS_PARAMS = (
    Field("state", "FolderState", "See below."),
    Field("message", "string", "One sentence for people."),
    Field("technique, title", "string", "Name and title of the technique in use."),
    Field("suspects", "number", "Suspects that can be shown."),
    Field("failed, passed", "number", "Tests that failed and that passed."),
    Field("collectionErrors", "number", "What could not be collected; `suspectra/suspects` lists it."),
    Field(
        "progress",
        "{done: number, failed: number, total: number, onSave: boolean} | null",
        "While tests run: how many ended and how many of these failed; `total` is 0 while it is not known. `onSave`:"
        " whether a save started the run, by the setting `run`.",
    ),
    Field(
        "investigation",
        "{runs: number, test: string, share: number, found: string} | null",
        "While failing tests are run again: how many runs there were, which test is run, how much of the time is gone,"
        " from 0 to 1, and where the cause of a failure lies as far as that is known.",
    ),
)

COLLECTION_ERROR = (
    Field("collector", "string", "Node id of the file, folder or class; empty where the whole run failed."),
    Field("exception", "string", "The name of the exception's type, for example `ModuleNotFoundError`."),
    Field("message", "string", "What went wrong, on one line."),
    Field("folder", "DocumentUri", "The workspace folder."),
    Field(
        "uri, range",
        "DocumentUri | null, Range | null",
        "Where the error is: the innermost place in the workspace, as it is in the document now. Both are null where it"
        " is elsewhere; the range is null where the line was edited since.",
    ),
    Field("file", "string", "Relative to the workspace folder, with forward slashes; empty where it is elsewhere."),
    Field("line", "number", "As it is now, counted from 1; if it was edited since, as it was run; 0 without a file."),
    Field("test", "DocumentUri | null", "The file or folder that could not be collected, if it is in the workspace."),
)

TECHNIQUE = (
    Field("name", "string", "Its name for `selectTechnique` and for the setting, or for `comparePassing`."),
    Field("title", "string", "As the literature writes it."),
    Field("paper", "string", "Who published it."),
    Field("description", "string", "When to use it, and its formula."),
    Field("clones", "boolean", "Whether it can clone failing tests, as formulas can."),
)

JUMP = (
    Field("origin", "CodeLocation", "Where the reader is."),
    Field("moves", "Move[]", "Where to look next, most likely first."),
    Field("chosen", "Location | null", "Where the reader went."),
)

CODE_LOCATION = (
    Field("uri, range", "DocumentUri, Range", "Where it is in the document as it is now."),
    Field("file", "string", "Relative to the workspace folder, with forward slashes."),
    Field("line", "number", "As it is now, counted from 1."),
    Field("function", "string", "Qualified name of the enclosing function, empty at module level."),
    Field("source", "string", "The first line of the statement, without indentation."),
    Field("rankBest, rankWorst", "number | null", "The first and the last rank of its tie; null if it is not ranked."),
    Field("steps", "number | null", "Expected steps from the top of the ranking, as in `Suspect`."),
)

MOVE = (
    Field(
        "probability",
        "number",
        "Of this move. The probabilities of all moves add up to 1, but moves to lines that were edited since the run"
        " are left out.",
    ),
    Field(
        "reasons",
        "string[]",
        'Why the reader may go there, the most specific reason first: "runs just before", "runs just after", "calls'
        ' this", "called from here", "same function", "next in the ranking", "same place in the ranking", "higher in'
        ' the ranking".',
    ),
)

LEARNED = (
    Field("consent", "boolean", "The setting `learnJumps`: whether moves are counted and used."),
    Field("jumps", "number", "Moves to a neighbour of the line the reader was on."),
    Field("returns", "number", "Moves back to the ranking from a line that has neighbours."),
    Field("pJump", "number", "The estimate: the mean of the Beta distribution after these moves."),
    Field("low, high", "number", "The 95 % credible interval."),
    Field("file", "string", "Where the counts are kept."),
)

STEP = (
    Field("uri, range", "DocumentUri, Range", "Where it is in the document as it is now."),
    Field("file", "string", "Relative to the workspace folder, with forward slashes."),
    Field("line", "number", "As it is now, counted from 1."),
    Field("source", "string", "The first line of the statement, without indentation."),
    Field("value", "string", "The value, or how the decision came out; in short."),
    Field("instance", "number", "Which time the statement was executed, from 1; 0 while its module was imported."),
    Field("why", "string", "In a slice, how it is related to the step above, in two or three words."),
    Field(
        "steps",
        "Step[]",
        "In a slice, what follows: each step is at one place of the tree, as near to the root as it is.",
    ),
    Field("more", "number", "How many steps below it are elsewhere in the tree, or left out."),
)

SLICE_RESULT = (
    Field("heading", "string", "What the slice is of."),
    Field("test", "string", "Whose run was traced."),
    Field("size", "number", "How many values and decisions are in the slice."),
    Field("steps", "Step[]", "The roots of the tree, which has 200 steps at most."),
    Field("files", "{uri: DocumentUri, lines: number[]}[]", "All lines of the slice, counted from 0."),
    Field("leftOut", "string[]", "What could not be traced, in sentences."),
    Field(
        "svg",
        "string",
        "A picture of the nearest steps, self-contained: no scripts, links or requests. Names in it are escaped.",
    ),
)

CAUSES_RESULT = (
    Field("folder", "DocumentUri", "The workspace folder."),
    Field("test", "string", "The test whose failure it is about."),
    Field("searching", "boolean", "Whether the search still runs."),
    Field("found", "string", "Where the search goes on after its last step."),
    Field("roots", "Step[]", "The states that are probably the cause. Their `steps` are empty."),
    Field("chain", "Step[]", "How the first of them leads to the failure, one after the other."),
    Field("transitive", "Step[]", "Other states that are wrong because of a root."),
    Field("around", "Step[]", "States of the statements nearest to the roots."),
    Field("alterations", "number", "How many altered runs there were."),
    Field("complete", "boolean", "Whether the search came to its end."),
    Field("seconds", "number", "How long it took."),
    Field("problems", "string[]", "What kept the test from being run or altered."),
)

COMPARED_RUNS = (
    Field("folder", "DocumentUri", "The workspace folder."),
    Field("test", "string", "The failing test."),
    Field("technique", "string", "How the run that passes was searched for."),
    Field("passing", "string | null", "The passing test that goes nearly the same way, or the input that passes."),
    Field("found", "string", "How long it goes the same way, as a sentence."),
    Field(
        "report",
        "Step[]",
        "The decisions that came out differently, or else the call at which the runs part, in the order of the failing"
        " run. `value` says how it came out in both.",
    ),
    Field(
        "chain",
        "Step[]",
        "Of cause transitions what makes the difference, from the first cause to the failure. `value` is such as"
        " `base` is 502, not 500; `why` is `before` for the first cause, and `since`.",
    ),
    Field("after", "Step[]", "The lines at which the failing and the passing test go on, if both do."),
    Field("notes", "string[]", "What else is known, in sentences: which tests take the very same path."),
    Field("candidates", "number", "How many runs were compared or tried."),
    Field("complete", "boolean", "Whether there was time for all."),
    Field("seconds", "number", "How long it took."),
    Field("problems", "string[]", "What kept tests from being run or compared."),
)

RUN_TEXTS = (
    Field("heading", "string", "Both tests, and the first decision that came out differently."),
    Field(
        "failing, passing",
        "{title, text}",
        "A name for each run, and the lines that it executes, in order: each with its place as a comment, indented by"
        " its calls. Lines of tests are left out, and of a long run there are the first 20,000.",
    ),
    Field("line", "number", "The first line of both texts that is not the same, counted from 0."),
)

DEBUG_LAUNCH = (
    Field("folder", "DocumentUri", "The workspace folder."),
    Field("test", "string", "The failing test that is run."),
    Field("root", "string", "The path of the workspace folder, in which it is run."),
    Field(
        "python",
        "string | null",
        "The interpreter that runs the tests; null if the setting `testCommand` starts it in a way of its own, so that"
        " the client chooses one.",
    ),
    Field("module", '"pytest" | "unittest"', "What the interpreter runs by `-m`."),
    Field(
        "arguments",
        "string[]",
        "Of the module: options of the setting `testCommand`, what undoes options with which no debugger stops"
        " (`--no-cov`, `-n0`), and the test.",
    ),
    Field("commandLine", "string", "The same for debugpy, which waits at port 5678; for people."),
    Field("stops", "Location[]", "Where to stop, in the documents as they are now."),
)

EXPLANATION_RESULT = (
    Field("location", "CodeLocation", "Which statement."),
    Field("technique", "string", "The technique's title."),
    Field("score", "number", "As in `Suspect`."),
    Field("ef, ep, nf, np", "number", "As in `Suspect`."),
    Field("headline", "string", "One line: rank, score, technique."),
    Field("group", "string", "The heading of its failure group; empty where there is one group."),
    Field("sentences", "string[]", "The reasons, most important first."),
    Field("formula, substituted", "string", "The formula as published, and with this statement's numbers in it."),
    Field(
        "failing, passing", "Test[]", "Tests that execute it, at most `limit` of each; `ef` and `ep` count them all."
    ),
    Field(
        "onlyRead",
        "boolean",
        "Whether it runs once for all tests, and failing ones at most read what it defines: its tests are those.",
    ),
    Field("examined, innocent", "boolean", "As in `Suspect`."),
)

TEST = (
    Field("name", "string", "The test's full id, for pytest its node id."),
    Field("verdict", '"passed" | "failed" | "error" | "skipped" | "xfailed" | "xpassed"', "How it ended."),
    Field("message", "string", "The first line of the failure, empty for a test that passed."),
    Field(
        "calls",
        "string[]",
        "The calls in measured code that were active when it failed, the innermost first, each as"
        " `file:line in function`. Lines are those of the file as it was run.",
    ),
    Field("seconds", "number", "How long it took."),
    Field("uri", "DocumentUri | null", "Where it is defined, if that is known and in the workspace folder."),
    Field("line", "number | null", "As it was run, counted from 1."),
)

TEST_RESULTS_RESULT = (
    Field("folder", "DocumentUri", "The workspace folder."),
    Field("tests", "Test[]", "All tests of its last run."),
    Field(
        "files",
        "{uri, statements, executed, tests}[]",
        "Its measured files, except test code: how many statements there are, how many of them were executed, and the"
        " indices in `tests` of the tests that executed any.",
    ),
)

COMMAND_LINE_RESULT = (
    Field(
        "commandLine", "string", "Quoted for a shell. It names the program by its path, so it need not be on `PATH`."
    ),
    Field(
        "environment",
        "Record<string, string>",
        "Variables with which every pytest that runs in the folder is recorded, for an editor's terminals."
        " `PYTHONPATH` is to be put before the value that is there.",
    ),
)

AGENT_ANSWER_RESULT = (
    Field("text", "string", "JSON as `suspectra mcp` answers it. Texts of the project are data, and marked as such."),
)

COVERAGE_RESULT = (
    Field("line, endLine", "number", "A statement, as it is now, counted from 1."),
    Field("tests", "number", "How many tests executed it; at least 1 if it ran outside any test."),
)
