/** The tools of coding agents, for the language models of VS Code. The running server answers, and runs what it may. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import { methods } from '../protocol';

const PREFIX = 'suspectra_';

/** What a person is asked before a tool runs anything, by the name of the tool. Others only read. */
function question(tool: string): { title: string; message: string } | undefined {
  const altered = t(
    'The tests run with wrong conditions and values. Allow this only if they can do no harm: delete files, send messages, change databases.',
  );
  switch (tool) {
    case 'run_tests':
      return { title: t('Run the Tests?'), message: t('The tests execute code of this workspace.') };
    case 'why':
    case 'investigate':
      return { title: t('Run Failing Tests with Something Altered?'), message: altered };
    case 'causes':
      return { title: t('Run a Failing Test with Altered States?'), message: altered };
    default:
      return undefined;
  }
}

/**
 * Register the tools that the manifest declares.
 *
 * @param declared - What the manifest contributes as `languageModelTools`.
 */
export function registerAgentTools(server: Server, declared: readonly { name: string }[]): vscode.Disposable {
  if (!('lm' in vscode) || !('registerTool' in vscode.lm)) {
    return new vscode.Disposable(() => undefined); // an editor without language models
  }
  return vscode.Disposable.from(
    ...declared.map(({ name }) => vscode.lm.registerTool(name, agentTool(server, name.slice(PREFIX.length)))),
  );
}

function agentTool(server: Server, tool: string): vscode.LanguageModelTool<object> {
  return {
    prepareInvocation: () => {
      const confirmationMessages = question(tool);
      return confirmationMessages ? { confirmationMessages } : {};
    },
    invoke: async ({ input }, token) => {
      const editor = vscode.window.activeTextEditor;
      const folder = editor && vscode.workspace.getWorkspaceFolder(editor.document.uri);
      const params = { tool, arguments: input, ...(folder ? { folder: folder.uri.toString() } : {}) };
      const { text } = await server.request<{ text: string }>(methods.agentAnswer, params, token);
      return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
    },
  };
}
