/** The messages between server and extension beyond LSP. Written by docs/generate.py from the server's declarations. */

import type { Location, Range, WorkspaceEdit } from 'vscode-languageclient';

/** The URI of a document or a folder, as in LSP. */
export type DocumentUri = string;

/** How far up a suspect is: with an average rank up to 5, up to 10, beyond. */
export type SuspicionLevel = 'high' | 'medium' | 'low';

/** How a test ended. */
export type TestVerdict = 'passed' | 'failed' | 'error' | 'skipped' | 'xfailed' | 'xpassed';

/** What the server is doing, or why there is nothing to show. */
export type FolderState = 'noEvidence' | 'ranking' | 'ready' | 'noFailingTests' | 'error' | 'runningTests' | 'stale';

/** How far a test run is. */
export interface Progress {
  /** How many tests ended. */
  done: number;
  /** How many of these failed. */
  failed: number;
  /** How many there are; 0 while that is not known. */
  total: number;
  /** Whether a save started the run, by the setting `run`. */
  onSave: boolean;
}

/** How far runs with something altered are. */
export interface InvestigationMessage {
  /** How many runs there were. */
  runs: number;
  /** Which test is run. */
  test: string;
  /** How much of the time is gone, from 0 to 1. */
  share: number;
  /** Where the cause of a failure lies, as far as that is known. */
  found: string;
}

/** What is going on, over all folders. */
export interface Status {
  /** The most urgent state of a folder. */
  state: FolderState;
  /** One sentence for people. */
  message: string;
  /** The name of the technique in use. */
  technique: string;
  /** The title of the technique. */
  title: string;
  /** Suspects that can be shown. */
  suspects: number;
  /** Tests that failed. */
  failed: number;
  /** Tests that passed. */
  passed: number;
  /** Whether all recorded tests are compiled programs, of which decisions are all that is altered. */
  compiled: boolean;
  /** Whether they can't be compared with passing runs either, as those of CTest in a build folder of CMake can. */
  onlyRead: boolean;
  /** What could not be collected; `suspectra/suspects` lists it. */
  collectionErrors: number;
  /** While tests run. */
  progress: Progress | null;
  /** While failing tests are run again. */
  investigation: InvestigationMessage | null;
}

/** The numbers of a suspect. */
export interface Figures {
  /** Suspiciousness. JSON has no infinity: an infinite score is the largest double, with its sign. */
  score: number;
  /** The first rank of its tie. */
  rankBest: number;
  /** The mean of the ranks of its tie. */
  rankAverage: number;
  /** The last rank of its tie. */
  rankWorst: number;
  /** Failing tests that execute it. */
  ef: number;
  /** Passing tests that execute it. */
  ep: number;
  /** Failing tests that do not execute it. */
  nf: number;
  /** Passing tests that do not execute it. */
  np: number;
  /** Before how many of the failing tests that execute it failed it changed. */
  changed: number;
  /** How many of those are not known to have passed before: git knows of the change. */
  changedByGit: number;
  /** Its first line as it is now, counted from 1. */
  line: number;
  /** Its last line as it is now, counted from 1. */
  endLine: number;
  /** How far up it is. */
  suspicion: SuspicionLevel;
}

/** The `data` of a diagnostic of a suspect, for other programs. */
export interface DiagnosticData extends Figures {
  /** The name of the technique. */
  technique: string;
  /** Whether failing tests are cloned. */
  cloneFailed: boolean;
}

/** The `data` of a diagnostic of a part of a suspicious behaviour. */
export interface RegionData extends DiagnosticData {
  /** The number of the behaviour. */
  subgraph: number;
  /** Which part it is, counted from 1. */
  part: number;
  /** How many parts there are. */
  parts: number;
}

