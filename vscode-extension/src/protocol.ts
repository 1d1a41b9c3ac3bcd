/** The messages between server and extension beyond LSP. The server's protocol module declares the same. */

import type { Location, Range } from 'vscode-languageclient';

export type State = 'noEvidence' | 'ranking' | 'ready' | 'noFailingTests' | 'error' | 'runningTests' | 'stale';

/** Params of the `suspectra/status` notification. */
export interface Status {
  state: State;
  message: string;
  technique: string;
  /** Of the technique. */
  title: string;
  suspects: number;
  failed: number;
  passed: number;
  /** While tests run. */
  progress: Progress | null;
  /** While failing tests are run again with something altered. */
  investigation: Investigation | null;
}

/** How far an investigation is; `share` is how much of its time is gone, from 0 to 1. */
export interface Investigation {
  runs: number;
  test: string;
  share: number;
  /** Where the cause of a failure lies, as far as that is known. */
  found: string;
}

/** How far a run of the tests is; `total` is 0 while it is not known. */
export interface Progress {
  done: number;
  failed: number;
  total: number;
  /** Whether a save started the run. */
  onSave: boolean;
}

/** Result of the `suspectra/suspects` request. */
export interface Suspects {
  technique: string;
  /** Of the technique. */
  title: string;
  cloneFailed: boolean;
  /** The kinds of evidence that the technique had to do without. */
  without: string[];
  passed: number;
  failed: number;
  elements: number;
  state: State;
  problems: Problem[];
  collectionErrors: CollectionError[];
  failedRuns: FailedRun[];
  /** The failing tests of each folder by failure group. */
  groups: FailureGroup[];
  suspects: Suspect[];
}

/** Failing tests that probably share a fault. */
export interface FailureGroup {
  /** The URI of the workspace folder. */
  folder: string;
  /** The name of that folder, which the extension adds if there are several. */
  folderName?: string;
  /** Stays over re-runs; null for the only one of a folder. */
  id: number | null;
  title: string;
  /** The title, with a sign and the number of tests. */
  heading: string;
  /** The first of its tests, and how many more there are. */
  names: string;
  /** By what that test failed. */
  failure: string;
  /** The line in which it failed, if it is known. */
  uri: string | null;
  range: Range | null;
  sure: boolean;
  tests: string[];
  /** Those of them that executed nothing that may be a suspect. */
  uncovered: string[];
  /** Whether it is the one whose suspects are shown. */
  current: boolean;
}

/** Result of the `suspectra/group` request. */
export interface GroupSuspects {
  /** What the tests have in common. */
  reason: string;
  suspects: Suspect[];
}

/** What kept tests from being collected. */
export interface CollectionError {
  /** Node id of the file, folder or class; empty where the whole run failed. */
  collector: string;
  exception: string;
  message: string;
  folder: string;
  uri: string | null;
  range: Range | null;
  file: string;
  /** Counted from 1; 0 without a file. */
  line: number;
  test: string | null;
}

/** A run that ended without running the tests. */
export interface FailedRun {
  folder: string;
  message: string;
}

/** What is wrong with the evidence, and how to fix it. */
export interface Problem {
  file: string;
  place: string;
  cause: string;
  cure: string;
}

export interface Suspect {
  /** The name of its workspace folder, which the extension adds if there are several. */
  folder?: string;
  uri: string;
  range: Range;
  /** Relative to the workspace folder. */
  file: string;
  /** Counted from 1, as people and the command line count. */
  line: number;
  endLine: number;
  function: string;
  /** An infinite score is the largest double, with its sign: JSON has no infinity. */
  score: number;
  /** Why it ranks before the next ones; empty where the counts of tests say it. */
  reason: string;
  /** What alterations of it make failing tests pass, a sentence each. */
  findings: string[];
  /** Its first line as it is now. */
  source: string;
  /** Whether a failing test failed in it. */
  raised: boolean;
  /** How many failing tests pass with the best alteration of it. */
  repairs: number;
  /** Suspects with the same number are equal for the tests, even if something else puts them in order. */
  tie: number;
  rankBest: number;
  rankAverage: number;
  rankWorst: number;
  ef: number;
  ep: number;
  nf: number;
  np: number;
  /** Before how many of the failing tests failed it changed. */
  changed: number;
  /** How many of those are not known to have passed before: git knows of the change. */
  changedByGit: number;
  failingTests: string[];
  /** The failure group in which it has this rank, where there are several. */
  group: number | null;
  examined: boolean;
  innocent: boolean;
  /** Expected steps from the top of the ranking; null while they are not known, and for infinity. */
  steps: number | null;
  band: 'high' | 'medium' | 'low';
}

