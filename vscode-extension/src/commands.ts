/** The commands of the palette, the view and the lenses. */

import * as vscode from 'vscode';

import type { Server } from './client';
import { methods, serverCommands, type Suspect, type Suspects, type Technique } from './protocol';

/** Register everything in the category “Suspectra”. */
export function registerCommands(server: Server): vscode.Disposable {
  const step = (command: string, ...from: (() => unknown)[]) => async () => {
    if (!(await server.command(command, ...from.map((place) => place())))) {
      vscode.window.setStatusBarMessage('$(search) There are no suspects to go to', 4000);
    }
  };
  const commands: Record<string, (suspect?: Suspect) => Promise<unknown>> = {
    localize: () => server.command(serverCommands.localize),
    runTests: () => server.command(serverCommands.runTests),
    nextSuspect: step(serverCommands.nextSuspect, cursor),
    previousSuspect: step(serverCommands.previousSuspect, cursor),
    firstSuspect: step(serverCommands.firstSuspect),
    explain: async (suspect) => {
      if (!(await server.command(serverCommands.explain, ...place(suspect)))) {
        notASuspect();
      }
    },
    markExamined: async (suspect) => {
      if (!(await server.command(serverCommands.markExamined, ...place(suspect)))) {
        notASuspect();
      }
    },
    clearExamined: () => server.command(serverCommands.clearExamined),
    selectTechnique: () => selectTechnique(server),
    restart: () => server.restart(),
    cancelInstallation: async () => server.cancelInstallation(),
    showOutput: async () => server.output.show(),
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`suspectra.ui.${name}`, (argument?: unknown) =>
        answering(() => run(isSuspect(argument) ? argument : undefined)),
      ),
    ),
  );
}

async function selectTechnique(server: Server): Promise<void> {
  const [techniques, { technique: current, cloneFailed }] = await Promise.all([
    server.request<Technique[]>(methods.techniques, {}),
    server.request<Suspects>(methods.suspects, { limit: 1 }),
  ]);
  const currentFirst = techniques.toSorted((a, b) => Number(b.name === current) - Number(a.name === current));
  const picked = await vscode.window.showQuickPick(
    [
      ...currentFirst.map(({ name, title, paper, description }) => ({
        label: title,
        description: name === current ? `${name} $(check)` : name,
        detail: [paper, description].filter(Boolean).join(' · '),
        choice: { name, cloneFailed },
      })),
      { label: '', kind: vscode.QuickPickItemKind.Separator, choice: undefined },
      {
        label: `$(${cloneFailed ? 'check' : 'blank'}) Clone failing tests`,
        detail: 'Weigh the failing tests as if there were as many of them as passing ones',
        choice: { name: current, cloneFailed: !cloneFailed },
      },
    ],
    {
      title: 'Rank the suspects with',
      placeHolder: 'For this session. The setting suspectra.technique keeps a choice',
      matchOnDescription: true,
      matchOnDetail: true,
    },
  );
  if (picked?.choice) {
    const { name, cloneFailed } = picked.choice;
    await server.command(serverCommands.selectTechnique, name, { cloneFailed });
  }
}

/** A command that fails answers the person who gave it. */
async function answering(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    void vscode.window.showErrorMessage(`Suspectra: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function cursor() {
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri.toString(), position: editor.selection.active };
}

/** The place a command is about, as (uri, line): the row it was given on, else the line with the cursor. */
function place(suspect: Suspect | undefined): [string, number] {
  if (suspect) {
    return [suspect.uri, suspect.range.start.line];
  }
  const here = cursor();
  if (!here) {
    throw new Error('Put the cursor on a suspect first.');
  }
  return [here.uri, here.position.line];
}

function notASuspect(): void {
  vscode.window.setStatusBarMessage('$(search) This line is no suspect', 4000);
}

function isSuspect(argument: unknown): argument is Suspect {
  return typeof argument === 'object' && argument !== null && 'uri' in argument && 'rankBest' in argument;
}