/** A suspect, in lists of them. */
export interface SuspectMessage extends Figures {
  /** The document that it is in. */
  uri: DocumentUri;
  /** Where it is in the document as it is now. */
  range: Range;
  /** Relative to the workspace folder, with forward slashes. */
  file: string;
  /** Qualified name of the enclosing function, empty at module level. */
  function: string;
  /** Why it ranks before the next ones, in one sentence; empty where the counts of tests say it. */
  reason: string;
  /**
   * What alterations of it make failing tests pass, a sentence each, most tests first; then how values compare there in
   * all failing tests and in no passing one. For what the logs in `.suspectra/experiments` have of these sources.
   */
  findings: string[];
  /** Its first line as it is now, without indentation. */
  source: string;
  /** Whether a failing test failed in it. */
  raised: boolean;
  /** How many failing tests, of `ef + nf`, pass with the best alteration of it. */
  repairs: number;
  /** Suspects of a group with the same number are equal for the tests, even if something else puts them in order. */
  tie: number;
  /** The failing tests that execute it. */
  failingTests: string[];
  /**
   * The rank of its function among those that failing tests execute, the best of a tie. Lists have functions in this
   * order: first the best three suspects of each, and then the others.
   */
  functionRank: number;
  /** The failure group in which it has this rank, where there are several. */
  group: number | null;
  /** Marked as examined, or innocent. */
  examined: boolean;
  /** Marked as innocent. */
  innocent: boolean;
  /**
   * Expected steps of a reader from the top of the ranking. They are for sorting; do not show them beside a rank, where
   * they look like a second score. Null while they are not known, and for infinity.
   */
  steps: number | null;
}

/**
 * What keeps tests from being collected: a module that can't be imported, a class that pytest refuses, a mistake in
 * pytest's configuration or on its command line. The line also has a diagnostic with the severity Error and the code
 * `collection-error`.
 */
export interface CollectionErrorMessage {
  /** Node id of the file, folder or class; empty where the whole run failed. */
  collector: string;
  /** The name of the exception's type, for example `ModuleNotFoundError`. */
  exception: string;
  /** What went wrong, on one line. */
  message: string;
  /** The workspace folder. */
  folder: DocumentUri;
  /** Where the error is: the innermost place in the workspace. Null where it is elsewhere. */
  uri: DocumentUri | null;
  /** Where it is in the document as it is now. Null where it is elsewhere, or the line was edited since. */
  range: Range | null;
  /** Relative to the workspace folder, with forward slashes; empty where it is elsewhere. */
  file: string;
  /** As it is now, counted from 1; if it was edited since, as it was run; 0 without a file. */
  line: number;
  /** The file or folder that could not be collected, if it is in the workspace. */
  test: DocumentUri | null;
  /** The module that is not installed; empty for other errors. */
  missing: string;
  /**
   * What is to be installed, as pip names it, for an option of pytest, or a module of another name; empty if that is
   * not known.
   */
  missingPackage: string;
  /**
   * The environment that the tests ran in: its path, relative to the workspace folder if it is inside; empty if that is
   * not known.
   */
  environment: string;
}

/** What is wrong with the evidence, and how to fix it. */
export interface ProblemMessage {
  /** The file that it is about; empty where it is about none. */
  file: string;
  /** Where in that file. */
  place: string;
  /** What is wrong. */
  cause: string;
  /** What to do about it. */
  cure: string;
}

/** A test run that failed to run the tests. */
export interface FailedRun {
  /** The workspace folder. */
  folder: DocumentUri;
  /** Why, in a sentence. */
  message: string;
}

/** Failing tests that probably share a fault. */
export interface GroupOverview {
  /** The workspace folder. */
  folder: DocumentUri;
  /** Its number, which stays the same when tests run again; null for the only one of a folder. */
  id: number | null;
  /** The exception and where it was raised, or the exception and the first suspect; empty for the only one. */
  title: string;
  /** With the number of its tests: "✗ 3 tests: 2 with UnbalancedEntry at journal.py:41". */
  heading: string;
  /** The first of its tests without file and parameters, and how many more there are. */
  names: string;
  /** The exception by which that test failed, with what was expected if that is known. */
  failure: string;
  /** The document of test code in which it failed, if it is known. */
  uri: DocumentUri | null;
  /** The line in which it failed. */
  range: Range | null;
  /** False for C and C++, and where a test has a much better explanation of its own; the heading says "perhaps". */
  sure: boolean;
  /** Its failing tests, without those in `unexplained`. */
  tests: string[];
  /** Those of its tests that executed nothing that can be a suspect. */
  uncovered: string[];
  /** Whether it is the one whose suspects are shown. */
  current: boolean;
}