/** One item of the `suspectra/techniques` result. */
export interface Technique {
  name: string;
  title: string;
  paper: string;
  description: string;
  clones: boolean;
}

/** Result of the command `suspectra.server.explain`. */
export interface Explanation {
  markdown: string;
  location: Location;
}

/** Result of the commands `suspectra.server.whyNot` and `suspectra.server.tellApart`. */
export interface Answer {
  markdown: string;
  headline: string;
  sentences: string[];
  location: Location | null;
}

/** Result of the command `suspectra.server.jump`. */
export interface Jump {
  origin: CodeLocation;
  moves: Move[];
  chosen: Location | null;
}

export interface CodeLocation {
  uri: string;
  range: Range;
  file: string;
  /** Counted from 1. */
  line: number;
  function: string;
  /** The first line of the statement. */
  source: string;
  rankBest: number | null;
  rankWorst: number | null;
  steps: number | null;
}

/** A location to look at next, with the reasons. */
export interface Move extends CodeLocation {
  probability: number;
  reasons: string[];
}

/** Result of the command `suspectra.server.showLearned`. */
export interface Learned {
  consent: boolean;
  jumps: number;
  returns: number;
  pJump: number;
  low: number;
  high: number;
  file: string;
}

/** Result of the `suspectra/explanation` request. */
export interface Reasons {
  location: CodeLocation;
  technique: string;
  score: number;
  ef: number;
  ep: number;
  nf: number;
  np: number;
  headline: string;
  /** The heading of its failure group; empty where there is one group. */
  group: string;
  sentences: string[];
  formula: string;
  substituted: string;
  failing: Test[];
  passing: Test[];
  /** It runs at import, and the tests are those that read what it defines. */
  onlyRead: boolean;
  examined: boolean;
  innocent: boolean;
}

export interface Test {
  name: string;
  verdict: 'passed' | 'failed' | 'error' | 'skipped' | 'xfailed' | 'xpassed';
  message: string;
  /** `file:line in function`, the innermost first. */
  calls: string[];
  seconds: number;
  uri: string | null;
  /** Counted from 1. */
  line: number | null;
}

/** One item of the `suspectra/testResults` result: the last run in a workspace folder. */
export interface TestResults {
  folder: string;
  tests: Test[];
  /** `tests` are indices. */
  files: { uri: string; statements: number; executed: number; tests: number[] }[];
}

/** One item of the `suspectra/coverage` result: a statement, its lines counted from 1. */
export interface Executed {
  line: number;
  endLine: number;
  tests: number;
}

/** A value or decision of a run, and what follows it in a slice. */
export interface Step {
  uri: string;
  range: Range;
  /** Relative to the workspace folder. */
  file: string;
  /** Counted from 1. */
  line: number;
  source: string;
  value: string;
  /** Which time the statement was executed, from 1; 0 while its module was imported. */
  instance: number;
  /** How it is related to the step above. */
  why: string;
  steps: Step[];
  /** How many steps below it are elsewhere in the tree, or left out. */
  more: number;
}

/** Result of the commands `suspectra.server.whatLedHere` and `suspectra.server.whatThisInfluenced`. */
export interface Slice {
  heading: string;
  test: string;
  size: number;
  steps: Step[];
  /** All lines of the slice, counted from 0. */
  files: { uri: string; lines: number[] }[];
  leftOut: string[];
  svg: string;
}

