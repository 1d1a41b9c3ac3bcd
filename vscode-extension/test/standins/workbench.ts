/** The parts of the stand-in for `vscode` that have state: what was shown, who listens, and what a person answers. */

import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';

import type * as api from 'vscode';

import { Debug } from './debug';
import { Emitter, values } from './events';

export { Emitter, values };

interface Choice {
  label: string;
}

/** What a person types into or picks from. */
export class Input {
  title = '';
  placeholder = '';
  value = '';
  matchOnDescription = false;
  matchOnDetail = false;
  buttons: unknown[] = [];
  items: Choice[] = [];
  selectedItems: Choice[] = [];
  disposed = false;
  private readonly changed = new Emitter<string>();
  private readonly moved = new Emitter<Choice[]>();
  private readonly accepted = new Emitter<unknown>();
  private readonly pressed = new Emitter<unknown>();
  private readonly pressedItem = new Emitter<{ item: Choice }>();
  private readonly hidden = new Emitter<unknown>();
  readonly onDidChangeValue = this.changed.event;
  readonly onDidChangeActive = this.moved.event;
  readonly onDidAccept = this.accepted.event;
  readonly onDidTriggerButton = this.pressed.event;
  readonly onDidTriggerItemButton = this.pressedItem.event;
  readonly onDidHide = this.hidden.event;

  show(): void {
    workbench.input = this;
  }

  hide(): void {
    this.hidden.fire(undefined);
  }

  dispose(): void {
    this.disposed = true;
  }

  /** A person types this. */
  type(text: string): void {
    this.value = text;
    this.changed.fire(text);
  }

  /** A person goes to an item, by its label. */
  go(label: string): void {
    this.moved.fire(this.items.filter((item) => item.label === label));
  }

  /** A person presses Enter, on an item where there are some. */
  enter(label?: string): void {
    this.selectedItems = this.items.filter((item) => item.label === label);
    this.accepted.fire(undefined);
  }

  /** How many listeners are left. */
  get listeners(): number {
    const emitters = [this.changed, this.moved, this.accepted, this.pressed, this.pressedItem, this.hidden];
    return emitters.reduce((sum, { listeners }) => sum + listeners.size, 0);
  }
}

export class Items {
  private readonly items = new Map<string, Item>();

  constructor(private readonly parent?: Item) {}

  replace(items: Item[]): void {
    this.items.clear();
    items.forEach((item) => this.add(item));
  }

  add(item: Item): void {
    item.parent = this.parent;
    this.items.set(item.id, item);
  }

  get(id: string): Item | undefined {
    return this.items.get(id);
  }

  [Symbol.iterator](): Iterator<[string, Item]> {
    return this.items.entries();
  }
}

/** A test item. */
export class Item {
  parent: Item | undefined;
  description = '';
  range: api.Range | undefined;
  readonly children = new Items(this);

  constructor(
    readonly id: string,
    readonly label: string,
    readonly uri?: api.Uri,
  ) {}
}

/** A run of tests that keeps what it was told. */
export class Run {
  readonly results: string[] = [];
  readonly coverage: api.FileCoverage[] = [];
  output = '';
  ended = false;

  constructor(
    readonly request: unknown,
    readonly name?: string,
  ) {}

  started = (item: Item) => this.results.push(`started ${item.label}`);
  passed = (item: Item) => this.results.push(`passed ${item.label}`);
  skipped = (item: Item) => this.results.push(`skipped ${item.label}`);
  failed = (item: Item, { message }: { message: string }) => this.results.push(`failed ${item.label}: ${message}`);
  errored = (item: Item, { message }: { message: string }) => this.results.push(`errored ${item.label}: ${message}`);
  addCoverage = (coverage: api.FileCoverage) => this.coverage.push(coverage);

  appendOutput(text: string): void {
    this.output += text;
  }

  end(): void {
    this.ended = true;
  }
}

type RunHandler = (request: unknown, token: unknown) => Promise<void>;

export interface Profile {
  label: string;
  run: RunHandler;
}

export class TestController {
  readonly items = new Items();
  readonly profiles: Profile[] = [];
  readonly runs: Run[] = [];
  disposed = false;

  constructor(
    readonly id: string,
    readonly label: string,
  ) {
    workbench.tests = this;
  }