/**
 * Failing tests that execute none of the listed suspects: look for their cause elsewhere, such as in what they need
 * from outside.
 */
export interface UnexplainedFailures {
  /** The workspace folder. */
  folder: DocumentUri;
  /** The first of them without file and parameters, and how many more there are. */
  names: string;
  /** The exception by which that test failed, with what was expected if that is known. */
  failure: string;
  /** The document of test code in which it failed, if it is known. */
  uri: DocumentUri | null;
  /** The line in which it failed. */
  range: Range | null;
  /** All of them. */
  tests: string[];
}

/** The suspects, and what else there is to say of the last runs. */
export interface Suspects {
  /** The name of the technique in use. */
  technique: string;
  /** The title of the technique. */
  title: string;
  /** Whether failing tests are cloned. */
  cloneFailed: boolean;
  /** The kinds of evidence that the technique had to do without. */
  without: string[];
  /** Tests that passed. */
  passed: number;
  /** Tests that failed. */
  failed: number;
  /** Statements that were ranked. */
  elements: number;
  /** As in `suspectra/status`. */
  state: FolderState;
  /** What is wrong with the evidence. */
  problems: ProblemMessage[];
  /** What kept tests from being collected; 100 at most. */
  collectionErrors: CollectionErrorMessage[];
  /**
   * Test runs that `suspectra.server.runTests` started and that failed to run the tests, unless a collection error says
   * why. They are listed until the next run.
   */
  failedRuns: FailedRun[];
  /**
   * The failing tests of each folder by failure group: first what a change broke, then the largest. Where all of a
   * folder probably share a fault, that is one group, whose `id` is null.
   */
  groups: GroupOverview[];
  /** Those failing tests of each folder that are in no group, as they execute none of the listed suspects. */
  unexplained: UnexplainedFailures[];
  /**
   * Best first, or fewest expected steps first (setting `order`); at most `limit`. In a folder with several failure
   * groups, those of the current one.
   */
  suspects: SuspectMessage[];
}

/** The suspects of a failure group. */
export interface GroupSuspects {
  /** What its tests have in common, in a sentence or two. */
  reason: string;
  /** Best first; at most `limit`. */
  suspects: SuspectMessage[];
}

/** A technique that can be chosen. */
export interface TechniqueMessage {
  /** Its name for `selectTechnique` and for the setting, or for `comparePassing`. */
  name: string;
  /** As the literature writes it. */
  title: string;
  /** Who published it. */
  paper: string;
  /** When to use it, and its formula. */
  description: string;
  /** Whether it can clone failing tests, as formulas can. */
  clones: boolean;
}

/** A statement, where it is now. */
export interface CodeLocation {
  /** The document that it is in. */
  uri: DocumentUri;
  /** Where it is in the document as it is now. */
  range: Range;
  /** Relative to the workspace folder, with forward slashes. */
  file: string;
  /** As it is now, counted from 1. */
  line: number;
  /** Qualified name of the enclosing function, empty at module level. */
  function: string;
  /** The first line of the statement, without indentation. */
  source: string;
  /** The first rank of its tie; null if it is not ranked. */
  rankBest: number | null;
  /** The last rank of its tie; null if it is not ranked. */
  rankWorst: number | null;
  /** Expected steps from the top of the ranking, as in `SuspectMessage`. */
  steps: number | null;
}

/** Where a reader may look next. */
export interface MoveMessage extends CodeLocation {
  /**
   * Of this move. The probabilities of all moves add up to 1, but moves to lines that were edited since the run are
   * left out.
   */
  probability: number;
  /**
   * Why the reader may go there, the most specific reason first: "runs just before", "runs just after", "calls this",
   * "called from here", "same function", "next in the ranking", "same place in the ranking", "higher in the ranking".
   */
  reasons: string[];
}

