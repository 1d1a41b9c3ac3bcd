/** The list of techniques. Moving through it previews the order of each: in the view, the lenses and the marks. */

import * as vscode from 'vscode';

import type { Server } from '../client';
import { t } from '../l10n';
import type { Model } from '../model';
import { methods, serverCommands, type TechniqueMessage } from '../protocol';

/** A technique. `cloneFailed` is for formulas; without it, that choice stays as it is. */
interface Choice {
  name: string;
  cloneFailed?: boolean | undefined;
}

interface Item extends vscode.QuickPickItem {
  choice?: Choice;
}

const PREVIEW_DEBOUNCE_MS = 150;

/** Enter keeps the technique for this session, its pin for the workspace; Escape goes back to the one before. */
export async function selectTechnique(server: Server, model: Model): Promise<void> {
  const techniques = await server.request<TechniqueMessage[]>(methods.techniques, {});
  const previous: Choice = { name: model.report?.technique ?? '' };
  if (techniques.some(({ name, clones }) => clones && name === previous.name.split('+', 1)[0])) {
    previous.cloneFailed = model.report?.cloneFailed ?? false;
  }
  const pin: vscode.QuickInputButton = {
    iconPath: new vscode.ThemeIcon('pin'),
    tooltip: t('Keep it in the settings of this workspace'),
  };
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = t('Rank the suspects with');
  pick.placeholder = t('Moving shows each order. Enter keeps it for this session, Escape goes back');
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.items = items(techniques, previous, pin);

  let used = previous;
  let pending: NodeJS.Timeout | undefined;
  const use = async (choice: Choice) => {
    clearTimeout(pending);
    if (choice.name !== used.name || choice.cloneFailed !== used.cloneFailed) {
      used = choice;
      await server.command(serverCommands.selectTechnique, choice.name, ...clonesOf(choice));
    }
  };
  const showError = (error: unknown) => void vscode.window.showErrorMessage(`Suspectra: ${String(error)}`);

  await new Promise<void>((done) => {
    let chosen: Choice | undefined;
    const listeners = vscode.Disposable.from(
      pick.onDidChangeActive(([item]) => {
        clearTimeout(pending);
        const choice = item?.choice;
        if (choice) {
          pending = setTimeout(() => void use(choice).catch(showError), PREVIEW_DEBOUNCE_MS);
        }
      }),
      pick.onDidAccept(() => {
        chosen = pick.selectedItems[0]?.choice;
        pick.hide();
      }),
      pick.onDidTriggerItemButton(({ item }) => {
        chosen = item.choice;
        if (chosen) {
          keep(chosen).catch(showError);
        }
        pick.hide();
      }),
      pick.onDidHide(() => {
        listeners.dispose();
        pick.dispose();
        use(chosen ?? previous)
          .catch(showError)
          .finally(done);
      }),
    );
    pick.show();
  });
}

/** The name of the technique by which a run that passes is searched for; undefined for none. */
export async function chooseComparison(server: Server): Promise<string | undefined> {
  const techniques = await server.request<TechniqueMessage[]>(methods.techniques, { for: 'paths' });
  const rows = techniques.map(({ name, title, description }) => ({
    label: title,
    description: name,
    detail: description,
  }));
  const title = t('Compare the failing test with');
  return (await vscode.window.showQuickPick(rows, { title, matchOnDescription: true }))?.description;
}

function items(
  techniques: TechniqueMessage[],
  { name: current, cloneFailed }: Choice,
  pin: vscode.QuickInputButton,
): Item[] {
  const currentFirst = techniques.toSorted((a, b) => Number(b.name === current) - Number(a.name === current));
  return [
    ...currentFirst.map(({ name, title, paper, description, clones }) => ({
      label: title,
      description: name === current ? `${name} $(check)` : name,
      detail: [paper, description].filter(Boolean).join(' · '),
      buttons: [pin],
      choice: { name, cloneFailed: clones ? cloneFailed : undefined },
    })),
    ...(cloneFailed === undefined ? [] : cloning(current, cloneFailed, pin)),
  ];
}

/** Offered where a formula is in use. */
function cloning(name: string, cloneFailed: boolean, pin: vscode.QuickInputButton): Item[] {
  return [
    { label: '', kind: vscode.QuickPickItemKind.Separator },
    {
      label: t('Clone failing tests'),
      iconPath: new vscode.ThemeIcon(cloneFailed ? 'check' : 'blank'),
      detail: t('Weigh the failing tests as if there were as many of them as passing ones'),
      buttons: [pin],
      choice: { name, cloneFailed: !cloneFailed },
    },
  ];
}

function clonesOf({ cloneFailed }: Choice): object[] {
  return cloneFailed === undefined ? [] : [{ cloneFailed }];
}

async function keep({ name, cloneFailed }: Choice): Promise<void> {
  const settings = vscode.workspace.getConfiguration('suspectra');
  await settings.update('technique', name, vscode.ConfigurationTarget.Workspace);
  if (cloneFailed !== undefined && settings.get<boolean>('cloneFailed') !== cloneFailed) {
    await settings.update('cloneFailed', cloneFailed, vscode.ConfigurationTarget.Workspace);
  }
}