  createRunProfile(label: string, _kind: number, run: RunHandler): Profile {
    const profile = { label, run };
    this.profiles.push(profile);
    return profile;
  }

  createTestItem(id: string, label: string, uri?: api.Uri): Item {
    return new Item(id, label, uri);
  }

  createTestRun(request: unknown, name?: string): Run {
    const run = new Run(request, name);
    this.runs.push(run);
    return run;
  }

  dispose(): void {
    this.disposed = true;
  }
}

/** A tree view. */
export class Tree {
  description = '';
  badge: api.ViewBadge | undefined;
  message = '';
  visible = true;
  selection: unknown[] = [];
  readonly revealed: unknown[] = [];
  private readonly shown = new Emitter<unknown>();
  private readonly expanded = new Emitter<{ element: unknown }>();
  private readonly collapsed = new Emitter<{ element: unknown }>();
  readonly onDidChangeVisibility = this.shown.event;
  readonly onDidExpandElement = this.expanded.event;
  readonly onDidCollapseElement = this.collapsed.event;

  constructor(readonly provider: unknown) {}

  expand(element: unknown): void {
    this.expanded.fire({ element });
  }

  collapse(element: unknown): void {
    this.collapsed.fire({ element });
  }

  reveal(row: unknown): Promise<void> {
    this.revealed.push(row);
    this.selection = [row];
    return Promise.resolve();
  }

  dispose(): void {
    this.shown.dispose();
  }
}

/** A panel beside the code. */
export class WebviewPanel {
  title = '';
  visible = true;
  /** What it was given to show, the last one last. */
  readonly contents: string[] = [];
  private readonly reported = new Emitter<unknown>();
  private readonly disposed = new Emitter<unknown>();
  readonly onDidDispose = this.disposed.event;
  readonly webview = {
    html: '',
    onDidReceiveMessage: this.reported.event,
    postMessage: (content: string) => Promise.resolve(void this.contents.push(content)),
  };

  reveal(): void {
    this.visible = true;
  }

  /** What the script in it sends. */
  report(message: string): void {
    this.reported.fire(message);
  }

  dispose(): void {
    this.disposed.fire(undefined);
  }
}

type Settings = Record<string, unknown>;

/** The settings of the extension with the defaults that its manifest gives them. */
function defaults(): Settings {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    contributes: { configuration: { properties: Record<string, { default: unknown }> }[] };
  };
  const settings = manifest.contributes.configuration.flatMap(({ properties }) => Object.entries(properties));
  return Object.fromEntries(settings.map(([name, setting]) => [name, setting.default]));
}

/** All settings below a section, as an object of objects; or the one of that name. */
function settingAt(section: string): unknown {
  if (section in workbench.settings) {
    return workbench.settings[section];
  }
  const below = Object.keys(workbench.settings).filter((name) => name.startsWith(`${section}.`));
  const names = below.map((name) => name.slice(section.length + 1).replace(/\..*/, ''));
  return names.length ? Object.fromEntries(names.map((name) => [name, settingAt(`${section}.${name}`)])) : undefined;
}

const nothing = new Emitter<unknown>();
const selected = new Emitter<unknown>();
const foldersChanged = new Emitter<unknown>();
const created = new Emitter<unknown>();
const deleted = new Emitter<unknown>();
const trusted = new Emitter<unknown>();
const configured = new Emitter<{ affectsConfiguration: (name: string) => boolean }>();
const none = () => new values.Disposable(() => undefined);
const record =
  (list: string[]) =>
  (text: string): Promise<string | undefined> => {
    list.push(text);
    return Promise.resolve(undefined);
  };