/** A place in the order that leads to the fault in the fewest steps. */
export interface PlannedPlace extends CodeLocation {
  /** What connects it with the place before, as in `MoveMessage`. */
  reasons: string[];
}

/** The order of places that is expected to lead to the fault in the fewest steps. */
export interface ReadingOrder {
  /** The first of them. */
  places: PlannedPlace[];
  /** How many steps it saves against going down the ranking, as a sentence. */
  saved: string;
}

/** Where to look next. */
export interface Jump {
  /** Where the reader is. */
  origin: CodeLocation | null;
  /** Where to look next, most likely first. */
  moves: MoveMessage[];
  /** Where to look next so that the fault is found soon; null if there is no debugging model. */
  plan: ReadingOrder | null;
  /** Where the reader went. */
  chosen: Location | null;
}

/** Why a line has its rank, as one text. */
export interface Explained {
  /** The text, in Markdown. */
  markdown: string;
  /** The line. */
  location: Location;
}

/** What sets a line apart from others. */
export interface Answer {
  /** All of it, in Markdown. */
  markdown: string;
  /** What it is about. */
  headline: string;
  /** The answer, most important first. */
  sentences: string[];
  /** The statement that it is about. */
  location: Location | null;
  /** Your change that it names and that `undoChange` takes back. */
  change: Location | null;
  /** The change with which the tests pass, if it names one; clients show it before they apply it. */
  fix: WorkspaceEdit | null;
}

/** What is known of an answer while it is looked for. */
export interface AnswerSoFar {
  /** The command that will answer. */
  command: string;
  /** What is known by now: without how sure that is, and without what can be done, since more may be found out. */
  answer: Answer;
  /** What the server does now, in words, without a full stop. */
  doing: string;
}

/** What was learned from the reader's moves. */
export interface Learned {
  /** The setting `learnJumps`: whether moves are counted and used. */
  consent: boolean;
  /** Moves to a neighbour of the line the reader was on. */
  jumps: number;
  /** Moves back to the ranking from a line that has neighbours. */
  returns: number;
  /** The estimate: the mean of the Beta distribution after these moves. */
  pJump: number;
  /** The lower end of the 95 % credible interval. */
  low: number;
  /** The upper end of the 95 % credible interval. */
  high: number;
  /** Where the counts are kept. */
  file: string;
}

/** A value or a decision of a run. */
export interface Step {
  /** The document that it is in. */
  uri: DocumentUri;
  /** Where it is in the document as it is now. */
  range: Range;
  /** Relative to the workspace folder, with forward slashes. */
  file: string;
  /** As it is now, counted from 1. */
  line: number;
  /** The first line of the statement, without indentation. */
  source: string;
  /** The value, or how the decision came out; in short. */
  value: string;
  /** Which time the statement was executed, from 1; 0 while its module was imported. */
  instance: number;
  /** In a slice, how many rounds of a loop the step stands for: it is the nearest of them, with the values of all. */
  rounds: number;
  /** In a slice, how it is related to the step above, in two or three words. */
  why: string;
  /** In a slice, what follows: each step is at one place of the tree, as near to the root as it is. */
  steps: Step[];
  /** How many steps below it are elsewhere in the tree, or left out. */
  more: number;
}

/** The lines of a file that are in a slice. */
export interface SlicedFile {
  /** The document. */
  uri: DocumentUri;
  /** Counted from 0. */
  lines: number[];
}

/**
 * What led to a line or a failure, or what a line influenced. The picture takes its colours from `--slice-ink`,
 * `--slice-soft`, `--slice-paper`, `--slice-line`, `--slice-accent` and `--slice-failure`.
 */
