/** The environment selected in Microsoft's Python extension, if that is installed. The extension works without it. */

import * as vscode from 'vscode';

// The part of that extension's public API that is used here.
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** The selected interpreter of a workspace folder, by default the first. */
export async function activeInterpreter(
  folder = vscode.workspace.workspaceFolders?.[0]?.uri,
): Promise<string | undefined> {
  const api = await pythonApi();
  const environment = await api?.environments.resolveEnvironment(api.environments.getActiveEnvironmentPath(folder));
  return environment?.executable.uri?.fsPath;
}

/** Calls `changed` whenever another interpreter is selected. */
export async function onDidChangeInterpreter(changed: () => void): Promise<vscode.Disposable | undefined> {
  return (await pythonApi())?.environments.onDidChangeActiveEnvironmentPath(changed);
}

async function pythonApi(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  try {
    const api = await extension?.activate();
    return api?.environments ? api : undefined;
  } catch {
    return undefined; // it failed to start, and has reported that itself
  }
}
