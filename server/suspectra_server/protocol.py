"""What the server adds to LSP: its commands, requests and notifications, declared once.

The server registers them from these declarations; the page of the protocol, and the constants and commands of the VS
Code extension, are generated from them. `messages.py` has the types of what they carry.
"""

from __future__ import annotations

from dataclasses import dataclass

STATUS = "suspectra/status"
ANSWER_SO_FAR = "suspectra/answerSoFar"
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


@dataclass(frozen=True)
class Argument:
    """One argument of a command, or one field of a request's params."""

    name: str  # followed by ? where it can be left out
    type: str  # as TypeScript writes it
    text: str


@dataclass(frozen=True)
class RequestDeclaration:
    """A request of the client."""

    method: str
    params: tuple[Argument, ...]  # the fields of an object
    result: str  # its type, as TypeScript writes it: messages are named as in `suspectra_server.messages`
    text: str  # what it asks for, in Markdown


@dataclass(frozen=True)
class NotificationDeclaration:
    """A notification of the server."""

    method: str
    params: str  # their type
    text: str  # when it is sent, in Markdown


@dataclass(frozen=True)
class CommandDeclaration:
    """A command for ``workspace/executeCommand``, and how VS Code shows its own command for the same."""

    name: str
    title: str
    arguments: tuple[Argument, ...]
    result: str  # its type, as that of a request
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


