/**
 * `suspectra mcp` as an MCP server of the extension, for agents that know no tools of VS Code. VS Code asks the user before
 * it starts one, and the server asks before it runs tests. Needs VS Code 1.101; older ones do without.
 */

import { execFile } from 'node:child_process';

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import { type Interpreter, shown } from '../environment/python';
import { activeInterpreter } from '../environment/pythonExtension';

const ID = 'suspectra.mcp';
const IMPORT_TIMEOUT_MS = 20_000;

/** What the types of VS Code 1.96 do not have yet. */
interface Definition {
  label: string;
  command: string;
  args: string[];
  cwd?: vscode.Uri;
}
type MakeDefinition = new (label: string, command: string, args: string[]) => Definition;
interface Provider {
  onDidChangeMcpServerDefinitions: vscode.Event<void>;
  provideMcpServerDefinitions: () => Promise<Definition[]>;
  resolveMcpServerDefinition: (definition: Definition) => Promise<Definition>;
}
type Register = (id: string, provider: Provider) => vscode.Disposable;

/**
 * Offer the MCP server.
 *
 * @param home - The folder in which it starts: in the workspace, files could shadow its modules.
 */
export function registerMcpServer(server: Server, home: string): vscode.Disposable {
  const make = (vscode as { McpStdioServerDefinition?: MakeDefinition }).McpStdioServerDefinition;
  const register = ('lm' in vscode ? vscode.lm : {}) as { registerMcpServerDefinitionProvider?: Register };
  if (!make || !register.registerMcpServerDefinitionProvider) {
    return new vscode.Disposable(() => undefined);
  }
  const changed = new vscode.EventEmitter<void>();
  let known = server.program;
  return vscode.Disposable.from(
    changed,
    server.onDidChange(() => {
      if (server.program !== known) {
        known = server.program;
        changed.fire();
      }
    }),
    register.registerMcpServerDefinitionProvider(ID, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () => definitions(make, server.program, home),
      resolveMcpServerDefinition: async (definition) => {
        await requirePackage(server.program, home);
        return definition;
      },
    }),
  );
}

/** One for each workspace folder, if its tests may run. */
async function definitions(
  make: MakeDefinition,
  program: Interpreter | undefined,
  home: string,
): Promise<Definition[]> {
  const folders = vscode.workspace.isTrusted && program ? (vscode.workspace.workspaceFolders ?? []) : [];
  return Promise.all(
    folders.map(async ({ uri, name }) => {
      const { command, args } = program ?? { command: '', args: [] };
      const tests = await testCommand(uri);
      const definition = new make(folders.length > 1 ? `Suspectra: ${name}` : 'Suspectra', command, [
        ...args,
        ...['-m', 'suspectra', 'mcp', '--workspace', uri.fsPath, '--', ...tests],
      ]);
      definition.cwd = vscode.Uri.file(home);
      return definition;
    }),
  );
}

/** The command that runs the tests of a folder, by the interpreter that the editor would use. */
async function testCommand(folder: vscode.Uri): Promise<string[]> {
  const settings = vscode.workspace.getConfiguration('suspectra', folder);
  const set = settings.get<string[]>('testCommand', []);
  const words = set.length ? set : ['pytest'];
  const python = settings.get<string>('testInterpreter', '') || (await activeInterpreter(folder));
  return python && words[0] === 'pytest' ? [python, '-m', ...words] : words;
}

/** The protocol's own package is an optional part of Suspectra. */
async function requirePackage(program: Interpreter | undefined, cwd: string): Promise<void> {
  const { command, args } = program ?? { command: '', args: [] };
  const there = await new Promise<boolean>((resolve) => {
    execFile(
      command,
      [...args, '-c', 'import mcp'],
      { cwd, timeout: IMPORT_TIMEOUT_MS, windowsHide: true },
      (error) => {
        resolve(!error);
      },
    );
  });
  if (!there && program) {
    const cure = `${shown(program)} -m pip install 'suspectra[mcp]'`;
    throw new Error(t('Suspectra’s MCP server needs the package mcp. Fix: {0}', cure));
  }
}
