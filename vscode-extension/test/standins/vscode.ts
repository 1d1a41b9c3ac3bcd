/**
 * Stands in for the module `vscode`, which exists only inside the editor.
 *
 * Its plain values (positions, URIs, tree items) are VS Code's own code, as jest-mock-vscode has it. What has state is in
 * `workbench`, where tests see what was shown and act as the person before the screen.
 */

import type * as api from 'vscode';

import { SourceBreakpoint } from './debug';
import { lm } from './lm';
import { Emitter, TestController, values, workbench } from './workbench';

export const {
  CallHierarchyItem,
  CodeAction,
  CodeActionKind,
  CodeLens,
  CompletionItem,
  CompletionItemKind,
  CompletionItemTag,
  CompletionTriggerKind,
  ConfigurationTarget,
  DecorationRangeBehavior,
  Diagnostic,
  DiagnosticSeverity,
  DiagnosticTag,
  Disposable,
  DocumentHighlightKind,
  DocumentLink,
  FileType,
  FoldingRangeKind,
  Location,
  LogLevel,
  MarkdownString,
  OverviewRulerLane,
  Position,
  ProgressLocation,
  Range,
  Selection,
  SignatureHelpTriggerKind,
  SnippetString,
  StatusBarAlignment,
  SymbolInformation,
  SymbolKind,
  SymbolTag,
  TextDocumentSaveReason,
  TextEdit,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  TypeHierarchyItem,
  Uri,
  ViewColumn,
} = values;

export const version = '1.96.0';

export const EventEmitter = Emitter;

export class CancellationError extends Error {}

export class CancellationTokenSource {
  private readonly cancelled = new Emitter<unknown>();
  readonly token = { isCancellationRequested: false, onCancellationRequested: this.cancelled.event };

  cancel(): void {
    this.token.isCancellationRequested = true;
    this.cancelled.fire(undefined);
  }

  dispose(): void {
    this.cancelled.dispose();
  }

  /** How many wait for the cancellation. */
  get listeners(): number {
    return this.cancelled.listeners.size;
  }
}

export class InlayHint {
  constructor(
    readonly position: unknown,
    readonly label: unknown,
    readonly kind?: unknown,
  ) {}
}

export class FileDecoration {
  constructor(
    readonly badge?: string,
    readonly tooltip?: string,
    readonly color?: api.ThemeColor,
  ) {}
}

export class RelativePattern {
  constructor(
    readonly base: unknown,
    readonly pattern: string,
  ) {}
}

/** An edit of files, and which of them it makes. */
export class WorkspaceEdit {
  readonly created: api.Uri[] = [];
  private readonly files: [api.Uri, api.TextEdit[]][] = [];

  set(uri: api.Uri, edits: api.TextEdit[]): void {
    this.files.push([uri, edits]);
  }

  createFile(uri: api.Uri): void {
    this.created.push(uri);
  }

  entries(): [api.Uri, api.TextEdit[]][] {
    return this.files;
  }
}

class TabInput {
  constructor(readonly uri: unknown) {}
}
export class TabInputText extends TabInput {}
export class TabInputTextDiff extends TabInput {}
export class TabInputCustom extends TabInput {}
export class TabInputNotebook extends TabInput {}

export const NotebookCellKind = { Markup: 1, Code: 2 };
export const CodeActionTriggerKind = { Invoke: 1, Automatic: 2 };
export const InlineCompletionTriggerKind = { Invoke: 0, Automatic: 1 };
export const QuickPickItemKind = { Separator: -1, Default: 0 };
export const TestRunProfileKind = { Run: 1, Debug: 2, Coverage: 3 };

export class TestMessage {
  location?: api.Location;
  expectedOutput?: string;
  actualOutput?: string;

  constructor(readonly message: string) {}

  static diff(message: string, expected: string, actual: string): TestMessage {
    return Object.assign(new TestMessage(message), { expectedOutput: expected, actualOutput: actual });
  }
}

export class TestRunRequest {
  constructor(
    readonly include?: readonly api.TestItem[],
    readonly exclude?: readonly api.TestItem[],
    readonly profile?: api.TestRunProfile,
    readonly continuous?: boolean,
    readonly preserveFocus?: boolean,
  ) {}
}

export class TestCoverageCount {
  constructor(
    readonly covered: number,
    readonly total: number,
  ) {}
}

export class FileCoverage {
  constructor(
    readonly uri: api.Uri,
    readonly statementCoverage: api.TestCoverageCount,
    readonly branchCoverage?: api.TestCoverageCount,
    readonly declarationCoverage?: api.TestCoverageCount,
    readonly includesTests: api.TestItem[] = [],
  ) {}
}

export class StatementCoverage {
  constructor(
    readonly executed: number | boolean,
    readonly location: api.Range,
  ) {}
}

const none = () => new Disposable(() => undefined);

export const { commands, debug, extensions, window, workspace } = workbench;

export { lm, SourceBreakpoint };

export class LanguageModelTextPart {
  constructor(readonly value: string) {}
}

export class LanguageModelToolResult {
  constructor(readonly content: unknown[]) {}
}

export class McpStdioServerDefinition {
  constructor(
    readonly label: string,
    readonly command: string,
    readonly args: string[],
  ) {}
}

export const env = {
  appName: 'Stand-in',
  language: 'en',
  clipboard: {
    writeText: (text: string) => {
      workbench.clipboard = text;
      return Promise.resolve();
    },
  },
};

export const languages = {
  ...Object.fromEntries(Object.keys(values.languages).map((name) => [name, none])),
  match: () => 0,
  createDiagnosticCollection: () => ({ set: none, delete: none, clear: none, dispose: none }),
};

export const l10n = { t: (message: string) => message };

export const tests = {
  createTestController: (id: string, label: string) => new TestController(id, label),
};