export interface SliceMessage {
  /** What the slice is of. */
  heading: string;
  /** Whose run was traced. */
  test: string;
  /** How many values and decisions are in the slice. */
  size: number;
  /** The roots of the tree, which has 200 steps at most. */
  steps: Step[];
  /** All lines of the slice. */
  files: SlicedFile[];
  /** What could not be traced, in sentences. */
  leftOut: string[];
  /** A picture of the nearest steps, self-contained: no scripts, links or requests. Names in it are escaped. */
  svg: string;
}

/** The lines of a file that one run of a failing test executes. */
export interface RunLines {
  /** The document. */
  uri: DocumentUri;
  /** Lines of the document as it is now, counted from 0. */
  executed: number[];
  /** Those in which the test failed. */
  failed: number[];
}

/** What one run of a failing test executes. Its values are in the inlay hints. */
export interface RunValues {
  /** The failing test. */
  test: string;
  /** The files that it executes. */
  files: RunLines[];
  /** What could not be traced, in sentences. */
  leftOut: string[];
}

/** What a search for the cause of a failure has found. */
export interface Causes {
  /** The workspace folder. */
  folder: DocumentUri;
  /** The test whose failure it is about. */
  test: string;
  /** Whether the search still runs. */
  searching: boolean;
  /** Where the search goes on after its last step. */
  found: string;
  /** The states that are probably the cause. Their `steps` are empty. */
  roots: Step[];
  /** How the first of them leads to the failure, one after the other. */
  chain: Step[];
  /** Other states that are wrong because of a root. */
  transitive: Step[];
  /** States of the statements nearest to the roots. */
  around: Step[];
  /** How many altered runs there were. */
  alterations: number;
  /** Whether the search came to its end. */
  complete: boolean;
  /** How long it took. */
  seconds: number;
  /** What kept the test from being run or altered. */
  problems: string[];
}

/** How a failing test and a run that passes differ. */
export interface ComparedRuns {
  /** The workspace folder. */
  folder: DocumentUri;
  /** The failing test. */
  test: string;
  /** How the run that passes was searched for. */
  technique: string;
  /** Whether the run that passes does nearly the same. If not, even the nearest one tells little: no line is shown. */
  similar: boolean;
  /** The passing test that goes nearly the same way, or the input that passes. */
  passing: string | null;
  /** How long it goes the same way, as a sentence. */
  found: string;
  /**
   * The decisions that came out differently, or else the call at which the runs part, in the order of the failing run.
   * `value` says how it came out in both.
   */
  report: Step[];
  /**
   * Of cause transitions what makes the difference, from the first cause to the failure. `value` is such as `base` is
   * 502, not 500; `why` is `before` for the first cause, and `since`.
   */
  chain: Step[];
  /** The lines at which the failing and the passing test go on, if both do. */
  after: Step[];
  /** What else is known, in sentences: which tests take the very same path. */
  notes: string[];
  /** How many runs were compared or tried. */
  candidates: number;
  /** Whether there was time for all. */
  complete: boolean;
  /** How long it took. */
  seconds: number;
  /** What kept tests from being run or compared. */
  problems: string[];
}

/** One side of a side-by-side view. */
export interface RunText {
  /** A name for the text. */
  title: string;
  /**
   * A file; or the lines that a test executes, in order, each with its place as a comment, indented by its calls. Lines
   * of tests are left out then, and of a long run there are the first 20,000.
   */
  text: string;
}

/**
 * Two texts for a side-by-side view: what a failing test and a passing one execute, or a file with a change that broke
 * tests and without it.
 */
export interface RunTexts {
  /** Both tests, and the first decision that came out differently; or the file, and which tests passed. */
  heading: string;
  /** The run that fails, or the file as it is. */
  failing: RunText;
  /** The run that passes, or the file without the change. */
  passing: RunText;
  /** The first line of both texts that is not the same, counted from 0. */
  line: number;
}

/** A change of the source with which failing tests pass. */
export interface FoundChange {
  /** What it replaces by what, in one line. */
  title: string;
  /** The file and the line, as text. */
  place: string;
  /** What is known of it, as the end of a sentence that begins with the place. */
  said: string;
  /** A call that gives another result with another change, in a sentence; empty where none is known. */
  apart: string;
  /** It as an edit, to be shown before it is applied. */
  edit: WorkspaceEdit;
  /** An edit that writes a test which this change passes and another one does not; null where there is none. */
  test: WorkspaceEdit | null;
}