export const workbench = {
  settings: defaults(),
  /** The settings of the workspace that a person or the extension has set. */
  written: {} as Settings,
  /** The same of the user. */
  user: {} as Settings,
  context: {} as Record<string, unknown>,
  registered: new Map<string, (...args: unknown[]) => unknown>(),
  clipboard: '',
  errors: [] as string[],
  informed: [] as string[],
  /** Where the progress of works was shown. */
  progress: [] as unknown[],
  /** Of what was shown in dialogs, the smaller text. */
  details: [] as string[],
  statusMessages: [] as string[],
  log: [] as string[],
  opened: [] as string[],
  sent: [] as string[],
  /** The files of the workspace, relative to it. */
  files: [] as string[],
  created,
  deleted,
  /** What a person picks next from a list, by its label. */
  answer: undefined as string | undefined,
  input: undefined as Input | undefined,
  tree: undefined as Tree | undefined,
  causes: undefined as Tree | undefined,
  /** By their types, the panels that were opened last. */
  panels: new Map<string, WebviewPanel>(),
  tests: undefined as TestController | undefined,
  /** Whether the extension Python Debugger is installed. */
  debugger: true,
  debug: new Debug(),
  /** The interpreter that is selected in the Python extension. */
  python: undefined as string | undefined,
  foldersChanged,
  trusted,
  configured,

  /** As after the start of the editor, with these folders. */
  reset(...folders: string[]): void {
    workbench.settings = defaults();
    workbench.written = {};
    workbench.user = {};
    workbench.context = {};
    workbench.registered.clear();
    workbench.panels.clear();
    for (const list of [
      workbench.errors,
      workbench.informed,
      workbench.progress,
      workbench.details,
      workbench.statusMessages,
      workbench.log,
    ]) {
      list.length = 0;
    }
    workbench.opened.length = 0;
    workbench.files = [];
    workbench.sent.length = 0;
    workbench.answer = undefined;
    workbench.python = undefined;
    workbench.debugger = true;
    workbench.debug.reset();
    workbench.window.activeTextEditor = undefined;
    workbench.workspace.isTrusted = true;
    workbench.workspace.workspaceFolders = folders.map((folder, index) => ({
      uri: values.Uri.file(folder),
      name: folder.replace(/.*\//, ''),
      index,
    }));
  },

  /** A person puts the cursor on a line, counted from 0. */
  edit(file: string, line: number): void {
    const position = new values.Position(line, 0);
    const selection = new values.Selection(position, position);
    const editor = { document: { uri: values.Uri.file(file) }, selection, viewColumn: 1 };
    workbench.window.activeTextEditor = editor;
    selected.fire({ textEditor: editor, selections: [selection] });
  },

  commands: {
    registerCommand(id: string, run: (...args: unknown[]) => unknown): api.Disposable {
      workbench.registered.set(id, run);
      return new values.Disposable(() => workbench.registered.delete(id));
    },
    executeCommand(id: string, ...args: unknown[]): Promise<unknown> {
      if (id === 'extension.open') {
        workbench.opened.push(String(args[0]));
      }
      if (id === 'setContext') {
        workbench.context[String(args[0])] = args[1];
      }
      return Promise.resolve(workbench.registered.get(id)?.(...args));
    },
  },

  extensions: {
    getExtension: (id: string) => {
      if (id === 'ms-python.debugpy') {
        return workbench.debugger ? {} : undefined;
      }
      const path = workbench.python;
      const environments = {
        getActiveEnvironmentPath: () => ({ path }),
        resolveEnvironment: () => Promise.resolve({ executable: { uri: values.Uri.file(path ?? '') } }),
        onDidChangeActiveEnvironmentPath: nothing.event,
      };
      return path ? { activate: () => Promise.resolve({ environments }) } : undefined;
    },
  },

  window: {
    activeTextEditor: undefined as
      { document: { uri: api.Uri }; selection: api.Selection; viewColumn: number } | undefined,
    visibleTextEditors: [],
    tabGroups: { all: [], onDidChangeTabs: nothing.event, close: () => Promise.resolve(true) },
    onDidChangeActiveTextEditor: nothing.event,
    onDidChangeVisibleTextEditors: nothing.event,
    onDidChangeTextEditorSelection: selected.event,
    createTextEditorDecorationType: none,
    registerFileDecorationProvider: none,
    createTreeView: (id: string, { treeDataProvider }: { treeDataProvider: unknown }) => {
      const tree = new Tree(treeDataProvider);
      if (id === 'suspectra.suspects') {
        workbench.tree = tree;
      } else if (id === 'suspectra.causes') {
        workbench.causes = tree;
      }
      return tree;
    },
    createInputBox: () => new Input(),
    createQuickPick: () => new Input(),
    createStatusBarItem: () => ({ show: none, hide: none, dispose: none }),
    createTerminal: () => ({ show: none, sendText: (line: string) => workbench.sent.push(line) }),
    createOutputChannel: () => workbench.output,
    createWebviewPanel: (id: string) => {
      const panel = new WebviewPanel();
      workbench.panels.set(id, panel);
      return panel;
    },
    showErrorMessage: (text: string, ...buttons: string[]) => {
      workbench.errors.push(text);
      return Promise.resolve(buttons.find((button) => button === workbench.answer));
    },
    showWarningMessage: (text: string) => record(workbench.errors)(text),
    showInformationMessage: async (text: string, ...choices: unknown[]) => {
      await record(workbench.informed)(text);
      workbench.details.push(...choices.map((choice) => (choice as { detail?: string }).detail ?? '').filter(Boolean));
      return choices.find((choice) => choice === workbench.answer);
    },
    setStatusBarMessage: (text: string) => workbench.statusMessages.push(text),
    showTextDocument: (uri: api.Uri, { selection }: { selection: api.Range }) =>
      workbench.opened.push(`${uri.path}:${selection.start.line + 1}`),
    showQuickPick: <Choice extends { label: string }>(choices: Choice[], options?: { canPickMany?: boolean }) => {
      const picked = choices.filter(({ label }) => label === workbench.answer);
      return Promise.resolve(options?.canPickMany ? picked : picked[0]);
    },
    withProgress: <Result>(
      { location }: { location: unknown },
      task: (progress: unknown, token: unknown) => Promise<Result>,
    ) => {
      workbench.progress.push(location);
      return task({ report: none }, { isCancellationRequested: false, onCancellationRequested: nothing.event });
    },
  },

  workspace: {
    isTrusted: true,
    workspaceFolders: [] as api.WorkspaceFolder[],
    textDocuments: [],
    notebookDocuments: [],
    getConfiguration: (section?: string) => ({
      get: (name: string, otherwise?: unknown) => settingAt([section, name].filter(Boolean).join('.')) ?? otherwise,
      inspect: (name: string) => ({
        globalValue: workbench.user[`${section}.${name}`],
        workspaceValue: workbench.written[`${section}.${name}`],
      }),
      update: (name: string, value: unknown, target: api.ConfigurationTarget) => {
        if (target === values.ConfigurationTarget.Workspace) {
          workbench.written[`${section}.${name}`] = value;
        } else if (target === values.ConfigurationTarget.Global) {
          workbench.user[`${section}.${name}`] = value;
        }
        return Promise.resolve();
      },
    }),
    getWorkspaceFolder: (uri: api.Uri) =>
      workbench.workspace.workspaceFolders.find((folder) => `${uri.path}/`.startsWith(`${folder.uri.path}/`)),
    asRelativePath: (uri: api.Uri) => uri.path,
    /** The machine's own. */
    fs: {
      readFile: (uri: api.Uri) => readFile(uri.fsPath),
      writeFile: (uri: api.Uri, content: Uint8Array) => writeFile(uri.fsPath, content),
    },
    createFileSystemWatcher: () => ({
      onDidCreate: created.event,
      onDidChange: nothing.event,
      onDidDelete: deleted.event,
      dispose: none,
    }),
    /** The globs of Node mean the same as those of VS Code, as far as the extension uses them. */
    findFiles: (pattern: string) => Promise.resolve(workbench.files.filter((file) => matchesGlob(file, pattern))),
    registerTextDocumentContentProvider: none,
    onDidChangeWorkspaceFolders: foldersChanged.event,
    onDidGrantWorkspaceTrust: trusted.event,
    onDidChangeConfiguration: configured.event,
    onDidChangeTextDocument: nothing.event,
    onDidOpenTextDocument: nothing.event,
    onDidCloseTextDocument: nothing.event,
    onDidSaveTextDocument: nothing.event,
    onWillSaveTextDocument: nothing.event,
  },

  /** The output channel. */
  output: {
    trace: none,
    debug: none,
    info: (line: string) => workbench.log.push(line),
    warn: (line: string) => workbench.log.push(line),
    error: (line: string) => workbench.log.push(line),
    append: none,
    appendLine: none,
    show: () => workbench.log.push('shown'),
    dispose: none,
    logLevel: 3,
    onDidChangeLogLevel: nothing.event,
  },
};