/** Result of the `suspectra/causes` request and of the command `suspectra.server.findCause`. */
export interface Causes {
  folder: string;
  test: string;
  searching: boolean;
  /** Where the search goes on after its last step. */
  found: string;
  roots: Step[];
  chain: Step[];
  transitive: Step[];
  around: Step[];
  alterations: number;
  complete: boolean;
  seconds: number;
  problems: string[];
}

/** Result of the `suspectra/comparison` request and of the command `suspectra.server.comparePassing`. */
export interface ComparedRuns {
  folder: string;
  test: string;
  technique: string;
  /** A passing test, or an input that passes. */
  passing: string | null;
  found: string;
  /** The decisions that came out differently. */
  report: Step[];
  /** What makes the difference, from the first cause to the failure. */
  chain: Step[];
  after: Step[];
  notes: string[];
  candidates: number;
  complete: boolean;
  seconds: number;
  problems: string[];
}

/** What one test executes: the lines in order, each with its place as a comment. */
export interface RunText {
  title: string;
  text: string;
}

/** Result of the command `suspectra.server.compareRuns`. */
export interface RunTexts {
  heading: string;
  failing: RunText;
  passing: RunText;
  /** The first line of both that is not the same, counted from 0. */
  line: number;
}

/** Result of the commands `suspectra.server.debugHere`, `debugTest` and `debugChain`. */
export interface DebugLaunch {
  folder: string;
  test: string;
  /** The path of the folder. */
  root: string;
  python: string | null;
  module: string;
  arguments: string[];
  stops: Location[];
}

/** Result of the `suspectra/commandLine` request. */
export interface CommandLine {
  commandLine: string;
  /** Variables with which every pytest in the folder is recorded; `PYTHONPATH` comes before the value that is there. */
  environment: Record<string, string>;
}

export const methods = {
  status: 'suspectra/status',
  suspects: 'suspectra/suspects',
  techniques: 'suspectra/techniques',
  explanation: 'suspectra/explanation',
  testResults: 'suspectra/testResults',
  coverage: 'suspectra/coverage',
  commandLine: 'suspectra/commandLine',
  group: 'suspectra/group',
  causes: 'suspectra/causes',
  comparison: 'suspectra/comparison',
  agentAnswer: 'suspectra/agentAnswer',
} as const;

/**
 * Commands the server executes. The client library registers each of them in VS Code, so the commands of the
 * extension have other ids, such as `suspectra.nextSuspect`.
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
  investigate: 'suspectra.server.investigate',
  compareValues: 'suspectra.server.compareValues',
  testSuspect: 'suspectra.server.testSuspect',
  findCause: 'suspectra.server.findCause',
  nextInChain: 'suspectra.server.nextInChain',
  previousInChain: 'suspectra.server.previousInChain',
  clearCauses: 'suspectra.server.clearCauses',
  whatLedHere: 'suspectra.server.whatLedHere',
  whatThisInfluenced: 'suspectra.server.whatThisInfluenced',
  comparePassing: 'suspectra.server.comparePassing',
  compareRuns: 'suspectra.server.compareRuns',
  clearComparison: 'suspectra.server.clearComparison',
  debugHere: 'suspectra.server.debugHere',
  debugTest: 'suspectra.server.debugTest',
  debugChain: 'suspectra.server.debugChain',
  cancelInvestigation: 'suspectra.server.cancelInvestigation',
} as const;

const STEPS: ReadonlySet<string> = new Set([
  serverCommands.nextSuspect,
  serverCommands.previousSuspect,
  serverCommands.firstSuspect,
  serverCommands.back,
]);

/** The location that a command led the reader to, if any. */
export function destination({ command, result }: { command: string; result: unknown }): Location | undefined {
  if (command === serverCommands.jump) {
    return (result as Jump | null)?.chosen ?? undefined;
  }
  return STEPS.has(command) ? ((result as Location | null) ?? undefined) : undefined;
}