/** How to debug a failing test. */
export interface DebugLaunch {
  /** The workspace folder. */
  folder: DocumentUri;
  /** The failing test that is run. */
  test: string;
  /** The path of the workspace folder, in which it is run. */
  root: string;
  /**
   * The interpreter that runs the tests; null if the setting `testCommand` starts it in a way of its own, so that the
   * client chooses one.
   */
  python: string | null;
  /** What the interpreter runs by `-m`: `pytest` or `unittest`. */
  module: string;
  /**
   * Of the module: options of the setting `testCommand`, what undoes options with which no debugger stops (`--no-cov`,
   * `-n0`), and the test.
   */
  arguments: string[];
  /** The same for debugpy, which waits at port 5678; for people. */
  commandLine: string;
  /** Where to stop, in the documents as they are now. */
  stops: Location[];
}

/** A test, and how it ended. */
export interface Test {
  /** The test's full id, for pytest its node id. */
  name: string;
  /** How it ended. */
  verdict: TestVerdict;
  /** The first line of the failure, empty for a test that passed. */
  message: string;
  /**
   * The calls in measured code that were active when it failed, the innermost first, each as `file:line in function`.
   * Lines are those of the file as it was run.
   */
  calls: string[];
  /** How long it took. */
  seconds: number;
  /** Where it is defined, if that is known and in the workspace folder. */
  uri: DocumentUri | null;
  /** As it was run, counted from 1. */
  line: number | null;
  /** The line of the test in which it failed, where it is now; null if it passed, or if that is not known. */
  failed: Location | null;
  /** What the assertion that failed compared; null if it compared nothing, or none failed. */
  compared: ComparedMessage | null;
}

/** Two values that are not equal but were to be. */
export interface ComparedMessage {
  /** What the test expects. */
  expected: string;
  /** What it got. */
  actual: string;
}

/** Why a line has its rank, in parts for a view. */
export interface ExplanationMessage {
  /** Which statement. */
  location: CodeLocation;
  /** The technique's title. */
  technique: string;
  /** As in `Figures`. */
  score: number;
  /** Failing tests that execute it. */
  ef: number;
  /** Passing tests that execute it. */
  ep: number;
  /** Failing tests that do not execute it. */
  nf: number;
  /** Passing tests that do not execute it. */
  np: number;
  /** One line: how suspicious it is, and how many tests execute it. */
  headline: string;
  /** The heading of its failure group; empty where there is one group. */
  group: string;
  /** The reasons, most important first. */
  sentences: string[];
  /** The formula as published. */
  formula: string;
  /** The formula with this statement's numbers in it. */
  substituted: string;
  /** Failing tests that execute it, at most `limit`; `ef` counts them all. */
  failing: Test[];
  /** Passing tests that execute it, at most `limit`; `ep` counts them all. */
  passing: Test[];
  /** Whether it runs once for all tests, and failing ones at most read what it defines: its tests are those. */
  onlyRead: boolean;
  /** Marked as examined, or innocent. */
  examined: boolean;
  /** Marked as innocent. */
  innocent: boolean;
}

/** How much of a file was executed, and by which tests. */
export interface MeasuredFileMessage {
  /** The document. */
  uri: DocumentUri;
  /** How many statements there are. */
  statements: number;
  /** How many of them were executed. */
  executed: number;
  /** The tests that executed any, as indices in the tests of the folder. */
  tests: number[];
}

/** The last run of the tests of a workspace folder. */
export interface TestResults {
  /** The workspace folder. */
  folder: DocumentUri;
  /** All tests of its last run. */
  tests: Test[];
  /** Its measured files, except test code. */
  files: MeasuredFileMessage[];
}