_CURSOR = Argument("cursor?", "{uri, position}", "Where the reader is. If that is a suspect, the step starts from it.")
_URI = Argument("uri", "string", "The document.")
_LINE = Argument("line", "number", "A line of the document as it is in the editor, counted from 0.")
_SCOPE = Argument(
    "scope?",
    '"line" | "function"',
    "The statement (the default), or its whole function: at module level, all statements of the file outside of"
    " functions.",
)
_TEST = Argument(
    "test?",
    "string",
    "A failing test, by its name; by default the one that the line is in, or else the first that executes the line.",
)
_SHOWN = Argument(
    "options?",
    "{show?: boolean}",
    "`show`: whether the server shows the answer as `window/showMessage`, too. The default is true, but false for a"
    " client that supports `suspectra/status`, which has its own view.",
)
_FOLDER = Argument("folder?", "DocumentUri", "The workspace folder; by default the first with failure groups.")
_GROUP = Argument("group?", "number", "The number of a failure group.")
_FAILING_TEST = (
    Argument("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
    Argument(
        "test?",
        "string",
        "A failing test, by its name in `suspectra/testResults`; by default the one at the cursor, or else the"
        " first of the current failure group.",
    ),
    Argument("cursor?", "{uri, position}", "Where the reader is: its folder, and its failing test if it is in one."),
)
_FAILING_TESTS = (
    Argument("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
    Argument(
        "tests?",
        "string[]",
        "Failing tests, by their names in `suspectra/testResults`; by default the one at the cursor, or else"
        " those of the current failure group.",
    ),
    Argument("cursor?", "{uri, position}", "Where the reader is: its folder, and its failing test if it is in one."),
)
_STEP = "Location | null"
_REPEATS = "isWorkspaceTrusted && !suspectra.compiled"  # for what runs tests of Python again
_COMPARES = "isWorkspaceTrusted && !suspectra.onlyRead"  # for what works for tests of CTest, too

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
        (Argument("uri?", "string", "The document."), Argument("line?", "number", _LINE.text)),
        "Explained | null",
        "Why a line has its rank. Without arguments: the suspect visited last, or the first. A client that"
        " does not support `suspectra/status` also gets the text as `window/showMessage`.",
        icon="question",
    ),
    CommandDeclaration(
        "whyNot",
        "Why Not This Line?",
        (_URI, _LINE),
        "Answer | null",
        "Why a line ranks lower than the first suspect, and which tests execute one of the two and not the other. For a"
        " line that no failing test executes: how close failing tests come. Null if nothing is measured on the line. A"
        " client that does not support `suspectra/status` also gets the text as `window/showMessage`.",
        icon="question",
    ),
    CommandDeclaration(
        "tellApart",
        "What Would Tell These Apart?",
        (Argument("uri?", "string", "The document."), Argument("line?", "number", _LINE.text)),
        "Answer | null",
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
        "boolean",
        "Show all suspects again that were marked as examined or innocent. True if there were any.",
    ),
    CommandDeclaration(
        "jump",
        "Jump…",
        (
            Argument(
                "cursor?",
                "{uri, position}",
                "Where the reader is, on any measured statement; by default the statement visited last, or the first"
                " suspect.",
            ),
            Argument(
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
            Argument(
                "name?", "string", "A technique's name. Without one the server asks (`window/showMessageRequest`)."
            ),
            Argument(
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
        (_FOLDER, Argument("groups?", "number[]", "The numbers of the groups to merge.")),
        "boolean",
        "Decide that the failing tests of some groups share a fault. Without arguments the server asks which group to"
        " merge with the current one. This holds for later runs, until `resetGroups`.",
        icon="combine",
        enablement="suspectra.hasGroups",
    ),
    CommandDeclaration(
        "splitGroup",
        "Split Failure Group…",
        (_FOLDER, _GROUP, Argument("tests?", "string[]", "The names of the tests that leave the group.")),
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
            Argument("folders?", "DocumentUri[]", "The workspace folders whose tests to run; all of them by default."),
            Argument(
                "tests?",
                "{[folder: DocumentUri]: string[]}",
                "The tests to run in each folder, by their names in `suspectra/testResults`; by default all its tests.",
            ),
            Argument("others?", "boolean", "Whether pytest runs tests although others can't be collected."),
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
        "why",
        "Why Does It Fail?",
        (
            Argument("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
            Argument("tests?", "string[]", "Failing tests, as for `suspectra.server.investigate`."),
            Argument(
                "cursor?", "{uri, position}", "Where the reader is: its folder, and its failing test if it is in one."
            ),
            Argument(
                "options?",
                "{show?: boolean, soFar?: boolean}",
                f"{_SHOWN.text} `soFar`: whether it sends `{ANSWER_SO_FAR}` meanwhile. The default is false, but true"
                " for a client that supports `suspectra/status`.",
            ),
        ),
        "Answer | null",
        "Say why failing tests fail, in one answer of at most fifteen lines, the conclusion first: which of the changes"
        " broke them, or what is wrong and what would make them pass, how that leads to the failure, and how sure it"
        " is. Cheap steps come first, and a dear one only while the answer is not sure. Each step is in the progress"
        " bar, the log and `suspectra/status`; the answer comes when the search has ended, and to cancel it keeps what"
        " is known. Consent and trust are those of `suspectra.server.investigate`; null if the user declines."
        " Tests of CTest run without a question: changes are taken back in a copy, and nothing else is altered.",
        icon="question",
        enablement=_COMPARES,
    ),
    CommandDeclaration(
        "investigate",
        "Find Out What Would Make It Pass",
        _FAILING_TESTS,
        "boolean",
        "Run failing tests again and again, each time with one thing altered: a condition that comes out the other way,"
        " another value, another operator. What makes a test pass is shown on its line as soon as it is found. The"
        " progress bar can cancel it, which keeps what was found; at the end the outcome comes as `window/showMessage`."
        " Before the first time in a workspace the user is asked (`window/showMessageRequest`), since altered runs"
        " execute tests with wrong values and skipped checks. True once it has started, false if the user declines."
        " Of tests of CTest, decisions are all that is altered. Refused in a workspace that the client does not trust,"
        " and while tests run.",
        icon="lightbulb-sparkle",
        enablement=_COMPARES,
    ),
    CommandDeclaration(
        "testSuspect",
        "Test This Suspect",
        (_URI, _LINE),
        "boolean",
        "The same, but only the statement on this line is altered, with the failing tests that execute it.",
        icon="beaker-stop",
        enablement=_COMPARES,
    ),
    CommandDeclaration(
        "compareValues",
        "Compare Values With Passing Tests",
        (
            Argument("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
            Argument("tests?", "string[]", "Failing tests, as for `suspectra.server.investigate`."),
            Argument(
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
        enablement=_COMPARES,
    ),
    CommandDeclaration(
        "findFix",
        "Find a Fix",
        (
            *_FAILING_TESTS,
            Argument("choosing?", "boolean", "Whether the client lets the user choose, and applies that."),
        ),
        "number | FoundChange[]",
        "Search changes of the source with which failing tests pass, and all passing tests that execute them still do."
        " When the search has ended, the changes are shown one after the other, the likeliest first, by"
        " `window/showMessageRequest`; what the user chooses is sent by `workspace/applyEdit`, with an annotation that"
        " needs confirmation, so that the client shows it first. A client without such annotations applies it when the"
        " user says *Apply*. Progress, cancelling, consent and trust are those of `suspectra.server.investigate`. The"
        " answer is how many changes were found, 0 if the user declines; with `choosing` it is the changes themselves,"
        " the likeliest first.",
        icon="lightbulb-autofix",
        enablement=_REPEATS,
    ),
    CommandDeclaration(
        "findChange",
        "Which Change Broke It?",
        (
            Argument("folder?", "DocumentUri", "The workspace folder; by default the first with failing tests."),
            Argument("tests?", "string[]", "Failing tests, as for `suspectra.server.investigate`."),
            Argument(
                "cursor?", "{uri, position}", "Where the reader is: its folder, and its failing test if it is in one."
            ),
        ),
        "boolean",
        "Find which change broke failing tests: they run in a temporary copy with only some of the changes since they"
        " passed, or since a commit. What is found comes first in the ranking as long as the sources are unchanged,"
        " and its lines have code actions that undo and show it. Progress, cancelling and the final message are those"
        " of `suspectra.server.investigate`. True once it has started; nobody is asked. Refused in a workspace that the"
        " client does not trust, and while tests run.",
        icon="git-compare",
        enablement=_REPEATS,
    ),
    CommandDeclaration(
        "showDifference",
        "Show Difference",
        (_URI, _LINE),
        "RunTexts",
        "A file as it is and without the change on this line that broke tests, as two texts for a side-by-side view."
        " Refused where no such change is known.",
        icon="diff",
    ),
    CommandDeclaration(
        "undoChange",
        "Undo This Change",
        (_URI, _LINE),
        "boolean",
        "Take back the change on this line that broke tests, by `workspace/applyEdit`, which a client that can lets the"
        " user confirm. True if that was done. Refused where no such change is known.",
        icon="discard",
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
        " is known. A client that does not support `suspectra/status` gets the outcome as `window/showMessage`, too."
        " Consent and trust are those of `suspectra.server.investigate`; null if the user declines.",
        icon="search-fuzzy",
        enablement=_REPEATS,
    ),
    CommandDeclaration(
        "stateIsRight",
        "This Value Is Right: Search On",
        (_URI, _LINE),
        "Causes | null",
        "Tell the last search for a cause that what it has on this line was right, and search again: what only leads"
        " there is left out. All that was told before still counts, until `suspectra.server.findCause` begins anew."
        " Otherwise as that command; null also where the last search has nothing on the line.",
        icon="pass",
        enablement="isWorkspaceTrusted && suspectra.hasCauses",
    ),
    CommandDeclaration(
        "stateIsWrong",
        "This Value Is Wrong: Search Before It",
        (_URI, _LINE),
        "Causes | null",
        "The same for a value, or a decision, that was wrong: the search goes on before it.",
        icon="error",
        enablement="isWorkspaceTrusted && suspectra.hasCauses",
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
        (_URI, _LINE, _TEST, _SHOWN),
        "SliceMessage",
        "Which values and decisions led to those on a line, in one run of a failing test: its backward slice. On the"
        " line where the test fails, and elsewhere in the test, it is the slice of the failure. The test is run once"
        " more, traced, with nothing altered; the trace is kept for the next questions. A message has only the nearest"
        " steps. Refused in a workspace that the client does not trust.",
        icon="type-hierarchy-sub",
        enablement=_REPEATS,
    ),
    CommandDeclaration(
        "whatThisInfluenced",
        "What This Influenced",
        (_URI, _LINE, _TEST, _SHOWN),
        "SliceMessage",
        "The other direction: which values and decisions depend on those of a line.",
        icon="type-hierarchy-super",
        enablement=_REPEATS,
    ),
    CommandDeclaration(
        "showValues",
        "Show Values of the Failing Run",
        _FAILING_TEST,
        "RunValues | null",
        "Show the values of one run of a failing test at the ends of its lines, as inlay hints; the same command hides"
        " them again, and then it returns null. The test is run once more, traced, with nothing altered; the trace is"
        " the one of `whatLedHere`. The values stay until the sources change. Refused in a workspace that the client"
        " does not trust.",
        icon="symbol-variable",
        enablement=_REPEATS,
    ),
    CommandDeclaration(
        "comparePassing",
        "Compare With a Passing Run",
        (
            *_FAILING_TEST,
            Argument("technique?", "string", "`nearest-path` by default, or another one of `suspectra/techniques`."),
        ),
        "ComparedRuns | null",
        "Find the passing test whose decisions and calls are nearest to those of a failing one, and where the two part."
        " The tests run again, with nothing altered. With another technique they run altered, so the user is asked"
        " first; null if they must not. Where no test knows whether an outcome is right, the user is asked"
        " (`window/showMessageRequest`: Right, Wrong, or closed for don't know)."
        " The first decision that came out differently gets a diagnostic"
        " with the code `nearest-path`, whose related information names both tests and where each goes on; it stays"
        " until `clearComparison`, or until the sources change. Also asks the client to show that line"
        " (`window/showDocument`) where it can. Where even the nearest passing test shares less than half of the"
        " decisions and calls, it says so, and shows no line. What was found comes as `window/showMessage`. Refused in"
        " a workspace that the client does not trust, and while tests run. For tests of CTest the project is built a"
        " second time, in the user's cache; they have the techniques `nearest-path` and `apg`.",
        icon="diff-multiple",
        enablement=_COMPARES,
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
        enablement=_REPEATS,
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
        enablement=_REPEATS,
    ),
    CommandDeclaration(
        "debugTest",
        "Debug Failing Test",
        _FAILING_TEST,
        "DebugLaunch",
        "The same for a failing test: it stops on the most suspicious line that the test executes, or else where the"
        " test failed.",
        icon="debug-alt",
        enablement=_REPEATS,
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
        "Stop what `suspectra.server.investigate`, `testSuspect`, `compareValues`, `findFix`, `findChange`,"
        " `findCause`, `whatLedHere`, `whatThisInfluenced`, `comparePassing` or `compareRuns` started; what was found"
        " is kept. True if there was something to stop.",
        icon="stop-circle",
        enablement="suspectra.investigating",
    ),
)

COMMAND_IDS = {command.name: command.id for command in COMMANDS}

_LIMIT = "How many at most."

REQUESTS = (
    RequestDeclaration(
        SUSPECTS,
        (Argument("limit?", "number", _LIMIT),),
        "Suspects",
        "The suspects at their current places in the documents; a suspect whose lines were edited since the run is left"
        " out.",
    ),
    RequestDeclaration(
        GROUP,
        (
            Argument("folder", "DocumentUri", "The workspace folder."),
            Argument("id", "number", "The number of the group."),
            Argument("limit?", "number", _LIMIT),
        ),
        "GroupSuspects | null",
        "The suspects of a failure group, whether it is the current one or not; null if there is no group with that"
        " number.",
    ),
    RequestDeclaration(
        CAUSES,
        (),
        "Causes | null",
        "What the last search for the cause of a failure has found by now, which is also the answer of"
        " `suspectra.server.findCause`; null if there was none, or if the sources changed since. While there is a"
        " chain, `textDocument/inlayHint` has its values.",
    ),
    RequestDeclaration(
        COMPARISON,
        (),
        "ComparedRuns | null",
        "What the last `suspectra.server.comparePassing` has found; null if there was none, if it was cleared, or if"
        " the sources changed since.",
    ),
    RequestDeclaration(
        EXPLANATION,
        (
            Argument("uri", "DocumentUri", _URI.text),
            Argument("line", "number", _LINE.text),
            Argument("limit?", "number", "How many failing and how many passing tests it names; 100 by default."),
        ),
        "ExplanationMessage | null",
        "Why a line has its rank, in parts for a view; null on a line that no failing test executes.",
    ),
    RequestDeclaration(
        TEST_RESULTS,
        (),
        "TestResults[]",
        "The last run of each workspace folder that has one, one item for each.",
    ),
    RequestDeclaration(
        COVERAGE,
        (
            Argument("uri", "DocumentUri", _URI.text),
            Argument("test?", "string", "A test, by its name; by default all."),
        ),
        "Coverage[]",
        "What tests executed in a file. One item for each statement; statements that were edited since the run are left"
        " out.",
    ),
    RequestDeclaration(
        COMMAND_LINE,
        (
            Argument("folder?", "DocumentUri", "By default the first workspace folder."),
            Argument("install?", "string", "A package that it is to install where the tests run."),
            Argument("build?", "boolean", "Whether it is to configure and build a C or C++ project with coverage."),
        ),
        "CommandLine | null",
        "The command line that records the tests of a folder in a terminal in that folder, just as"
        " `suspectra.server.runTests` does, the one that makes its build folder, or that"
        " installs a package; null without a folder.",
    ),
    RequestDeclaration(
        AGENT_ANSWER,
        (
            Argument("tool", "string", "A tool of `suspectra mcp`, by its name."),
            Argument("arguments?", "object", "The arguments of the tool."),
            Argument("folder?", "DocumentUri", "By default the first workspace folder."),
        ),
        "AgentAnswer",
        "What a [coding agent](../guide/agents.md) asks through its editor: a tool of `suspectra mcp`, with the same"
        " arguments and the same answer. It is answered from the ranking that the editor shows, as soon as no ranking"
        " is being made. `run_tests`, `investigate` and `causes` answer when they have ended, need the trust and the"
        " consent that the commands of the user need, and are cancelled by cancelling the request. What can't be"
        " answered is an error with a text for the agent.",
    ),
    RequestDeclaration(
        TECHNIQUES,
        (Argument("for?", f'"{RANKING}" | "{PATHS}"', "What they are for; by default to rank."),),
        "TechniqueMessage[]",
        "The techniques that rank suspects, or those of `suspectra.server.comparePassing`, in the order in which to"
        " list them.",
    ),
)

NOTIFICATIONS = (
    NotificationDeclaration(
        STATUS,
        "Status",
        'Sent only to a client that has `"experimental": {"suspectra": {"status": true}}` in its capabilities, whenever'
        " the state or the suspects change.",
    ),
    NotificationDeclaration(
        ANSWER_SO_FAR,
        "AnswerSoFar",
        "Sent while `suspectra.server.why` runs with the option `soFar`: at once what is known by the ranking, and"
        " again whenever more is known or something else is done.",
    ),
)