/** A statement, and how many tests executed it. */
export interface Coverage {
  /** Its first line as it is now, counted from 1. */
  line: number;
  /** Its last line as it is now, counted from 1. */
  endLine: number;
  /** How many tests executed it; at least 1 if it ran outside any test. */
  tests: number;
}

/** How to record tests in a terminal. */
export interface CommandLine {
  /** Quoted for a shell. It names the program by its path, so it need not be on `PATH`. */
  commandLine: string;
  /**
   * Variables with which every pytest that runs in the folder is recorded, for an editor's terminals. `PYTHONPATH` is
   * to be put before the value that is there.
   */
  environment: Record<string, string>;
}

/** The answer to a coding agent. */
export interface AgentAnswer {
  /** JSON as `suspectra mcp` answers it. Texts of the project are data, and marked as such. */
  text: string;
}

export const methods = {
  status: 'suspectra/status',
  answerSoFar: 'suspectra/answerSoFar',
  suspects: 'suspectra/suspects',
  group: 'suspectra/group',
  causes: 'suspectra/causes',
  comparison: 'suspectra/comparison',
  explanation: 'suspectra/explanation',
  testResults: 'suspectra/testResults',
  coverage: 'suspectra/coverage',
  commandLine: 'suspectra/commandLine',
  agentAnswer: 'suspectra/agentAnswer',
  techniques: 'suspectra/techniques',
} as const;

/**
 * Commands the server executes. The client library registers each of them in VS Code, so the commands of the extension
 * have other ids, such as `suspectra.nextSuspect`.
 */
export const serverCommands = {
  localize: 'suspectra.server.localize',
  nextSuspect: 'suspectra.server.nextSuspect',
  previousSuspect: 'suspectra.server.previousSuspect',
  firstSuspect: 'suspectra.server.firstSuspect',
  explain: 'suspectra.server.explain',
  whyNot: 'suspectra.server.whyNot',
  tellApart: 'suspectra.server.tellApart',
  markExamined: 'suspectra.server.markExamined',
  markInnocent: 'suspectra.server.markInnocent',
  clearExamined: 'suspectra.server.clearExamined',
  jump: 'suspectra.server.jump',
  back: 'suspectra.server.back',
  showLearned: 'suspectra.server.showLearned',
  resetLearned: 'suspectra.server.resetLearned',
  selectTechnique: 'suspectra.server.selectTechnique',
  selectGroup: 'suspectra.server.selectGroup',
  mergeGroups: 'suspectra.server.mergeGroups',
  splitGroup: 'suspectra.server.splitGroup',
  resetGroups: 'suspectra.server.resetGroups',
  runTests: 'suspectra.server.runTests',
  cancelTests: 'suspectra.server.cancelTests',
  why: 'suspectra.server.why',
  investigate: 'suspectra.server.investigate',
  testSuspect: 'suspectra.server.testSuspect',
  compareValues: 'suspectra.server.compareValues',
  findFix: 'suspectra.server.findFix',
  findChange: 'suspectra.server.findChange',
  showDifference: 'suspectra.server.showDifference',
  undoChange: 'suspectra.server.undoChange',
  findCause: 'suspectra.server.findCause',
  stateIsRight: 'suspectra.server.stateIsRight',
  stateIsWrong: 'suspectra.server.stateIsWrong',
  nextInChain: 'suspectra.server.nextInChain',
  previousInChain: 'suspectra.server.previousInChain',
  clearCauses: 'suspectra.server.clearCauses',
  whatLedHere: 'suspectra.server.whatLedHere',
  whatThisInfluenced: 'suspectra.server.whatThisInfluenced',
  showValues: 'suspectra.server.showValues',
  comparePassing: 'suspectra.server.comparePassing',
  compareRuns: 'suspectra.server.compareRuns',
  clearComparison: 'suspectra.server.clearComparison',
  debugHere: 'suspectra.server.debugHere',
  debugTest: 'suspectra.server.debugTest',
  debugChain: 'suspectra.server.debugChain',
  cancelInvestigation: 'suspectra.server.cancelInvestigation',
} as const;
